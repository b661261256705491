/* attempt.h - attempts at rest: the log of a run, a line of text that says how all its attempts but the last one ended and
 * grows by one entry per attempt; and what is known of a delivery's attempt beside its outcome, as one value. Pure. */
#ifndef HL_STORE_ATTEMPT_H
#define HL_STORE_ATTEMPT_H

#include "base/str.h"
#include "store/record.h"

/* --- a run's log --------------------------------------------------------------------------------- */

struct hl_attempt_entry {
    uint32_t attempt;
    int64_t started_ms, finished_ms;
    uint16_t http_status; /* 0: the app never answered */
    enum hl_run_reason reason;
    uint64_t events;   /* the ordinal of the last event of its stream; 0: there was none */
    int64_t steady_ms; /* started_ms by the steady clock; 0: as that, for the clock was never set */
};

#define HL_ATTEMPT_ENTRY_MAX 128

/* An attempt whose replica was lost is taken to have used so many ordinals: some that were seen may be unknown. Its
 * entry is NODE_BURY's to write (postgres/sql/node.sql). */
#define HL_ATTEMPT_LOST_EVENTS 100000000

/* Its text, which `out` has room for. */
struct hl_str hl_attempt_entry_write(
    const struct hl_attempt_entry *entry, char out[HL_ATTEMPT_ENTRY_MAX]);
/* The first entry, which is taken off `*log`. False: there is none, or it is none. */
HL_MUST_CHECK bool hl_attempt_entry_read(struct hl_str *log, struct hl_attempt_entry *entry);
/* The last ordinal that an attempt has used; 0: none has. */
uint64_t hl_attempt_log_events(struct hl_str log);
/* When the first attempt began, by the steady clock; `otherwise`: there was none before. */
int64_t hl_attempt_log_first_ms(struct hl_str log, int64_t otherwise);
/* When the last one ended; 0: there was none. */
int64_t hl_attempt_log_last_ms(struct hl_str log);

/* --- a report of a delivery's attempt ------------------------------------------------------------ */

#define HL_REPORT_PACKED_MAX                                                                       \
    (4 + 8 + 4 + 16 + HL_REPORT_ADDRESS_MAX + 1 + HL_REPORT_TYPE_MAX + 1 + HL_REPORT_BODY_MAX)

/* To `out`, which has room for HL_REPORT_PACKED_MAX bytes. NULL is empty. */
struct hl_str hl_attempt_report_pack(const struct hl_attempt_report *report, char *out);
/* NULL: it is empty, it is none, or there is no memory; what is lost is only for people to read. */
struct hl_attempt_report *hl_attempt_report_unpack(struct hl_str packed);

#endif
