/* audit.h - who changed what: a row for each change that an admin makes, or the process itself when it starts and
 * ends. A request that is such a change carries its row (hl_store_msg.audit), which its commit writes: neither is there
 * without the other. What is no request of the store is told with HL_STORE_AUDIT. Nobody changes a row, and none goes
 * before HL_AUDIT_KEEP_MS, or the retention if that is longer, is over. */
#ifndef HL_STORE_AUDIT_H
#define HL_STORE_AUDIT_H

#include <stdint.h>

#include "base/buf.h"
#include "store/listing.h"
#include "store/op.h"
#include "store/record.h"

#define HL_AUDIT_KEEP_MS (90 * 24 * 3600 * 1000ll)

static inline int64_t hl_audit_keep_ms(int64_t retention_ms)
{
    return retention_ms > HL_AUDIT_KEEP_MS ? retention_ms : HL_AUDIT_KEEP_MS;
}

#define HL_AUDIT_ACTION_MAP(X)                                                                     \
    X(ACCOUNT_MADE, "account_made")                                                                \
    X(ACCOUNT_LIMITED, "account_limited")                                                          \
    X(ACCOUNT_REVOKED, "account_revoked")                                                          \
    X(DELIVERY_REDELIVERED, "delivery_redelivered")                                                \
    X(DELIVERIES_REDELIVERED, "deliveries_redelivered") /* all in a state: `count` of them */      \
    X(RUN_CANCELLED, "run_cancelled")                   /* another's, as is the next */            \
    X(RUN_RERUN, "run_rerun")                                                                      \
    X(SESSION_OPENED, "session_opened")                                                            \
    X(KEY_ROTATED, "key_rotated")                                                                  \
    X(SETTINGS_CHANGED, "settings_changed")                                                        \
    X(DRAIN_BEGUN, "drain_begun")                                                                  \
    X(DRAIN_CANCELLED, "drain_cancelled")                                                          \
    X(DELIVERY_RESENT, "delivery_resent") /* to another URL */                                     \
    X(WEBHOOK_TESTED, "webhook_tested")                                                            \
    X(JOB_MADE, "job_made")                                                                        \
    X(JOB_STOPPED, "job_stopped")                                                                  \
    X(JOB_ENDED, "job_ended") /* `count`: of how many it was done */

enum hl_audit_action {
#define X(name, text) HL_AUDIT_##name,
    HL_AUDIT_ACTION_MAP(X)
#undef X
};
#define HL_AUDIT_ACTIONS (HL_AUDIT_JOB_ENDED + 1)

const char *hl_audit_action_text(enum hl_audit_action action);
HL_MUST_CHECK bool hl_audit_action_parse(struct hl_str text, enum hl_audit_action *out);

/* A row, and what a request carries to have it written. */
struct hl_audit {
    struct hl_id id; /* its time is the change's */
    enum hl_audit_action action;
    char project[HL_STORE_NAME_MAX + 1]; /* empty: what all projects share */
    int64_t count; /* of what the change was done to, the store's to say; -1: it is one */
    size_t told_n;
    char told[]; /* who, from where, on what: an object of JSON */
};
/* A copy of `from` with that text. NULL: out of memory. */
struct hl_audit *hl_audit_new(const struct hl_audit *from, struct hl_str told);
static inline struct hl_str hl_audit_told(const struct hl_audit *audit)
{
    return (struct hl_str){audit->told, audit->told_n};
}

/* AUDIT: m.audit is written, and nothing else. */

/* GET_SETTINGS: what the start before has kept of its settings, as text; NOT_FOUND: nothing. */
struct hl_get_settings {
    struct hl_store_msg m;
    struct hl_buf value; /* reply; owned by the message */
};
/* KEEP_SETTINGS: for the next start. STALE: what is kept is not `former` (empty: nothing) any more. */
struct hl_keep_settings {
    struct hl_store_msg m;
    struct hl_buf former, value; /* owned by the message */
};
void hl_get_settings_fini(struct hl_get_settings *g);
void hl_keep_settings_fini(struct hl_keep_settings *k);

/* LIST_AUDIT: newest first by id; of a project and of what all share. Goes on as the lists of question.h. */
struct hl_list_audit {
    struct hl_store_msg m;
    char project[HL_STORE_NAME_MAX + 1]; /* empty: all projects */
    int action;                          /* enum hl_audit_action; -1: any */
    int64_t since_ms, until_ms;          /* by the time in the id; 0: no bound */
    uint32_t limit;                      /* 1 to 200; what is beyond is cut */
    struct hl_id before;

    HL_LISTING(struct hl_audit *); /* reply; owned by the message */
};

/* For who answers: the next row. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_list_audit_add(
    struct hl_list_audit *l, const struct hl_audit *from, struct hl_str told);

#endif
