/* job.c - what jobs are kept as, and the messages about them. Any thread.
 * Not here: what a job does (api/foreman.c), its rows (sqlite/job.c, postgres/op_job.c). */
#include "store/job.h"

#include <stdlib.h>
#include <string.h>

/* An item: its id, that of what was made of it, the round, fate and why. */
#define ROUND_AT  (2 * sizeof(((struct hl_id *)0)->b))
#define FATE_AT   (ROUND_AT + 4)
#define ITEM_SIZE (FATE_AT + 2)

const char *hl_job_fate_text(enum hl_job_fate fate)
{
    static const char *const texts[] = {
#define X(name, text) text,
        HL_JOB_FATE_MAP(X)
#undef X
    };
    return texts[fate];
}

const char *hl_job_why_text(enum hl_job_why why)
{
    static const char *const texts[] = {
#define X(name, text) text,
        HL_JOB_WHY_MAP(X)
#undef X
    };
    return texts[why];
}

/* ---- items ---- */

enum hl_err hl_job_items_write(const struct hl_job_item *items, size_t n, struct hl_buf *out)
{
    enum hl_err err = hl_buf_reserve(out, n * ITEM_SIZE);
    for (size_t i = 0; i < n && !err; i++) {
        const struct hl_job_item *item = &items[i];
        uint8_t bytes[ITEM_SIZE];
        memcpy(bytes, item->id.b, sizeof(item->id.b));
        memcpy(bytes + sizeof(item->id.b), item->made.b, sizeof(item->made.b));
        for (unsigned k = 0; k < 4; k++)
            bytes[ROUND_AT + k] = (uint8_t)(item->round >> (24 - 8 * k));
        bytes[FATE_AT] = (uint8_t)item->fate;
        bytes[FATE_AT + 1] = (uint8_t)item->why;
        err = hl_buf_append(out, bytes, sizeof(bytes));
    }
    return err;
}

enum hl_err hl_job_items_read(struct hl_str text, struct hl_job_item *items, size_t *n)
{
    *n = text.n / ITEM_SIZE;
    if (text.n % ITEM_SIZE != 0 || *n > HL_JOB_PIECE_ITEMS)
        return HL_ERR_CORRUPT;
    for (size_t i = 0; i < *n; i++) {
        const uint8_t *bytes = (const uint8_t *)text.p + i * ITEM_SIZE;
        struct hl_job_item *item = &items[i];
        *item = (struct hl_job_item){
            .fate = (enum hl_job_fate)bytes[FATE_AT], .why = (enum hl_job_why)bytes[FATE_AT + 1]};
        if (bytes[FATE_AT] >= HL_JOB_FATES || bytes[FATE_AT + 1] >= HL_JOB_WHYS)
            return HL_ERR_CORRUPT;
        memcpy(item->id.b, bytes, sizeof(item->id.b));
        memcpy(item->made.b, bytes + sizeof(item->id.b), sizeof(item->made.b));
        for (unsigned k = 0; k < 4; k++)
            item->round = item->round << 8 | bytes[ROUND_AT + k];
    }
    return HL_OK;
}

/* ---- messages ---- */

void hl_add_job_fini(struct hl_add_job *a)
{
    hl_buf_fini(&a->plan);
    hl_buf_fini(&a->progress);
}

void hl_keep_job_fini(struct hl_keep_job *k)
{
    hl_buf_fini(&k->progress);
    for (size_t i = 0; i < k->n_pieces; i++)
        hl_buf_fini(&k->pieces[i].items);
    k->n_pieces = 0;
}

enum hl_err hl_list_jobs_add(
    struct hl_list_jobs *l, const struct hl_job *job, struct hl_str plan, struct hl_str progress)
{
    struct hl_job *row = HL_LISTING_ADD(l);
    if (!row)
        return HL_OK;
    *row = *job;
    row->plan = row->progress = (struct hl_buf){0};
    l->next = row->id;
    enum hl_err err = hl_buf_append_str(&row->plan, plan);
    return err ? err : hl_buf_append_str(&row->progress, progress);
}

enum hl_err hl_list_job_pieces_add(
    struct hl_list_job_pieces *l, int64_t n, unsigned fates, struct hl_str items)
{
    struct hl_job_piece *row = HL_LISTING_ADD(l);
    if (!row)
        return HL_OK;
    *row = (struct hl_job_piece){.n = n, .fates = fates};
    return hl_buf_append_str(&row->items, items);
}
