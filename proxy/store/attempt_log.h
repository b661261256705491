/* attempt_log.h - how all attempts of a run but the last one ended: a line of text that grows by
 * one entry per attempt, as the stores keep it. */
#ifndef HL_STORE_ATTEMPT_LOG_H
#define HL_STORE_ATTEMPT_LOG_H

#include "store/record.h"

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

#endif
