/* sight.h - what conditions are judged by, as it is at one moment, and the conditions. The control thread's. */
#ifndef HL_ALERT_SIGHT_H
#define HL_ALERT_SIGHT_H

#include "alert/alert.h"

struct hl_service;
struct hl_store_gauges;

/* Zero: nothing was seen yet. */
struct hl_sight {
    bool knows_queue; /* else nobody does, now */
    uint64_t queue_age_ms, queue_limit_ms;
    uint64_t bytes, max_bytes; /* max_bytes 0: there is no limit */
    bool is_full, is_failing;
    uint64_t failing_ms; /* for so long */
    bool is_leaving;     /* the process is about to end: nothing is said of the app */
    uint64_t unready_ms, unready_limit_ms;
    const char *why;
    bool has_certificate;
    int64_t expires_ms, now_ms; /* wall time */

    /* private */
    uint64_t unready_since; /* monotonic; 0: it is ready */
    uint64_t failing_since; /* likewise; 0: it works */
    bool was_looked;
    int64_t ahead_ms; /* of the clock, at the last look */
    int64_t set_by_ms,
        set_at; /* the clock was set by so much; what is from before then is not that old */
};

/* Once a turn. */
void hl_sight_look(struct hl_sight *s, const struct hl_service *service,
    const struct hl_store_gauges *store, uint64_t mono_ms);
/* How long something has waited since that wall time, whoever has set the clock meanwhile. 0: nothing waits. */
uint64_t hl_sight_age_ms(struct hl_sight *s, int64_t since_ms, int64_t ahead_ms, int64_t now_ms);

enum hl_condition { HL_CONDITION_CLEAR, HL_CONDITION_HOLDS, HL_CONDITION_UNKNOWN };

/* Of a kind that is seen; of others, which events tell, UNKNOWN. `was_holding`: it ends later than it began. */
enum hl_condition hl_sight_judge(const struct hl_sight *s, enum hl_alert_kind kind,
    bool was_holding, struct hl_alert_facts *facts);

#endif
