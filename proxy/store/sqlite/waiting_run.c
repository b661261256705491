/* waiting_run.c - see waiting_run.h. Owns: the claims, whose secrets are wiped when they go. */
#include "store/sqlite/waiting_run.h"

#include <stddef.h>

#include "store/accept.h"
#include "store/claim.h"

#define BYTES_MAX 2048 /* of head, body and names: larger ones are not remembered */

static struct hl_waiting_run *place_of(struct hl_waiting_runs *runs, int64_t number)
{
    return &runs->places[(uint64_t)number % HL_WAITING_RUNS_MAX];
}

bool hl_waiting_run_fits(struct hl_waiting_runs *runs, int64_t number, const struct hl_accept *a)
{
    uint64_t inlined = a->body.where == HL_BODY_INLINE ? a->body.size : 0;
    return !place_of(runs, number)->claimed &&
           a->head.n + a->project.n + a->app.n + a->tags.n + inlined <= BYTES_MAX;
}

void hl_waiting_run_put(
    struct hl_waiting_runs *runs, int64_t number, int64_t app_id, struct hl_claimed *claimed)
{
    *place_of(runs, number) = (struct hl_waiting_run){number, app_id, claimed};
}

struct hl_claimed *hl_waiting_run_take(
    struct hl_waiting_runs *runs, int64_t number, int64_t *app_id)
{
    struct hl_waiting_run *place = place_of(runs, number);
    struct hl_claimed *claimed = place->claimed;
    if (!claimed || place->number != number)
        return NULL;
    *app_id = place->app_id;
    place->claimed = NULL;
    return claimed;
}

void hl_waiting_run_drop(struct hl_waiting_runs *runs, int64_t number)
{
    int64_t app_id;
    hl_claimed_free(hl_waiting_run_take(runs, number, &app_id));
}

void hl_waiting_run_forget(struct hl_waiting_runs *runs)
{
    for (size_t i = 0; i < HL_WAITING_RUNS_MAX; i++) {
        hl_claimed_free(runs->places[i].claimed);
        runs->places[i].claimed = NULL;
    }
}
