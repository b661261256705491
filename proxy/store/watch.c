/* watch.c - see watch.h. */
#include "store/watch.h"

#include <string.h>

#include "loop/slot.h"
#include "store/claim.h"

void hl_watchers_init(struct hl_watchers *w)
{
    *w = (struct hl_watchers){.ended = NULL};
    hl_id_map_init(&w->runs);
}

void hl_watchers_fini(struct hl_watchers *w)
{
    hl_id_map_fini(&w->runs);
}

static void put(struct hl_watchers *w, struct hl_watch *watch)
{
    watch->next = hl_id_map_find(&w->runs, &watch->run_id);
    hl_id_map_put(&w->runs, &watch->run_id, watch);
    w->n++;
}

enum hl_err hl_watchers_add(struct hl_watchers *w, struct hl_watch *watch)
{
    enum hl_err err = hl_id_map_reserve(&w->runs, 1);
    if (!err)
        put(w, watch);
    return err;
}

static bool is_of(const struct hl_watch *watch, const struct hl_watch *unwatch)
{
    return watch->m.reply_to == unwatch->m.reply_to &&
           watch->m.from.index == unwatch->m.from.index &&
           watch->m.from.generation == unwatch->m.from.generation;
}

struct hl_watch *hl_watchers_remove(struct hl_watchers *w, const struct hl_watch *unwatch)
{
    struct hl_watch *first = hl_id_map_find(&w->runs, &unwatch->run_id), **at = &first;
    while (*at && !is_of(*at, unwatch))
        at = &(*at)->next;
    struct hl_watch *found = *at;
    if (!found)
        return NULL;
    *at = found->next;
    if (first)
        hl_id_map_put(&w->runs, &unwatch->run_id, first);
    else
        hl_id_map_remove(&w->runs, &unwatch->run_id);
    w->n--;
    return found;
}

void hl_watchers_note_end(struct hl_watchers *w, const struct hl_id *run_id)
{
    struct hl_watch *next, *watch = w->n > 0 ? hl_id_map_remove(&w->runs, run_id) : NULL;
    for (; watch; watch = next) {
        next = watch->next;
        watch->next = w->ended;
        w->ended = watch;
        w->n--;
    }
}

void hl_watchers_note_head(struct hl_watchers *w, const struct hl_id *run_id)
{
    struct hl_watch *kept = NULL, *next;
    struct hl_watch *watch = w->n > 0 ? hl_id_map_remove(&w->runs, run_id) : NULL;
    for (; watch; watch = next) {
        struct hl_watch **list = watch->wants_head ? &w->ended : &kept;
        next = watch->next;
        w->n -= watch->wants_head;
        watch->next = *list;
        *list = watch;
    }
    if (kept)
        hl_id_map_put(&w->runs, run_id, kept);
}

/* Their places were free a moment ago: no memory is needed. */
void hl_watchers_rollback(struct hl_watchers *w)
{
    for (struct hl_watch *watch = w->ended, *next; watch; watch = next) {
        next = watch->next;
        put(w, watch);
    }
    w->ended = NULL;
}

struct hl_watch *hl_watchers_take(struct hl_watchers *w)
{
    struct hl_watch *ended = w->ended;
    w->ended = NULL;
    return ended;
}

struct hl_watch *hl_watchers_take_any(struct hl_watchers *w)
{
    for (size_t i = 0; !w->ended && i < w->runs.cap; i++)
        if (w->runs.entries[i].value) {
            struct hl_id run_id = w->runs.entries[i].id;
            hl_watchers_note_end(w, &run_id);
        }
    struct hl_watch *any = w->ended;
    if (any)
        w->ended = any->next;
    return any;
}
