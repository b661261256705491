/* job.h - a session on a thread of its own: looking a name up, and what libpq does before its socket is
 * there, may block for as long as a name server likes. The thread owns copies of all it needs, so that
 * it may be left behind. */
#ifndef HL_STORE_POSTGRES_JOB_H
#define HL_STORE_POSTGRES_JOB_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_pg_session;
struct hl_pg_settings;

#define HL_PG_WHY_MAX 512

struct hl_pg_job;

/* What is done with the session, on the job's thread; it blocks as a session does and ends soon after a
 * cancellation. `arg` stays valid until the job has ended or was left. Errors as in session.h. */
typedef enum hl_err (*hl_pg_work)(struct hl_pg_session *s, void *arg, char *why, size_t why_len);

/* `done` is sent when it has ended. Copies the settings. NULL: no memory, or no thread. */
struct hl_pg_job *hl_pg_job_start(
    const struct hl_pg_settings *settings, hl_pg_work work, void *arg, uv_async_t *done);
bool hl_pg_job_is_done(struct hl_pg_job *job);
/* Of one that is done; frees it. `*conn`: the connection, the caller's; NULL after an error, of which
 * `why` has one line. */
HL_MUST_CHECK enum hl_err hl_pg_job_end(
    struct hl_pg_job *job, PGconn **conn, char *why, size_t why_len);
/* It is not wanted any more: cancels it and waits for its end, 2 s at most; NULL-safe. */
void hl_pg_job_leave(struct hl_pg_job *job);

#endif
