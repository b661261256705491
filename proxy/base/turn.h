/* turn.h - turns within a class, so that a thousand calls of one subject do not hold up another's
 * single one (contract 7): each newcomer gets the turn max(its class's turn now, its subject's
 * last turn + 1), and the lowest turn starts first; of those with the same turn, who came first.
 * No scan, and no more memory than there are subjects that wait.
 *
 * What changed since hl_turns_begin can be undone. Short of memory, turns are as if their subject were new:
 * less fair, and nothing else. One thread owns them. */
#ifndef HL_BASE_TURN_H
#define HL_BASE_TURN_H

#include <stdint.h>

#include "base/id_map.h"
#include "base/list.h"
#include "base/priority.h"

struct hl_turn_change;

struct hl_turns {
    int64_t now[HL_PRIORITIES]; /* the last that has started */
    int64_t before[HL_PRIORITIES];
    struct hl_id_map subjects;
    struct hl_list idle; /* subjects of which nothing waits */
    bool notes_changes;
    struct hl_turn_change *changes;
    size_t n_changes, cap_changes;
};

void hl_turns_init(struct hl_turns *turns);
void hl_turns_fini(struct hl_turns *turns);

void hl_turns_begin(struct hl_turns *turns);
void hl_turns_commit(struct hl_turns *turns);
void hl_turns_rollback(struct hl_turns *turns);

/* At the beginning: the first of a class that waits has that turn. */
void hl_turns_begin_at(struct hl_turns *turns, enum hl_priority class, int64_t turn);
/* One more of `subject` waits: its turn. */
int64_t hl_turns_give(struct hl_turns *turns, enum hl_priority class, uint64_t subject);
/* One waits that has its turn already. */
void hl_turns_take(struct hl_turns *turns, enum hl_priority class, uint64_t subject, int64_t turn);
/* One has started. */
void hl_turns_start(struct hl_turns *turns, enum hl_priority class, uint64_t subject, int64_t turn);
/* One waits no more, and does not start. */
void hl_turns_leave(struct hl_turns *turns, enum hl_priority class, uint64_t subject);
/* One waits that has its turn already, and may not start before it is called back: then it waits no more. */
void hl_turns_put_off(
    struct hl_turns *turns, enum hl_priority class, uint64_t subject, int64_t turn);
void hl_turns_call_back(struct hl_turns *turns, enum hl_priority class, uint64_t subject);
/* How many of `subject` wait; how many of these are not put off. */
uint32_t hl_turns_waiting(const struct hl_turns *turns, enum hl_priority class, uint64_t subject);
uint32_t hl_turns_queued(const struct hl_turns *turns, enum hl_priority class, uint64_t subject);

#endif
