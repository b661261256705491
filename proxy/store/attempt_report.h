/* attempt_report.h - what is known of an attempt beside its outcome, as one value at rest. Pure. */
#ifndef HL_STORE_ATTEMPT_REPORT_H
#define HL_STORE_ATTEMPT_REPORT_H

#include "base/str.h"
#include "store/record.h"

#define HL_REPORT_PACKED_MAX                                                                       \
    (16 + HL_REPORT_ADDRESS_MAX + 1 + HL_REPORT_TYPE_MAX + 1 + HL_REPORT_BODY_MAX)

/* To `out`, which has room for HL_REPORT_PACKED_MAX bytes. NULL is empty. */
struct hl_str hl_attempt_report_pack(const struct hl_attempt_report *report, char *out);
/* NULL: it is empty, it is none, or there is no memory; what is lost is only for people to read. */
struct hl_attempt_report *hl_attempt_report_unpack(struct hl_str packed);

#endif
