/* answer_error.c - LIST_ERRORS. The reader's thread, inside a transaction.
 * Promise: a bounded number of failures is read, from an index that has all that is wanted of them, and is counted in bounded
 * memory: SQLite's GROUP BY would sort them, which takes five times as long. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/id.h"
#include "store/operation.h"
#include "store/question.h"
#include "store/sqlite/reading.h"

/* Of different errors; who has more is told of those that came before. */
#define TEXTS_MAX (16 * 1024 * 1024)

#define FIRST_PLACES 256 /* a power of two */

/* Failures that are alike. */
struct kind {
    uint64_t hash, count;
    int64_t app_id, first_ms, last_ms;
    uint32_t at, n; /* its error, in `texts` */
    enum hl_run_reason reason;
};

struct kinds {
    struct kind *each;
    uint32_t n;
    uint32_t *places;  /* by hash: which one, from 1; 0: none */
    uint32_t n_places; /* a power of two; at least half of them are 0 */
    struct hl_buf texts;
};

/* --- what is alike -------------------------------------------------------------------------- */

static uint64_t hash_of(int64_t app_id, enum hl_run_reason reason, struct hl_str error)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)app_id << 8 ^ (uint64_t)reason;
    for (size_t i = 0; i < error.n; i++)
        hash = (hash ^ (uint8_t)error.p[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash ^ hash >> 32;
}

static void put(struct kinds *k, uint64_t hash, uint32_t which)
{
    uint32_t at = (uint32_t)hash & (k->n_places - 1);
    while (k->places[at])
        at = (at + 1) & (k->n_places - 1);
    k->places[at] = which;
}

/* Twice as many places, and room for half as many kinds. */
static enum hl_err grow(struct kinds *k)
{
    uint32_t n = k->n_places ? 2 * k->n_places : FIRST_PLACES;
    struct kind *each = realloc(k->each, n / 2 * sizeof(*each));
    uint32_t *places = calloc(n, sizeof(*places));
    if (each)
        k->each = each;
    if (!each || !places) {
        free(places);
        return HL_ERR_NOMEM;
    }
    free(k->places);
    k->places = places;
    k->n_places = n;
    for (uint32_t i = 0; i < k->n; i++)
        put(k, k->each[i].hash, i + 1);
    return HL_OK;
}

static struct kind *find(const struct kinds *k, const struct kind *like, struct hl_str error)
{
    uint32_t at = (uint32_t)like->hash & (k->n_places - 1);
    for (; k->places[at]; at = (at + 1) & (k->n_places - 1)) {
        struct kind *kind = &k->each[k->places[at] - 1];
        if (kind->hash == like->hash && kind->app_id == like->app_id &&
            kind->reason == like->reason &&
            hl_str_eq((struct hl_str){k->texts.p + kind->at, kind->n}, error))
            return kind;
    }
    return NULL;
}

/* They come newest first. TOO_LARGE: there is no more room for texts. */
static enum hl_err count(struct kinds *k, struct kind like, int64_t ms, struct hl_str error)
{
    enum hl_err err = k->n >= k->n_places / 2 ? grow(k) : HL_OK;
    if (err)
        return err;
    like.hash = hash_of(like.app_id, like.reason, error);
    struct kind *kind = find(k, &like, error);
    if (!kind) {
        like.at = (uint32_t)k->texts.n;
        like.n = (uint32_t)error.n;
        like.last_ms = ms;
        err = hl_buf_append_str(&k->texts, error);
        if (err)
            return err;
        kind = &k->each[k->n++];
        *kind = like;
        put(k, like.hash, k->n);
    }
    kind->count++;
    kind->first_ms = ms;
    return HL_OK;
}

/* --- reading -------------------------------------------------------------------------------- */

static enum hl_err count_failures(struct hl_reading *r, struct hl_list_errors *l, struct kinds *k)
{
    static const struct hl_id newest;
    struct hl_id before, from, id;
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_FAILURES);
    hl_list_bounds(&newest, l->since_ms, l->until_ms, &before, &from);
    hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(l->project));
    hl_sql_bind_text(args, HL_ASK_P_APP, hl_str_from(l->app));
    hl_sql_bind_id(args, HL_ASK_P_BEFORE, &before);
    hl_sql_bind_id(args, HL_ASK_P_FROM, &from);
    hl_sql_bind_int(args, HL_ASK_P_MAX, HL_ERROR_LOOKS);
    enum hl_err err = hl_reading_row(r, HL_ASK_FAILURES, &row);
    for (int looks = 1; !err; looks++, err = hl_reading_row(r, HL_ASK_FAILURES, &row)) {
        hl_sql_id(&row, &id);
        struct kind like = {.app_id = hl_sql_int(&row)};
        like.reason = (enum hl_run_reason)hl_sql_int(&row);
        struct hl_str error = hl_sql_str(&row);
        bool is_counted = hl_sql_int(&row);
        if (is_counted)
            err = count(k, like, hl_id_time_ms(&id), error);
        if (err == HL_ERR_TOO_LARGE || looks == HL_ERROR_LOOKS)
            l->counted_ms = hl_id_time_ms(&id);
        if (err)
            break;
        l->failures += is_counted;
    }
    hl_reading_done(r, HL_ASK_FAILURES);
    return err == HL_ERR_NOT_FOUND || err == HL_ERR_TOO_LARGE ? HL_OK : err;
}

static bool is_before(const struct kind *a, const struct kind *b)
{
    return a->count != b->count ? a->count > b->count : a->last_ms > b->last_ms;
}

/* The most frequent, in order: how many. */
static size_t choose(const struct kinds *k, const struct kind *top[HL_ERRORS_MAX])
{
    size_t n = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        const struct kind *kind = &k->each[i];
        if (n == HL_ERRORS_MAX && !is_before(kind, top[n - 1]))
            continue;
        size_t at = n < HL_ERRORS_MAX ? n++ : n - 1;
        for (; at > 0 && is_before(kind, top[at - 1]); at--)
            top[at] = top[at - 1];
        top[at] = kind;
    }
    return n;
}

static enum hl_err name_app(struct hl_reading *r, int64_t app_id, struct hl_error_row *row)
{
    struct hl_sql_row app;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_APP_OF);
    hl_sql_bind_int(args, HL_ASK_P_APP_ID, app_id);
    enum hl_err err = hl_reading_row(r, HL_ASK_APP_OF, &app);
    if (err)
        return err;
    hl_str_put_cut(row->project, sizeof(row->project), hl_sql_str(&app));
    hl_str_put_cut(row->app, sizeof(row->app), hl_sql_str(&app));
    hl_reading_done(r, HL_ASK_APP_OF);
    return HL_OK;
}

static enum hl_err fill(struct hl_reading *r, struct hl_list_errors *l, const struct kinds *k)
{
    const struct kind *top[HL_ERRORS_MAX];
    size_t n = choose(k, top);
    enum hl_err err = hl_operation_open_listing(&l->m);
    l->kinds = k->n;
    for (size_t i = 0; i < n && !err; i++) {
        struct hl_error_row *row = &l->rows[l->count++];
        *row = (struct hl_error_row){.reason = top[i]->reason,
            .count = top[i]->count,
            .first_ms = top[i]->first_ms,
            .last_ms = top[i]->last_ms};
        hl_str_put_cut(
            row->error, sizeof(row->error), (struct hl_str){k->texts.p + top[i]->at, top[i]->n});
        err = name_app(r, top[i]->app_id, row);
    }
    return err;
}

enum hl_err hl_sqlite_answer_list_errors(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_list_errors *l = (struct hl_list_errors *)m;
    struct kinds k = {.texts.max = TEXTS_MAX};
    l->failures = 0;
    l->counted_ms = l->since_ms;
    enum hl_err err = hl_buf_reserve(&k.texts, 1);
    if (!err)
        err = count_failures(r, l, &k);
    if (!err)
        err = fill(r, l, &k);
    hl_buf_fini(&k.texts);
    free(k.places);
    free(k.each);
    return err;
}
