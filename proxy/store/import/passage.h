/* passage.h - what goes over, in batches: each is one transaction, which also notes how far it has come.
 * What was taken over is never looked at again, even if it ended and went in the meantime: another try
 * goes on behind it. The thread that calls. Errors have one line in `why`. */
#ifndef HL_STORE_IMPORT_PASSAGE_H
#define HL_STORE_IMPORT_PASSAGE_H

#include "base/id.h"
#include "store/import/write.h"
#include "store/postgres/columns.h"
#include "store/postgres/session.h"
#include "store/secret.h"

/* In this order. A key is there before its run: who repeats a call gets no second one. */
enum hl_import_stage {
    HL_IMPORT_SIGNING_KEY,
    HL_IMPORT_ACCOUNTS,
    HL_IMPORT_KEYS,
    HL_IMPORT_RUNS,
    HL_IMPORT_DELIVERIES,
    HL_IMPORT_MINUTES,
    HL_IMPORT_AUDIT,
    HL_IMPORT_JOB_PIECES, /* before the jobs: a replica may take these at once */
    HL_IMPORT_JOBS,
    HL_IMPORT_DONE,
};

struct hl_passage {
    struct hl_database *db;       /* from here */
    struct hl_pg_session session; /* to there */
    struct hl_sealer sealer;      /* there */
    struct hl_id_source ids;
    struct hl_pg_columns rows, more; /* more: of what belongs to them */
    struct hl_pg_params params;
    struct hl_id move; /* which one it is: the name of its notes */
    enum hl_import_stage stage;
    struct hl_id after; /* of the stage: what is up to here has gone over */
    int64_t now_ms;     /* of all that ends by it */
    struct hl_imported *done;
    char *why;
    size_t why_len;
};

/* Whether a batch is large enough to go. */
bool hl_passage_is_full(const struct hl_passage *p);

/* BEGIN; ROLLBACK happens when the session is closed. */
HL_MUST_CHECK enum hl_err hl_passage_begin(struct hl_passage *p);
/* Sends `rows`, then `more` if it has columns, as the parameters of a statement, and clears them. `result` has one row, in binary form: the caller clears it. */
HL_MUST_CHECK enum hl_err hl_passage_send(
    struct hl_passage *p, enum hl_import_write which, PGresult **result);
/* Notes that `stage` has come to `after`, and commits. */
HL_MUST_CHECK enum hl_err hl_passage_commit(
    struct hl_passage *p, enum hl_import_stage stage, const struct hl_id *after);
/* Where an earlier try of this move has come to; the beginning, if there was none. */
HL_MUST_CHECK enum hl_err hl_passage_resume(struct hl_passage *p);

/* One stage each, from `after` on to its end. */
HL_MUST_CHECK enum hl_err hl_import_signing_key(struct hl_passage *p);
HL_MUST_CHECK enum hl_err hl_import_runs(struct hl_passage *p);
HL_MUST_CHECK enum hl_err hl_import_deliveries(struct hl_passage *p);
/* Any other: what needs nothing else. */
HL_MUST_CHECK enum hl_err hl_import_rows(struct hl_passage *p);

#endif
