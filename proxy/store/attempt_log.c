/* attempt_log.c - see attempt_log.h. An entry: attempt, start, end, status and reason as numbers with a
 * space between two, and a semicolon; a sixth are the events, a seventh its start by the steady clock, where
 * they say anything. */
#include "store/attempt_log.h"

#include <stdio.h>

#include "base/clock.h"

#define NUMBERS 7
#define LEAST   5

static bool was_set(const struct hl_attempt_entry *entry)
{
    int64_t ahead_ms = entry->steady_ms - entry->started_ms;
    return entry->steady_ms > 0 && (ahead_ms >= HL_CLOCK_SET_MS || ahead_ms <= -HL_CLOCK_SET_MS);
}

struct hl_str hl_attempt_entry_write(
    const struct hl_attempt_entry *entry, char out[HL_ATTEMPT_ENTRY_MAX])
{
    int n = snprintf(out, HL_ATTEMPT_ENTRY_MAX, "%u %lld %lld %u %d", entry->attempt,
        (long long)entry->started_ms, (long long)entry->finished_ms, entry->http_status,
        (int)entry->reason);
    if (entry->events > 0 || was_set(entry))
        n += snprintf(out + n, (size_t)(HL_ATTEMPT_ENTRY_MAX - n), " %llu",
            (unsigned long long)entry->events);
    if (was_set(entry))
        n += snprintf(
            out + n, (size_t)(HL_ATTEMPT_ENTRY_MAX - n), " %lld", (long long)entry->steady_ms);
    out[n++] = ';';
    return (struct hl_str){out, (size_t)n};
}

/* `*is_last`: a semicolon follows it. */
static bool read_number(struct hl_str *log, int64_t *out, bool *is_last)
{
    size_t n = 0;
    for (*out = 0; n < log->n && n < 18 && log->p[n] >= '0' && log->p[n] <= '9'; n++)
        *out = *out * 10 + (log->p[n] - '0');
    if (n == 0 || n == log->n || (log->p[n] != ' ' && log->p[n] != ';'))
        return false;
    *is_last = log->p[n] == ';';
    *log = (struct hl_str){log->p + n + 1, log->n - n - 1};
    return true;
}

bool hl_attempt_entry_read(struct hl_str *log, struct hl_attempt_entry *entry)
{
    int64_t numbers[NUMBERS] = {0};
    bool is_last = false;
    int n = 0;
    while (n < NUMBERS && !is_last)
        if (!read_number(log, &numbers[n++], &is_last))
            return false;
    if (!is_last || n < LEAST || numbers[4] > HL_REASON_LAST)
        return false;
    *entry = (struct hl_attempt_entry){.attempt = (uint32_t)numbers[0],
        .started_ms = numbers[1],
        .finished_ms = numbers[2],
        .http_status = (uint16_t)numbers[3],
        .reason = (enum hl_run_reason)numbers[4],
        .events = (uint64_t)numbers[5],
        .steady_ms = numbers[6] > 0 ? numbers[6] : numbers[1]};
    return true;
}

uint64_t hl_attempt_log_events(struct hl_str log)
{
    struct hl_attempt_entry entry;
    uint64_t most = 0;
    while (hl_attempt_entry_read(&log, &entry))
        most = entry.events > most ? entry.events : most;
    return most;
}

int64_t hl_attempt_log_first_ms(struct hl_str log, int64_t otherwise)
{
    struct hl_attempt_entry first;
    return hl_attempt_entry_read(&log, &first) ? first.steady_ms : otherwise;
}
