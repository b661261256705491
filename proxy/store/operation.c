/* operation.c - see operation.h. */
#include "store/operation.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "store/accept.h"
#include "store/account.h"
#include "store/alert.h"
#include "store/audit.h"
#include "store/claim.h"
#include "store/job.h"
#include "store/lease.h"
#include "store/message.h"
#include "store/notice.h"
#include "store/question.h"

/* --- what requests weigh --------------------------------------------------------------------- */

static size_t weigh_accept(const struct hl_store_msg *m)
{
    return hl_accept_weight((const struct hl_accept *)m);
}

static size_t weigh_finish(const struct hl_store_msg *m)
{
    return hl_finish_weight((const struct hl_finish *)m);
}

static size_t weigh_keep_stream(const struct hl_store_msg *m)
{
    const struct hl_keep_stream *part = (const struct hl_keep_stream *)m;
    return sizeof(*part) + part->bytes.n + part->answer_head.n;
}

static size_t weigh_tally(const struct hl_store_msg *m)
{
    const struct hl_told_tally *t = (const struct hl_told_tally *)m;
    size_t weight = sizeof(*t);
    for (size_t i = 0; i < t->n; i++)
        weight += sizeof(t->minutes[i]) + t->minutes[i].tally.n * sizeof(uint64_t);
    return weight;
}

static size_t weigh_outcome(const struct hl_store_msg *m)
{
    const struct hl_attempt_outcome *o = (const struct hl_attempt_outcome *)m;
    return sizeof(*o) + (o->report ? sizeof(*o->report) : 0);
}

static size_t weigh_resend(const struct hl_store_msg *m)
{
    const struct hl_resend *r = (const struct hl_resend *)m;
    return sizeof(*r) + r->url.n + r->secret.n;
}

static size_t weigh_settings(const struct hl_store_msg *m)
{
    const struct hl_keep_settings *k = (const struct hl_keep_settings *)m;
    return sizeof(*k) + k->former.n + k->value.n;
}

static size_t weigh_alert(const struct hl_store_msg *m)
{
    const struct hl_tell_alert *t = (const struct hl_tell_alert *)m;
    size_t weight = sizeof(*t) + t->former.n + t->value.n;
    return t->run ? weight + hl_accept_weight(t->run) + hl_finish_weight(t->end) : weight;
}

static size_t weigh_add_job(const struct hl_store_msg *m)
{
    const struct hl_add_job *a = (const struct hl_add_job *)m;
    return sizeof(*a) + a->plan.n + a->progress.n;
}

static size_t weigh_keep_job(const struct hl_store_msg *m)
{
    const struct hl_keep_job *k = (const struct hl_keep_job *)m;
    size_t weight = sizeof(*k) + k->progress.n;
    for (size_t i = 0; i < k->n_pieces; i++)
        weight += k->pieces[i].items.n;
    return weight;
}

/* --- what answers bring ---------------------------------------------------------------------- */

static void clear_attempt(struct hl_store_msg *m)
{
    hl_attempt_drop((struct hl_attempt *)m);
}

static void clear_get_run(struct hl_store_msg *m)
{
    hl_get_run_fini((struct hl_get_run *)m);
}

static void clear_picked(struct hl_store_msg *m)
{
    struct hl_list_runs *l = (struct hl_list_runs *)m;
    free(l->picked);
    l->picked = NULL;
    l->n_picked = 0;
}

static void clear_get_delivery(struct hl_store_msg *m)
{
    hl_get_delivery_fini((struct hl_get_delivery *)m);
}

static void clear_overview(struct hl_store_msg *m)
{
    hl_overview_fini((struct hl_overview *)m);
}

static void clear_get_settings(struct hl_store_msg *m)
{
    hl_get_settings_fini((struct hl_get_settings *)m);
}

static void clear_get_alerts(struct hl_store_msg *m)
{
    hl_get_alerts_fini((struct hl_get_alerts *)m);
}

static void fini_run(void *row)
{
    hl_run_row_fini(row);
}

static void fini_delivery(void *row)
{
    hl_delivery_row_fini(row);
}

static void fini_audit(void *row)
{
    free(*(struct hl_audit **)row);
}

static void fini_job(void *row)
{
    hl_buf_fini(&((struct hl_job *)row)->plan);
    hl_buf_fini(&((struct hl_job *)row)->progress);
}

static void fini_job_piece(void *row)
{
    hl_buf_fini(&((struct hl_job_piece *)row)->items);
}

/* --- rows ----------------------------------------------------------------------------------- */

static const struct hl_operation none;

/* A list, of so many rows; or of as many as its `limit` asks for. */
#define LIST_OF(list, n)                                                                           \
    .is_question = true, .listing_at = offsetof(list, listing),                                    \
    .row_size = sizeof(*((list *)NULL)->rows), .rows_max = (n)
#define LIST(list) LIST_OF(list, 0), .limit_at = offsetof(list, limit)

static const struct hl_operation operations[] = {
    [HL_STORE_ACCEPT] = {.brings_work = true,
        .may_be_refused = true,
        .gives_up = true,
        .weigh = weigh_accept},
    /* Its run is inside the app already: it does not give up. */
    [HL_STORE_RECORD] = {.brings_work = true, .may_be_refused = true, .weigh = weigh_accept},
    [HL_STORE_FINISH] = {.weigh = weigh_finish},
    [HL_STORE_CANCEL] = {.gives_up = true},

    [HL_STORE_ATTEMPT] = {.clear = clear_attempt},
    [HL_STORE_OUTCOME] = {.weigh = weigh_outcome},
    [HL_STORE_REDELIVER] = {.gives_up = true},
    [HL_STORE_RESEND] = {.gives_up = true, .may_be_refused = true, .weigh = weigh_resend},

    [HL_STORE_GET_RUN] = {.is_question = true, .clear = clear_get_run},
    [HL_STORE_LIST_RUNS] = {LIST(struct hl_list_runs), .fini_row = fini_run, .clear = clear_picked},
    [HL_STORE_GET_DELIVERY] = {.is_question = true, .clear = clear_get_delivery},
    [HL_STORE_LIST_DELIVERIES] = {LIST(struct hl_list_deliveries), .fini_row = fini_delivery},
    [HL_STORE_LIST_DESTINATIONS] = {LIST(struct hl_list_destinations)},
    [HL_STORE_LIST_APPS] = {LIST_OF(struct hl_list_apps, HL_LIST_MAX)},
    [HL_STORE_LIST_REPLICAS] = {LIST_OF(struct hl_list_replicas, HL_LIST_MAX)},
    [HL_STORE_LIST_ACCOUNTS] = {LIST(struct hl_list_accounts)},
    [HL_STORE_LIST_AUDIT] = {LIST(struct hl_list_audit), .fini_row = fini_audit},
    [HL_STORE_OVERVIEW] = {.is_question = true, .clear = clear_overview},
    [HL_STORE_LIST_ERRORS] = {LIST_OF(struct hl_list_errors, HL_ERRORS_MAX)},
    [HL_STORE_LIST_KEYS] = {.is_question = true},

    [HL_STORE_ADD_ACCOUNT] = {.gives_up = true, .may_be_refused = true},
    [HL_STORE_REVOKE_ACCOUNT] = {.gives_up = true},
    [HL_STORE_LIMIT_ACCOUNT] = {.gives_up = true},
    [HL_STORE_GET_SETTINGS] = {.is_question = true, .clear = clear_get_settings},
    [HL_STORE_KEEP_SETTINGS] = {.gives_up = true, .may_be_refused = true, .weigh = weigh_settings},
    [HL_STORE_GET_ALERTS] = {.is_question = true, .clear = clear_get_alerts},
    [HL_STORE_TELL_ALERT] = {.gives_up = true, .may_be_refused = true, .weigh = weigh_alert},
    [HL_STORE_ADD_JOB] = {.gives_up = true, .may_be_refused = true, .weigh = weigh_add_job},
    [HL_STORE_KEEP_JOB] = {.gives_up = true, .may_be_refused = true, .weigh = weigh_keep_job},
    [HL_STORE_STOP_JOB] = {.gives_up = true},
    [HL_STORE_LIST_JOBS] = {LIST(struct hl_list_jobs),
        .one_at = offsetof(struct hl_list_jobs, job_id), .fini_row = fini_job},
    [HL_STORE_LIST_JOB_PIECES] = {LIST(struct hl_list_job_pieces), .fini_row = fini_job_piece},
    [HL_STORE_AUDIT] = {.gives_up = true},
    [HL_STORE_TOUCH_ACCOUNTS] = {.gives_up = true, .may_be_refused = true},
    [HL_STORE_KEEP_KEY] = {.gives_up = true, .may_be_refused = true},
    [HL_STORE_KEEP_STREAM] = {.gives_up = true, .may_be_refused = true, .weigh = weigh_keep_stream},
    [HL_STORE_SAY_PROGRESS] = {.gives_up = true, .may_be_refused = true},
    [HL_STORE_TALLY] = {.gives_up = true, .may_be_refused = true, .weigh = weigh_tally},
};

const struct hl_operation *hl_operation_of(const struct hl_store_msg *m)
{
    return m->msg.type < HL_ARRAY_LEN(operations) ? &operations[m->msg.type] : &none;
}

bool hl_operation_gives_up(const struct hl_store_msg *m)
{
    return hl_operation_of(m)->gives_up;
}

size_t hl_operation_weigh(const struct hl_store_msg *m)
{
    const struct hl_operation *operation = hl_operation_of(m);
    return operation->weigh ? operation->weigh(m) : sizeof(struct hl_attempt_outcome);
}

static uint32_t *limit_of(struct hl_store_msg *m)
{
    size_t at = hl_operation_of(m)->limit_at;
    return at ? (uint32_t *)(void *)((char *)m + at) : NULL;
}

static struct hl_listing *listing_of(struct hl_store_msg *m)
{
    size_t at = hl_operation_of(m)->listing_at;
    return at ? (struct hl_listing *)(void *)((char *)m + at) : NULL;
}

void hl_operation_prepare(struct hl_store_msg *m)
{
    uint32_t *limit = limit_of(m);
    if (limit)
        *limit = *limit < 1 ? 1 : *limit < HL_LIST_MAX ? *limit : HL_LIST_MAX;
}

enum hl_err hl_operation_open_listing(struct hl_store_msg *m)
{
    const struct hl_operation *operation = hl_operation_of(m);
    struct hl_listing *listing = listing_of(m);
    *listing = (struct hl_listing){.room = limit_of(m) ? *limit_of(m) : operation->rows_max};
    listing->rows = calloc(listing->room, operation->row_size);
    return listing->rows ? HL_OK : HL_ERR_NOMEM;
}

static void free_listing(const struct hl_operation *operation, struct hl_listing *listing)
{
    for (size_t i = 0; operation->fini_row && listing->rows && i < listing->count; i++)
        operation->fini_row((char *)listing->rows + i * operation->row_size);
    free(listing->rows);
    listing->rows = NULL;
    listing->count = 0;
}

enum hl_err hl_operation_close_listing(struct hl_store_msg *m)
{
    size_t at = hl_operation_of(m)->one_at;
    bool is_one = at && !hl_id_is_nil((const struct hl_id *)(void *)((char *)m + at));
    if (listing_of(m)->count > 0)
        return HL_OK;
    free_listing(hl_operation_of(m), listing_of(m));
    return is_one ? HL_ERR_NOT_FOUND : HL_OK;
}

void hl_operation_clear(struct hl_store_msg *m)
{
    const struct hl_operation *operation = hl_operation_of(m);
    if (listing_of(m))
        free_listing(operation, listing_of(m));
    if (operation->clear)
        operation->clear(m);
}

void hl_operation_end(struct hl_store_msg *m, enum hl_err rc)
{
    bool says_more = m->msg.type == HL_STORE_GET_RUN && rc == HL_ERR_CORRUPT;
    m->rc = rc;
    if (rc && !says_more)
        hl_operation_clear(m);
}
