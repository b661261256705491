/* verdict.h - what an attempt came to: whether the delivery is done, is tried again or is given up;
 * counted, and said in the log if that was the last of it. */
#ifndef HL_WEBHOOK_VERDICT_H
#define HL_WEBHOOK_VERDICT_H

#include "webhook/parcel.h"
#include "webhook/sender.h"

/* Of the attempt under way, whose lease is still there. */
enum hl_attempt_verdict hl_verdict_of(
    const struct hl_parcel *p, const struct hl_transfer_result *result);
/* Counts the attempt in `gauges`; a line for the log unless it is tried again. */
void hl_verdict_note(enum hl_attempt_verdict verdict, const struct hl_parcel *p,
    const struct hl_transfer_result *result, struct hl_sender_gauges *gauges);

#endif
