/* verdict.h - the verdict on an attempt: the delivery is done, retried or given up; counted, and
 * logged when it is final. */
#ifndef HL_WEBHOOK_VERDICT_H
#define HL_WEBHOOK_VERDICT_H

#include "store/record.h"

struct hl_health;
struct hl_parcel;
struct hl_schedule;
struct hl_sender_gauges;
struct hl_transfer_result;
struct hl_webhook_retry_on;

/* Of the attempt under way, whose lease is still there. */
enum hl_attempt_verdict hl_verdict_of(const struct hl_webhook_retry_on *on,
    const struct hl_parcel *p, const struct hl_transfer_result *result);
/* Counts the attempt in `gauges`; a line for the log unless it is tried again. */
void hl_verdict_note(enum hl_attempt_verdict verdict, const struct hl_parcel *p,
    const struct hl_transfer_result *result, struct hl_sender_gauges *gauges);
/* One line when a destination begins to fail, and one when it has ceased to. Of the attempt under way. */
void hl_verdict_note_health(const struct hl_parcel *p, struct hl_health health, bool was_failing,
    const struct hl_transfer_result *result);
/* The first of the two. */
void hl_verdict_log_failing(const char *to, int64_t since_ms, const char *error);

/* How long until the next attempt, of one that is tried again. A long wait is the store's, and so is every one for a
 * destination that fails: the store gives out one of its deliveries at a time. */
uint64_t hl_verdict_plan_next(const struct hl_schedule *schedule, struct hl_parcel *p,
    const struct hl_transfer_result *result);

#endif
