/* heads.c - see heads.h. Owns: copies, which are wiped when they go. */
#include "store/sqlite/heads.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static struct hl_known_head *place_of(struct hl_heads *heads, int64_t number)
{
    return &heads->places[(uint64_t)number % HL_HEADS_MAX];
}

static void clear(struct hl_known_head *place)
{
    if (place->p)
        explicit_bzero(place->p, place->n);
    free(place->p);
    *place = (struct hl_known_head){.p = NULL};
}

void hl_heads_fini(struct hl_heads *heads)
{
    for (size_t i = 0; i < HL_HEADS_MAX; i++)
        clear(&heads->places[i]);
}

void hl_heads_put(
    struct hl_heads *heads, int64_t number, const struct hl_id *run_id, struct hl_str head)
{
    struct hl_known_head *place = place_of(heads, number);
    clear(place);
    if (head.n == 0 || head.n > HL_HEAD_KEPT_MAX)
        return;
    place->p = malloc(head.n);
    if (!place->p)
        return;
    memcpy(place->p, head.p, head.n);
    place->n = head.n;
    place->run_id = *run_id;
}

bool hl_heads_take(
    struct hl_heads *heads, int64_t number, const struct hl_id *run_id, char *out, size_t n)
{
    struct hl_known_head *place = place_of(heads, number);
    if (!place->p || place->n != n || !hl_id_eq(&place->run_id, run_id))
        return false;
    memcpy(out, place->p, n);
    clear(place);
    return true;
}
