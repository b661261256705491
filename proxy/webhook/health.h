/* health.h - what recent attempts say about destinations: which answer promptly, and which have
 * not answered for some time. The sender's thread owns it. */
#ifndef HL_WEBHOOK_HEALTH_H
#define HL_WEBHOOK_HEALTH_H

#include "base/id_map.h"
#include "base/list.h"
#include "store/lane.h"

#define HL_HEALTH_LANES  65536 /* the one that was heard of least lately is forgotten first */
#define HL_FAILING_AFTER 20    /* attempts in a row without an answer */
#define HL_PROMPT_MS     1000  /* an answer within that is at once */

struct hl_healths {
    struct hl_id_map lanes;
    struct hl_list order; /* heard of least lately first */
    uint32_t n, failing;
};

struct hl_health {
    enum hl_lane_health health;
    int64_t failing_since_ms; /* wall time; 0: it is not FAILING */
};

void hl_healths_init(struct hl_healths *all);
void hl_healths_fini(struct hl_healths *all);

/* A lane fails since then, as the store knows; 0: it does not, so that one of which it was told has answered somebody
 * else. What was answered here since then counts more. True: it is new here. */
bool hl_healths_learn(struct hl_healths *all, uint64_t lane, int64_t failing_since_ms);
/* The store was told that a lane fails. */
void hl_healths_confirm(struct hl_healths *all, uint64_t lane);
/* An attempt has ended: it was begun then, and answered after `ms`, or `is_answered` is not set. `*was_failing`: it
 * was, before. Without memory nothing is known of a lane. */
struct hl_health hl_healths_note(struct hl_healths *all, uint64_t lane, int64_t started_ms,
    bool is_answered, uint64_t ms, bool *was_failing);
/* Before the first attempt that was noted here, `n` others in a row had no answer, since then. True: it fails, which is
 * new. Where one had an answer meanwhile it is of no interest. */
bool hl_healths_recall(struct hl_healths *all, uint64_t lane, uint32_t n, int64_t since_ms);
/* Whether any attempt was noted. */
bool hl_healths_knows(const struct hl_healths *all, uint64_t lane);
struct hl_health hl_healths_find(const struct hl_healths *all, uint64_t lane);

#endif
