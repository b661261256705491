/* opening.c - see thread.h.
 * Promise: what is definitely wrong is found before anything is changed; once the server has been there,
 * nothing is definite any more: it has gone, and may be mended. */
#include "store/postgres/thread.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/metric.h"
#include "store/backend.h"
#include "store/gauges.h"
#include "store/postgres/check.h"
#include "store/postgres/link.h"
#include "store/postgres/meta.h"
#include "store/postgres/partition.h"
#include "store/postgres/schema.h"
#include "store/postgres/session.h"

/* So long a start waits for a server that says nothing. */
#define MEET_MS 2000
#define LOOK_MS 50

/* Some who run servers for others let nobody ask: then a failover is noticed by beats that are missing. */
static enum hl_err know_server(struct hl_pg_store *s, struct hl_pg_session *session)
{
    char ignored[HL_PG_WHY_MAX];
    PGresult *result;
    enum hl_err err =
        hl_pg_session_ask(session, "SELECT " HL_PG_SERVER, &result, ignored, sizeof(ignored));
    PQclear(result);
    s->settings.is_nameless = err && session->sqlstate[0];
    if (!s->settings.is_nameless)
        return HL_OK;
    HL_LOG(INFO, "store: the server does not identify itself",
        HL_LOG_TEXT("sqlstate", session->sqlstate));
    hl_pg_texts_fini(&s->texts);
    return hl_pg_texts_init(&s->texts, &s->settings);
}

static enum hl_err look_around(
    struct hl_pg_store *s, struct hl_pg_session *session, char *why, size_t why_len)
{
    enum hl_err err = hl_pg_look(session, &s->sealer, s->is_guest, why, why_len);
    if (!err && !s->is_guest)
        err = hl_pg_schema_migrate(session, why, why_len);
    if (!err)
        err = hl_pg_meta_share(s, session, why, why_len);
    if (!err && !s->is_guest)
        err = hl_pg_partitions_make(session, (int64_t)s->retention_ms, why, why_len);
    if (!err)
        err = know_server(s, session);
    return err ? err : hl_pg_link_prepare(session, &s->texts, HL_PG_WRITER, why, why_len);
}

/* --- a guest -------------------------------------------------------------------------------- */

static enum hl_err make_session(struct hl_pg_store *s, struct hl_pg_session *session,
    enum hl_err (*begin)(
        struct hl_pg_store *s, struct hl_pg_session *session, char *why, size_t why_len),
    char *why, size_t why_len)
{
    enum hl_err err = hl_pg_session_open(session, &s->settings, NULL, why, why_len);
    if (err)
        return err;
    err = begin(s, session, why, why_len);
    if (err)
        hl_pg_session_close(session);
    return err;
}

static enum hl_err prepare_reader(
    struct hl_pg_store *s, struct hl_pg_session *session, char *why, size_t why_len)
{
    return hl_pg_link_prepare(session, &s->texts, HL_PG_READER, why, why_len);
}

/* Both are made here: a process that ends soon leaves no thread behind that is making one. */
enum hl_err hl_pg_opening_visit(struct hl_pg_store *s, struct hl_pg_session *writer,
    struct hl_pg_session *reader, char *why, size_t why_len)
{
    enum hl_err err = make_session(s, writer, look_around, why, why_len);
    if (err)
        return err;
    err = make_session(s, reader, prepare_reader, why, why_len);
    if (err)
        hl_pg_session_close(writer);
    return err;
}

/* --- a replica ------------------------------------------------------------------------------ */

static bool is_open(const struct hl_pg_store *s)
{
    return atomic_load(&s->base.standing) == HL_STORE_OPEN;
}

/* On the job's thread; nobody else uses what it fills before it has ended. */
static enum hl_err on_session(struct hl_pg_session *session, void *arg, char *why, size_t why_len)
{
    struct hl_pg_store *s = arg;
    atomic_store(&s->opening.is_met, true);
    return is_open(s) ? hl_pg_link_prepare(session, &s->texts, HL_PG_WRITER, why, why_len)
                      : look_around(s, session, why, why_len);
}

static bool on_failure(void *self, enum hl_err err, const char *why)
{
    struct hl_pg_store *s = self;
    if (is_open(s))
        return true;
    bool is_definite = err != HL_ERR_UNAVAILABLE && err != HL_ERR_CANCELLED;
    if (is_definite) {
        s->opening.err = err;
        snprintf(s->opening.why, sizeof(s->opening.why), "%s", why);
        atomic_store(&s->base.standing, HL_STORE_REFUSED);
    }
    sem_post(&s->opening.decided);
    return !is_definite;
}

void hl_pg_opening_begin(struct hl_pg_store *s)
{
    atomic_store(&s->base.standing, HL_STORE_OPENING);
    hl_counter_set(&s->gauges.is_failing, 1);
    hl_pg_gauging_forget(s);
    s->writer.begin = on_session;
    s->writer.on_failure = on_failure;
    hl_pg_link_open(&s->writer, NULL);
}

/* False: nothing is decided yet. */
static bool wait_a_little(sem_t *decided)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_MS * 1000000l;
    until.tv_sec += until.tv_nsec / 1000000000l;
    until.tv_nsec %= 1000000000l;
    return sem_timedwait(decided, &until) == 0;
}

enum hl_err hl_pg_opening_wait(struct hl_pg_store *s, char *why, size_t why_len)
{
    struct hl_pg_opening *o = &s->opening;
    uint64_t until_ms = hl_clock_mono_ms() + MEET_MS;
    while (!wait_a_little(&o->decided))
        if (!atomic_load(&o->is_met) && hl_clock_mono_ms() >= until_ms)
            break;
    if (atomic_load(&s->base.standing) != HL_STORE_REFUSED)
        return HL_OK;
    snprintf(why, why_len, "%s", o->why);
    return o->err;
}

/* It is tried again. */
static bool on_reader_failure(void *self, enum hl_err err, const char *why)
{
    struct hl_pg_store *s = self;
    (void)err;
    (void)why;
    sem_post(&s->opening.decided);
    return true;
}

void hl_pg_opening_end(struct hl_pg_store *s)
{
    if (is_open(s))
        return;
    s->member.id = hl_id_next(&s->ids, hl_clock_wall_ms());
    HL_LOG(INFO, "store: this replica", HL_LOG_TEXT("replica", s->member.name),
        HL_LOG_ID("replica_id", &s->member.id));
    s->reader.on_failure = on_reader_failure;
    hl_pg_link_open(&s->reader, NULL);
    hl_pg_link_open(&s->listener, NULL);
    atomic_store(&s->base.standing, HL_STORE_OPEN);
}
