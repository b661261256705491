/* notify.c - see thread.h.
 *
 * NOTIFY takes a lock over the whole database at its commit, so it is in no transaction that does
 * anything else, and one replica sends at most one each 20 ms. It has no payload: who hears one looks
 * for everything; but that a call at a front is answered is of interest to fronts alone. It is sent without waiting for the disk: a notification does not outlive the server.
 * LISTEN needs a connection of its own to the server. Behind a pooler that shares connections it is
 * somebody else who hears, or nobody: there nobody listens. Each other connection is tried with a
 * notification to itself: the server's process that it names is the one that answered the connecting,
 * or there is somebody in between. */
#include "store/postgres/thread.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "store/postgres/link.h"
#include "store/postgres/param.h"

#define GRACE_MS 5  /* in which this replica, unless it is a front, may take what it accepted */
#define SPACE_MS 20 /* between two notifications */
#define TRIAL_MS 1000
#define PROBE_MS 15000 /* a connection that has died is noticed when it is used */
#define LOOK_MS  20    /* between two looks, however many notifications come */

/* --- hearing -------------------------------------------------------------------------------- */

static void look_for_work(struct hl_pg_store *s)
{
    uint64_t now_ms = hl_clock_mono_ms();
    uint64_t look_ms = s->notify.looked_ms + LOOK_MS;
    if (look_ms < now_ms)
        look_ms = now_ms;
    if (look_ms < s->dispatch.poll_ms)
        s->dispatch.poll_ms = s->notify.looked_ms = look_ms;
    hl_pg_outbox_hurry(s);
}

static void on_notify(void *self, int backend_pid, bool is_answer)
{
    struct hl_pg_store *s = self;
    if (backend_pid != PQbackendPID(s->listener.conn)) {
        hl_pg_watch_hurry(s);
        if (!is_answer) {
            hl_pg_permits_hurry(s);
            look_for_work(s);
        }
        return;
    }
    /* What comes behind a pooler is for a session that was told to listen before it was known: it is taken back. */
    if (s->notify.hears || hl_pg_is_pooled(s->listener.conn))
        return;
    s->notify.hears = true;
    s->notify.trial_ms = 0;
    if (s->notify.is_deaf) /* it was only slow */
        s->notify.probe_ms = 0;
    s->notify.is_deaf = false;
    look_for_work(s); /* what was notified before is not heard any more */
}

/* --- the connection ------------------------------------------------------------------------- */

static void on_sent(struct hl_pg_flight *flight, enum hl_pg_fate fate)
{
    struct hl_pg_store *s = HL_CONTAINER_OF(flight, struct hl_pg_store, notify.flight);
    s->notify.is_sending = false;
    if (fate == HL_PG_REJECTED)
        hl_pg_complain(s, "store: PostgreSQL refused a notification", flight);
}

static void begin(struct hl_pg_store *s)
{
    hl_pg_flight_init(&s->notify.flight, on_sent);
    hl_pg_params_clear(&s->params);
}

/* Also to try the connection: who listens already goes on. Where somebody is in between LISTEN may have
 * stayed behind in a connection to the server: who hears nothing takes it back, as far as it meets the
 * same one. */
static void listen_on(struct hl_pg_store *s)
{
    enum hl_pg_sql query = s->notify.is_deaf ? HL_PG_DO_UNLISTEN : HL_PG_DO_LISTEN;
    begin(s);
    hl_pg_link_add(&s->listener, &s->notify.flight, query, &s->params);
    s->notify.is_sending = hl_pg_link_end(&s->listener, &s->notify.flight);
}

static void notify(struct hl_pg_store *s)
{
    bool is_more = s->notify.owes_all || s->notify.owes_work;
    enum hl_pg_sql query = is_more ? HL_PG_DO_NOTIFY : HL_PG_DO_NOTIFY_ANSWER;
    begin(s);
    hl_pg_link_add(&s->listener, &s->notify.flight, HL_PG_DO_NO_FLUSH, &s->params);
    hl_pg_link_add(&s->listener, &s->notify.flight, query, &s->params);
    s->notify.is_sending = hl_pg_link_end(&s->listener, &s->notify.flight);
}

static void end_trial(struct hl_pg_notify *n)
{
    n->trial_ms = n->probe_ms = 0;
    n->is_deaf = true;
    if (!n->is_deafness_said)
        HL_LOG(WARN, "store: no notifications arrive from PostgreSQL, as behind a pooler: polling "
                     "for the work of other replicas");
    n->is_deafness_said = true;
}

static void on_listener(void *self, bool is_up)
{
    struct hl_pg_store *s = self;
    uint64_t now_ms = hl_clock_mono_ms();
    s->notify.hears = s->notify.is_deaf = false;
    s->notify.trial_ms = is_up ? now_ms + TRIAL_MS : 0;
    s->notify.probe_ms = now_ms + PROBE_MS;
    if (!is_up)
        return;
    hl_pg_hurry(s);
    hl_pg_pooler_meet(s, &s->listener);
    if (hl_pg_is_pooled(s->listener.conn))
        end_trial(&s->notify);
    listen_on(s);
    s->notify.owes_all = true; /* to itself too */
}

int hl_pg_notify_init(struct hl_pg_store *s)
{
    int rc = hl_pg_link_init(&s->listener, &s->loop, &s->settings, &s->texts, on_listener, s);
    s->listener.way = HL_PG_LISTENER;
    s->listener.on_notify = on_notify;
    return rc;
}

/* --- sending -------------------------------------------------------------------------------- */

void hl_pg_notify_work(struct hl_pg_store *s)
{
    if (!s->notify.owes_work)
        s->notify.owed_ms = hl_clock_mono_ms() + (s->role == HL_REPLICA_FRONT ? 0 : GRACE_MS);
    s->notify.owes_work = true;
}

void hl_pg_notify_answer(struct hl_pg_store *s)
{
    s->notify.owes_answer = true;
}

static uint64_t send_due_ms(const struct hl_pg_store *s)
{
    const struct hl_pg_notify *n = &s->notify;
    uint64_t soonest_ms = n->sent_ms + SPACE_MS;
    if (n->is_sending || !hl_pg_link_is_up(&s->listener))
        return UINT64_MAX;
    if (n->owes_all || n->owes_answer)
        return soonest_ms;
    if (n->owes_work)
        return n->owed_ms > soonest_ms ? n->owed_ms : soonest_ms;
    return n->probe_ms;
}

void hl_pg_notify_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_notify *n = &s->notify;
    if (n->trial_ms > 0 && now_ms >= n->trial_ms)
        end_trial(n);
    n->owes_work &= s->dispatch.claims_more || s->dispatch.leases_more;
    if (now_ms < send_due_ms(s))
        return;
    if (n->owes_all || n->owes_work || n->owes_answer) {
        notify(s);
        n->sent_ms = now_ms;
        n->owes_all = n->owes_work = n->owes_answer = false;
    } else {
        listen_on(s);
    }
    n->probe_ms = now_ms + PROBE_MS;
}

uint64_t hl_pg_notify_due_ms(const struct hl_pg_store *s)
{
    uint64_t due_ms = send_due_ms(s), trial_ms = s->notify.trial_ms;
    return trial_ms > 0 && trial_ms < due_ms ? trial_ms : due_ms;
}
