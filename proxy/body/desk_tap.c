/* desk_tap.c - see desk_tap.h. */
#include "body/desk_tap.h"

#include <stdlib.h>

#include "body/follow_desk.h"
#include "body/journals.h"

static struct hl_desk_tap *make(struct hl_follow_desk *desk, const struct hl_id *run_id)
{
    struct hl_desk_tap *tap = calloc(1, sizeof(*tap));
    if (!tap)
        return NULL;
    tap->desk = desk;
    tap->run_id = *run_id;
    hl_list_init(&tap->followers);
    if (hl_id_map_reserve(&desk->taps, 1) == HL_OK &&
        hl_journals_tap(desk->journals, run_id, &tap->tap, &desk->mail.box, HL_DESK_TAP)) {
        hl_id_map_put(&desk->taps, run_id, tap);
        return tap;
    }
    free(tap);
    return NULL;
}

struct hl_desk_tap *hl_desk_tap_join(
    struct hl_follow_desk *desk, const struct hl_id *run_id, struct hl_list *in_tap)
{
    struct hl_desk_tap *tap = hl_id_map_find(&desk->taps, run_id);
    struct hl_journal_look now;
    if (tap) {
        hl_journal_observe(tap->tap.journal, &now);
        if (now.is_again || now.is_closed) /* of an attempt that is over */
            hl_desk_tap_unlist(tap);
        if (now.is_again || now.is_closed)
            tap = NULL;
    }
    if (!tap)
        tap = make(desk, run_id);
    if (tap)
        hl_list_push_back(&tap->followers, in_tap);
    return tap;
}

void hl_desk_tap_unlist(struct hl_desk_tap *tap)
{
    struct hl_id_map *map = &tap->desk->taps;
    if (hl_id_map_find(map, &tap->run_id) == tap)
        hl_id_map_remove(map, &tap->run_id);
}

void hl_desk_tap_leave(struct hl_desk_tap *tap, struct hl_list *in_tap)
{
    hl_list_remove(in_tap);
    if (!hl_list_is_empty(&tap->followers))
        return;
    hl_desk_tap_unlist(tap);
    tap->is_dead = true;
    if (hl_journals_untap(&tap->tap))
        free(tap);
}

bool hl_desk_tap_heard(struct hl_desk_tap *tap)
{
    if (tap->is_dead) {
        free(tap);
        return false;
    }
    hl_journal_heard(&tap->tap);
    return true;
}
