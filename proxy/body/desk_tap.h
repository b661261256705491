/* desk_tap.h - all followers of one run at one desk, which are woken together. Thread: the desk's
 * loop. */
#ifndef HL_BODY_DESK_TAP_H
#define HL_BODY_DESK_TAP_H

#include "base/id.h"
#include "body/journal.h"

struct hl_follow_desk;

struct hl_desk_tap {
    struct hl_journal_tap tap;
    struct hl_follow_desk *desk;
    struct hl_id run_id;
    struct hl_list followers; /* by their `in_tap` */
    bool is_dead;             /* nobody follows: it goes with its message */
};

/* Sits down at the run's tap. NULL: out of memory. */
struct hl_desk_tap *hl_desk_tap_join(
    struct hl_follow_desk *desk, const struct hl_id *run_id, struct hl_list *in_tap);
/* Gets up. The last one takes it down. */
void hl_desk_tap_leave(struct hl_desk_tap *tap, struct hl_list *in_tap);
/* The journal that it is at has been left: who comes from now on sits at another. */
void hl_desk_tap_unlist(struct hl_desk_tap *tap);
/* Its message came. False: it is gone. */
bool hl_desk_tap_heard(struct hl_desk_tap *tap);

#endif
