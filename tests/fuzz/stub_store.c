/* stub_store.c - the store's interface over two short arrays. Claims follow credit as store.h says:
 * a worker without credit is told once that runs wait, credit that holds slots of the app comes back
 * when nothing waits. One thread, one worker a store. */
#include "stub_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/metric.h"
#include "fuzz.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/message.h"
#include "store/store.h"

#define MAX_HELD 256

struct hl_store {
    struct hl_store_gauges gauges;
    struct stub_run runs[STUB_MAX_RUNS];
    size_t run_count;
    struct hl_claimed *queue[STUB_MAX_RUNS]; /* accepted, not claimed */
    size_t queued;
    struct hl_store_msg *held[MAX_HELD]; /* answers that wait */
    size_t held_count;
    bool is_holding;
    enum hl_err accept_rc;
    unsigned finish_failures;

    struct hl_mailbox *worker; /* NULL: it is not known */
    uint32_t credit;
    bool returns, was_told;
};

const struct hl_id stub_earlier_run = {{0xee}};

static void *new_message(size_t size, uint32_t type)
{
    struct hl_msg *msg = calloc(1, size);
    if (!msg)
        abort();
    msg->type = type;
    return msg;
}

struct hl_store *stub_new(void)
{
    struct hl_store *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    return s;
}

void stub_answer_with(struct hl_store *s, enum hl_err rc)
{
    s->accept_rc = rc;
}

void stub_fail_finishes(struct hl_store *s, unsigned n)
{
    s->finish_failures = n;
}

static struct stub_run *find(struct hl_store *s, const struct hl_id *id)
{
    for (size_t i = 0; i < s->run_count; i++)
        if (hl_id_eq(&s->runs[i].id, id))
            return &s->runs[i];
    return NULL;
}

/* Hands out what waits while there is credit. */
static void match(struct hl_store *s)
{
    hl_counter_set(&s->gauges.oldest_queued_ms, s->queued > 0); /* since 1970 */
    while (s->queued > 0 && s->credit > 0) {
        struct hl_claimed *claimed = s->queue[0];
        memmove(s->queue, s->queue + 1, --s->queued * sizeof *s->queue);
        hl_counter_sub(&s->gauges.queued_runs, 1);
        s->credit--;
        find(s, &claimed->run_id)->claims++;
        hl_mailbox_post(s->worker, &claimed->msg);
    }
    if (s->queued > 0 && s->worker && !s->was_told) {
        s->was_told = true;
        hl_mailbox_post(s->worker, new_message(sizeof(struct hl_msg), HL_STORE_WORK));
    }
    if (s->queued == 0 && s->returns && s->credit > 0) {
        struct hl_credit *back = new_message(sizeof *back, HL_STORE_CREDIT_BACK);
        back->n = s->credit;
        s->credit = 0;
        hl_mailbox_post(s->worker, &back->m.msg);
    }
}

static void enqueue(struct hl_store *s, struct hl_accept *a)
{
    struct hl_claimed *claimed;
    const struct hl_claimed first = {.run_id = a->run_id,
        .epoch = 1,
        .attempt = 1,
        .has_webhook = a->webhook_url.n > 0,
        .head = a->head};
    if (hl_claimed_new(&first, HL_STR(""), &claimed) != HL_OK)
        abort();
    claimed->body = a->body;
    a->body = (struct hl_body){.where = HL_BODY_NONE};
    s->queue[s->queued++] = claimed;
    hl_counter_add(&s->gauges.queued_runs, 1);
}

static enum hl_err take_run(struct hl_store *s, struct hl_accept *a, bool is_async)
{
    if (s->run_count == STUB_MAX_RUNS)
        return HL_ERR_BUSY;
    FUZZ_CHECK(!find(s, &a->run_id), "a run is accepted twice");
    s->runs[s->run_count++] = (struct stub_run){.id = a->run_id, .is_async = is_async};
    if (is_async)
        enqueue(s, a);
    return HL_OK;
}

static enum hl_err take_accept(struct hl_store *s, struct hl_accept *a)
{
    if (s->accept_rc == HL_ERR_EXISTS)
        a->run_id = stub_earlier_run;
    return s->accept_rc == HL_OK ? take_run(s, a, true) : s->accept_rc;
}

static enum hl_err take_finish(struct hl_store *s, struct hl_finish *f)
{
    struct stub_run *run = find(s, &f->run_id);
    if (!run)
        return HL_ERR_NOT_FOUND; /* it was refused, as its sender knows */
    if (s->finish_failures > 0) {
        s->finish_failures--;
        return HL_ERR_NOMEM;
    }
    FUZZ_CHECK(run->finishes++ == 0, "a run is finished twice");
    run->outcome = f->outcome;
    f->outcome.body = (struct hl_body){.where = HL_BODY_NONE};
    return HL_OK;
}

static void take_credit(struct hl_store *s, struct hl_credit *credit)
{
    s->worker = credit->m.reply_to;
    s->credit += credit->n;
    s->returns = credit->returns;
    s->was_told = false;
    free(credit);
}

/* It is the first to be claimed again. */
static void take_release(struct hl_store *s, struct hl_release *release)
{
    struct stub_run *run = find(s, &release->claimed->run_id);
    FUZZ_CHECK(run && run->claims > run->releases, "a run is released that was not claimed");
    run->releases++;
    memmove(s->queue + 1, s->queue, s->queued++ * sizeof *s->queue);
    s->queue[0] = release->claimed;
    s->queue[0]->epoch++;
    hl_counter_add(&s->gauges.queued_runs, 1);
    release->claimed = NULL;
}

/* Does what `m` asks for; false: it has no answer. */
static bool carry_out(struct hl_store *s, struct hl_store_msg *m)
{
    m->rc = HL_OK;
    switch (m->msg.type) {
    case HL_STORE_ACCEPT:
        m->rc = take_accept(s, HL_CONTAINER_OF(m, struct hl_accept, m));
        return true;
    case HL_STORE_RECORD:
        m->rc = take_run(s, HL_CONTAINER_OF(m, struct hl_accept, m), false);
        return true;
    case HL_STORE_FINISH:
        m->rc = take_finish(s, HL_CONTAINER_OF(m, struct hl_finish, m));
        return true;
    case HL_STORE_RELEASE:
        take_release(s, HL_CONTAINER_OF(m, struct hl_release, m));
        return true;
    case HL_STORE_WITHDRAW:
        s->worker = NULL;
        s->credit = 0;
        return true;
    case HL_STORE_TALLY: /* nobody asks what was counted */
        return true;
    case HL_STORE_CREDIT:
        take_credit(s, HL_CONTAINER_OF(m, struct hl_credit, m));
        return false;
    default:
        fuzz_fail(__FILE__, __LINE__, "a known message", "a worker does not send this");
    }
}

enum hl_err hl_store_post(struct hl_store *s, struct hl_store_msg *m)
{
    if (!carry_out(s, m)) {
        match(s);
        return HL_OK;
    }
    if (s->is_holding && s->held_count < MAX_HELD) {
        s->held[s->held_count++] = m;
        return HL_OK;
    }
    hl_mailbox_post(m->reply_to, &m->msg);
    match(s);
    return HL_OK;
}

void stub_hold(struct hl_store *s)
{
    s->is_holding = true;
}

void stub_release(struct hl_store *s)
{
    s->is_holding = false;
    for (size_t i = 0; i < s->held_count; i++)
        hl_mailbox_post(s->held[i]->reply_to, &s->held[i]->msg);
    s->held_count = 0;
    match(s);
}

bool stub_has_work(const struct hl_store *s)
{
    return s->queued > 0 || s->held_count > 0;
}

void stub_reset(struct hl_store *s)
{
    for (size_t i = 0; i < s->run_count; i++)
        hl_body_fini(&s->runs[i].outcome.body);
    for (size_t i = 0; i < s->queued; i++)
        hl_claimed_free(s->queue[i]);
    hl_counter_sub(&s->gauges.queued_runs, s->queued);
    s->run_count = s->queued = 0;
    s->accept_rc = HL_OK;
    s->finish_failures = 0;
    s->is_holding = false;
}

size_t stub_run_count(const struct hl_store *s)
{
    return s->run_count;
}

const struct stub_run *stub_run_at(const struct hl_store *s, size_t i)
{
    return &s->runs[i];
}

const struct stub_run *stub_find(const struct hl_store *s, const struct hl_id *id)
{
    for (size_t i = 0; i < s->run_count; i++)
        if (hl_id_eq(&s->runs[i].id, id))
            return &s->runs[i];
    return NULL;
}

const struct hl_store_gauges *hl_store_get_gauges(const struct hl_store *s)
{
    return &s->gauges;
}

uint64_t hl_store_ready_runs(const struct hl_store *s)
{
    return hl_counter_get(&hl_store_get_gauges(s)->queued_runs);
}

struct hl_lender *hl_store_get_lender(struct hl_store *store)
{
    (void)store;
    return NULL;
}

bool hl_store_is_shared(const struct hl_store *s)
{
    (void)s;
    return false;
}

const char *hl_store_data_dir(const struct hl_store *s)
{
    (void)s;
    return NULL;
}

void hl_store_note_stream(struct hl_store *s, int64_t bytes)
{
    (void)s;
    (void)bytes;
}

bool hl_store_is_destination_full(const struct hl_store *s, struct hl_str webhook_url)
{
    (void)s;
    (void)webhook_url;
    return false;
}

uint64_t hl_store_live_streams(const struct hl_store *s)
{
    (void)s;
    return 0;
}
