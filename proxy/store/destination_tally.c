/* destination_tally.c - see destination_tally.h. */
#include "store/destination_tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/question.h"

#define LOOK_BACK_MS 3600000

void hl_destination_tally_begin(struct hl_destination_tally *t, struct hl_destination_row *row)
{
    t->since_ms = hl_clock_wall_ms() - LOOK_BACK_MS;
    t->failed_ms = INT64_MIN;
    t->n = 0;
    row->attempts = row->ok = 0;
    row->p95_us = -1;
    row->last_ms = 0;
    row->last_status = 0;
    row->last_error[0] = '\0';
}

static void note_error(struct hl_destination_tally *t, struct hl_destination_row *row,
    const struct hl_attempt_row *attempt)
{
    bool has_failed = attempt->verdict != HL_ATTEMPT_OK && attempt->error[0];
    if (!has_failed || attempt->ended_ms < t->failed_ms)
        return;
    t->failed_ms = attempt->ended_ms;
    memcpy(row->last_error, attempt->error, sizeof(row->last_error));
}

void hl_destination_tally_add(struct hl_destination_tally *t, struct hl_destination_row *row,
    const struct hl_attempt_row *attempt)
{
    if (attempt->ended_ms == 0)
        return;
    if (attempt->ended_ms >
        row->last_ms) { /* of one millisecond: the newest delivery, which comes first */
        row->last_ms = attempt->ended_ms;
        row->last_status = attempt->http_status;
    }
    note_error(t, row, attempt);
    if (attempt->ended_ms < t->since_ms)
        return;
    row->attempts++;
    row->ok += attempt->http_status >= 200 && attempt->http_status <= 299;
    if (t->n < HL_TALLY_DURATIONS)
        t->durations_us[t->n++] = (attempt->ended_ms - attempt->started_ms) * 1000;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The least that 95 in 100 do not exceed. */
void hl_destination_tally_end(struct hl_destination_tally *t, struct hl_destination_row *row)
{
    if (t->n == 0)
        return;
    qsort(t->durations_us, t->n, sizeof(t->durations_us[0]), compare);
    row->p95_us = t->durations_us[(t->n * 95 + 99) / 100 - 1];
}
