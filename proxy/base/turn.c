/* turn.c - see turn.h. A subject is known while something of it waits, or while its last turn is the class's
 * turn now: then it has had this one. */
#include "base/turn.h"

#include <stdlib.h>
#include <string.h>

struct subject {
    struct hl_list node; /* in `idle` iff nothing waits */
    struct hl_id key;
    uint32_t waiting, put_off; /* the latter are among the former */
    int64_t last;
};

struct hl_turn_change {
    struct subject *subject;
    uint32_t waiting, put_off;
    int64_t last;
};

void hl_turns_init(struct hl_turns *turns)
{
    *turns = (struct hl_turns){0};
    hl_id_map_init(&turns->subjects);
    hl_list_init(&turns->idle);
}

void hl_turns_fini(struct hl_turns *turns)
{
    for (size_t i = 0; i < turns->subjects.cap; i++)
        free(turns->subjects.entries[i].value);
    hl_id_map_fini(&turns->subjects);
    free(turns->changes);
}

static struct hl_id key_of(enum hl_priority class, uint64_t subject)
{
    struct hl_id key = {{(uint8_t) class}};
    memcpy(key.b + 8, &subject, sizeof(subject));
    return key;
}

static enum hl_priority class_of(const struct subject *subject)
{
    return (enum hl_priority)subject->key.b[0];
}

static struct subject *find(const struct hl_turns *turns, enum hl_priority class, uint64_t subject)
{
    struct hl_id key = key_of(class, subject);
    return hl_id_map_find(&turns->subjects, &key);
}

static struct subject *find_or_make(
    struct hl_turns *turns, enum hl_priority class, uint64_t subject)
{
    struct subject *s = find(turns, class, subject);
    if (s || hl_id_map_reserve(&turns->subjects, 1) != HL_OK)
        return s;
    s = malloc(sizeof(*s));
    if (!s)
        return NULL;
    *s = (struct subject){.key = key_of(class, subject), .last = INT64_MIN};
    hl_list_init(&s->node);
    hl_list_push_back(&turns->idle, &s->node);
    hl_id_map_put(&turns->subjects, &s->key, s);
    return s;
}

static void forget_idle(struct hl_turns *turns)
{
    HL_LIST_EACH_SAFE (node, &turns->idle) {
        struct subject *s = HL_CONTAINER_OF(node, struct subject, node);
        if (s->last >= turns->now[class_of(s)])
            continue;
        hl_list_remove(&s->node);
        hl_id_map_remove(&turns->subjects, &s->key);
        free(s);
    }
}

static void note(struct hl_turns *turns, struct subject *s)
{
    if (!turns->notes_changes)
        return;
    if (turns->n_changes == turns->cap_changes) {
        size_t cap = turns->cap_changes ? 2 * turns->cap_changes : 64;
        struct hl_turn_change *changes = realloc(turns->changes, cap * sizeof(*changes));
        if (!changes)
            return;
        turns->changes = changes;
        turns->cap_changes = cap;
    }
    turns->changes[turns->n_changes++] =
        (struct hl_turn_change){s, s->waiting, s->put_off, s->last};
}

static void set(struct hl_turns *turns, struct subject *s, uint32_t waiting, int64_t last)
{
    s->waiting = waiting;
    s->last = last;
    if (waiting > 0)
        hl_list_remove(&s->node);
    else if (!hl_list_is_linked(&s->node))
        hl_list_push_back(&turns->idle, &s->node);
}

void hl_turns_begin(struct hl_turns *turns)
{
    memcpy(turns->before, turns->now, sizeof(turns->before));
    turns->n_changes = 0;
    turns->notes_changes = true;
}

/* Every class's turn goes on in any case: who is idle is looked at once a turn, not once a start. */
void hl_turns_commit(struct hl_turns *turns)
{
    bool has_moved = memcmp(turns->before, turns->now, sizeof(turns->before)) != 0;
    turns->notes_changes = false;
    if (has_moved)
        forget_idle(turns);
}

void hl_turns_rollback(struct hl_turns *turns)
{
    while (turns->n_changes > 0) {
        struct hl_turn_change *change = &turns->changes[--turns->n_changes];
        change->subject->put_off = change->put_off;
        set(turns, change->subject, change->waiting, change->last);
    }
    memcpy(turns->now, turns->before, sizeof(turns->now));
    turns->notes_changes = false;
    forget_idle(turns);
}

void hl_turns_begin_at(struct hl_turns *turns, enum hl_priority class, int64_t turn)
{
    turns->now[class] = turn;
}

void hl_turns_take(struct hl_turns *turns, enum hl_priority class, uint64_t subject, int64_t turn)
{
    struct subject *s = find_or_make(turns, class, subject);
    if (!s)
        return;
    note(turns, s);
    set(turns, s, s->waiting + 1, turn > s->last ? turn : s->last);
}

int64_t hl_turns_give(struct hl_turns *turns, enum hl_priority class, uint64_t subject)
{
    const struct subject *s = find(turns, class, subject);
    int64_t turn = turns->now[class];
    if (s && s->last >= turn)
        turn = s->last + 1;
    hl_turns_take(turns, class, subject, turn);
    return turn;
}

void hl_turns_leave(struct hl_turns *turns, enum hl_priority class, uint64_t subject)
{
    struct subject *s = find(turns, class, subject);
    if (!s || s->waiting == 0)
        return;
    int64_t now = turns->now[class], last = s->last;
    if (s->waiting == 1 && last > now)
        last = now; /* turns that were never had */
    note(turns, s);
    set(turns, s, s->waiting - 1, last);
}

void hl_turns_start(struct hl_turns *turns, enum hl_priority class, uint64_t subject, int64_t turn)
{
    bool moves = turn > turns->now[class];
    if (moves)
        turns->now[class] = turn;
    hl_turns_leave(turns, class, subject);
    if (moves && !turns->notes_changes)
        forget_idle(turns);
}

void hl_turns_put_off(
    struct hl_turns *turns, enum hl_priority class, uint64_t subject, int64_t turn)
{
    hl_turns_take(turns, class, subject, turn);
    struct subject *s = find(turns, class, subject);
    if (s)
        s->put_off++;
}

void hl_turns_call_back(struct hl_turns *turns, enum hl_priority class, uint64_t subject)
{
    struct subject *s = find(turns, class, subject);
    hl_turns_leave(turns, class, subject);
    if (s && s->put_off > 0)
        s->put_off--;
}

uint32_t hl_turns_waiting(const struct hl_turns *turns, enum hl_priority class, uint64_t subject)
{
    const struct subject *s = find(turns, class, subject);
    return s ? s->waiting : 0;
}

uint32_t hl_turns_queued(const struct hl_turns *turns, enum hl_priority class, uint64_t subject)
{
    const struct subject *s = find(turns, class, subject);
    /* A change that was not noted, for want of memory, comes back with a rollback. */
    if (!s || s->waiting < s->put_off)
        return 0;
    return s->waiting - s->put_off;
}
