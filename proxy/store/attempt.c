/* attempt.c - see attempt.h. An entry of a run's log: attempt, start, end, status and reason as numbers with a space between
 * two, and a semicolon; a sixth are the events, a seventh its start by the steady clock, where they say anything. A report:
 * numbers, lowest byte first: a mark, the size of what was sent in eight bytes, what was asked for by Retry-After, and four
 * durations in four each; address and content type, each with a NUL behind it; the answer's beginning. Those of schema 19
 * and before begin with the durations. */
#include "store/attempt.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

/* --- a run's log --------------------------------------------------------------------------------- */

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

int64_t hl_attempt_log_last_ms(struct hl_str log)
{
    struct hl_attempt_entry entry = {.finished_ms = 0};
    while (hl_attempt_entry_read(&log, &entry))
        continue;
    return entry.finished_ms;
}

/* --- a report of a delivery's attempt ------------------------------------------------------------ */

#define SIZES_MARK (-2) /* no duration */
#define SIZES      (4 + 8 + 4)
#define DURATIONS  (4 * 4)

static char *put_number(char *to, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *to++ = (char)(number >> (8 * i));
    return to;
}

static char *put_duration(char *to, int32_t us)
{
    return put_number(to, (uint32_t)us, 4);
}

static uint64_t take_number(struct hl_str *from, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++)
        number |= (uint64_t)(unsigned char)from->p[i] << (8 * i);
    *from = (struct hl_str){from->p + bytes, from->n - (size_t)bytes};
    return number;
}

static int32_t take_duration(struct hl_str *from)
{
    return (int32_t)(uint32_t)take_number(from, 4);
}

struct hl_str hl_attempt_report_pack(const struct hl_attempt_report *report, char *out)
{
    if (!report)
        return HL_STR("");
    size_t address_n = strlen(report->address) + 1, type_n = strlen(report->content_type) + 1;
    char *to = put_duration(out, SIZES_MARK);
    to = put_number(to, report->sent_size, 8);
    to = put_number(to, report->retry_after_s, 4);
    to = put_duration(to, report->name_us);
    to = put_duration(to, report->connect_us);
    to = put_duration(to, report->tls_us);
    to = put_duration(to, report->first_byte_us);
    to = (char *)memcpy(to, report->address, address_n) + address_n;
    to = (char *)memcpy(to, report->content_type, type_n) + type_n;
    to = (char *)memcpy(to, report->body, report->body_n) + report->body_n;
    return (struct hl_str){out, (size_t)(to - out)};
}

static bool take_text(struct hl_str *from, char *out, size_t size)
{
    const char *end = from->n > 0 ? memchr(from->p, '\0', from->n) : NULL;
    size_t n = end ? (size_t)(end - from->p) + 1 : 0;
    if (n == 0 || n > size)
        return false;
    memcpy(out, from->p, n);
    *from = (struct hl_str){from->p + n, from->n - n};
    return true;
}

/* Behind the mark. */
static void take_sizes(struct hl_str *from, struct hl_attempt_report *r)
{
    r->sent_size = take_number(from, 8);
    r->retry_after_s = (uint32_t)take_number(from, 4);
    r->name_us = take_duration(from);
}

struct hl_attempt_report *hl_attempt_report_unpack(struct hl_str packed)
{
    struct hl_attempt_report *r = packed.n >= DURATIONS ? calloc(1, sizeof(*r)) : NULL;
    if (!r)
        return NULL;
    r->name_us = take_duration(&packed);
    if (r->name_us == SIZES_MARK) {
        if (packed.n < SIZES - 4 + DURATIONS) {
            free(r);
            return NULL;
        }
        take_sizes(&packed, r);
    }
    r->connect_us = take_duration(&packed);
    r->tls_us = take_duration(&packed);
    r->first_byte_us = take_duration(&packed);
    if (!take_text(&packed, r->address, sizeof(r->address)) ||
        !take_text(&packed, r->content_type, sizeof(r->content_type)) ||
        packed.n > sizeof(r->body)) {
        free(r);
        return NULL;
    }
    r->body_n = (uint32_t)packed.n;
    memcpy(r->body, packed.p, packed.n);
    return r;
}
