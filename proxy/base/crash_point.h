/* crash_point.h - named places where a test can end the process as a power cut would.
 *
 * In a build with -DHOOKLINE_CRASH_POINTS=ON the variable HOOKLINE_CRASH_AT=<point>:<n> has the
 * process killed (SIGKILL) when it passes that point for the n-th time; HOOKLINE_CRASH_AT=list
 * prints all points and ends. In every other build a point is nothing.
 *
 * Not here: what must be true afterwards (tests/integration/killpoints.test.mjs). */
#ifndef HL_BASE_CRASH_POINT_H
#define HL_BASE_CRASH_POINT_H

#include <stdbool.h>

/* APPLIED: written inside a transaction that is not committed yet. COMMITTED: who asked has heard
 * of the commit and has done nothing about it yet. */
#define HL_CRASH_POINT_MAP(X)                                                                      \
    X(BATCH_BEGUN, "batch-begun")                                                                  \
    X(BATCH_APPLIED, "batch-applied")                                                              \
    X(BATCH_COMMITTED, "batch-committed") /* no reply was sent yet */                              \
    X(ACCEPT_APPLIED, "accept-applied")                                                            \
    X(ACCEPT_COMMITTED, "accept-committed")                                                        \
    X(ACCEPT_ANSWERED, "accept-answered") /* the 202 is written */                                 \
    X(RECORD_APPLIED, "record-applied")                                                            \
    X(RECORD_COMMITTED, "record-committed")                                                        \
    X(CLAIM_APPLIED, "claim-applied")                                                              \
    X(CLAIM_COMMITTED, "claim-committed")                                                          \
    X(RELEASE_APPLIED, "release-applied")                                                          \
    X(RELEASE_COMMITTED, "release-committed")                                                      \
    X(CALL_READY, "call-ready")       /* there is a connection to the app */                       \
    X(CALL_WRITTEN, "call-written")   /* the app's request, or its first part */                   \
    X(CALL_ANSWERED, "call-answered") /* the head of the app's response was read */                \
    X(FINISH_READY, "finish-ready")                                                                \
    X(FINISH_POSTED, "finish-posted")                                                              \
    X(FINISH_APPLIED, "finish-applied")                                                            \
    X(FINISH_COMMITTED, "finish-committed")                                                        \
    X(BODY_WRITTEN, "body-written")                                                                \
    X(BODY_SYNCED, "body-synced")                                                                  \
    X(BODY_RENAMED, "body-renamed")                                                                \
    X(BODY_DURABLE, "body-durable") /* its directory is synced, no record names it */              \
    X(LEASE_APPLIED, "lease-applied")                                                              \
    X(LEASE_COMMITTED, "lease-committed")                                                          \
    X(WEBHOOK_READY, "webhook-ready")       /* signed, not sent */                                 \
    X(WEBHOOK_ANSWERED, "webhook-answered") /* the attempt is over, its outcome not posted */      \
    X(OUTCOME_APPLIED, "outcome-applied")                                                          \
    X(OUTCOME_COMMITTED, "outcome-committed")                                                      \
    X(ATTEMPT_APPLIED, "attempt-applied")                                                          \
    X(ATTEMPT_COMMITTED, "attempt-committed")                                                      \
    X(CHECKPOINT_DUE, "checkpoint-due")                                                            \
    X(CHECKPOINT_DONE, "checkpoint-done")                                                          \
    X(PURGE_APPLIED, "purge-applied") /* one run is removed */                                     \
    X(PURGE_COMMITTED, "purge-committed")                                                          \
    X(FILE_DOOMED, "file-doomed") /* no record names it any more, it is still there */             \
    X(FILE_UNLINKED, "file-unlinked")                                                              \
    X(RESERVE_RELEASED, "reserve-released")                                                        \
    X(RESERVE_MADE, "reserve-made")                                                                \
    X(KEY_MADE, "key-made") /* the database does not know the key yet */                           \
    X(SWEEP_UNLINKED, "sweep-unlinked")                                                            \
    X(RECOVER_RUN, "recover-run") /* one interrupted run was ended */                              \
    X(RECOVER_DELIVERY, "recover-delivery")                                                        \
    X(RECOVER_APPLIED, "recover-applied")                                                          \
    X(RECOVER_COMMITTED, "recover-committed")

enum hl_crash_point {
#define X(name, text) HL_CRASH_##name,
    HL_CRASH_POINT_MAP(X)
#undef X
        HL_CRASH_POINT_COUNT
};

#ifdef HL_CRASH_POINTS
#define HL_CRASH_POINT(name) hl_crash_point_pass(HL_CRASH_##name)
#else
#define HL_CRASH_POINT(name) ((void)0)
#endif

const char *hl_crash_point_text(enum hl_crash_point point);
/* `wish`: "<point>:<n>", n from 1. False: it is not that. Before other threads run. */
bool hl_crash_point_arm(const char *wish);
/* Any thread. Does not return from the passage that was asked for. */
void hl_crash_point_pass(enum hl_crash_point point);

#endif
