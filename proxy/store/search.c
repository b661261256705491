/* search.c - see search.h. Any thread. */
#include "store/search.h"

#include <string.h>

/* --- reading ---------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hl_search_read_prefix(struct hl_str text, struct hl_run_search *s)
{
    size_t n = 0, max = 2 * sizeof(s->first.b);
    memset(&s->first, 0, sizeof(s->first));
    s->last = hl_id_last();
    for (size_t i = 0; i < text.n; i++) {
        int digit = digit_of(text.p[i]);
        if (text.p[i] == '-')
            continue;
        if (digit < 0 || n == max)
            return false;
        int shift = n % 2 ? 0 : 4;
        s->first.b[n / 2] |= (uint8_t)(digit << shift);
        s->last.b[n / 2] &= (uint8_t) ~((0xf ^ digit) << shift);
        n++;
    }
    s->has_prefix = n > 0;
    return s->has_prefix;
}

bool hl_search_read_tail(struct hl_str text, struct hl_run_search *s)
{
    if (text.n != 2 * sizeof(s->tail))
        return false;
    for (size_t i = 0; i < sizeof(s->tail); i++) {
        int high = digit_of(text.p[2 * i]), low = digit_of(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        s->tail[i] = (uint8_t)(high << 4 | low);
    }
    s->has_tail = true;
    return true;
}

bool hl_status_range_read(struct hl_str text, struct hl_status_range *range)
{
    uint64_t status;
    *range = (struct hl_status_range){.is_set = true};
    if (hl_str_eq(text, HL_STR("none")))
        return true;
    if (text.n != 3 || text.p[0] < '1' || text.p[0] > '5')
        return false;
    if (text.p[1] == 'x' && text.p[2] == 'x') {
        range->from = (uint16_t)(100 * (text.p[0] - '0'));
        range->to = (uint16_t)(range->from + 99);
        return true;
    }
    if (!hl_str_to_u64(text, &status))
        return false;
    range->from = range->to = (uint16_t)status;
    return true;
}

bool hl_search_add_tag(struct hl_str text, struct hl_run_search *s)
{
    struct hl_str have = hl_str_from(s->tags);
    struct hl_tag tag;
    size_t n = have.n, count = 0;
    for (struct hl_str left = have; hl_tag_next(&left, &tag); count++)
        continue;
    if (!hl_tag_is_wanted(text) || count == HL_TAGS_MAX)
        return false;
    if (n > 0)
        s->tags[n++] = ',';
    memcpy(s->tags + n, text.p, text.n);
    s->tags[n + text.n] = '\0';
    return true;
}

/* --- finding ---------------------------------------------------------------------------------- */

bool hl_run_search_reads(const struct hl_run_search *s)
{
    return s->reason != HL_REASON_NONE || s->webhook != HL_SEARCH_ANY_WEBHOOK || s->status.is_set ||
           s->path[0] || s->error[0] || s->find[0] || s->tags[0];
}

bool hl_run_search_walks(const struct hl_run_search *s)
{
    return s->has_tail || hl_run_search_reads(s);
}

void hl_list_bounds(const struct hl_id *at, int64_t since_ms, int64_t until_ms,
    struct hl_id *before, struct hl_id *from)
{
    *from = hl_id_first_at(since_ms);
    *before = until_ms > 0 ? hl_id_first_at(until_ms) : hl_id_last();
    if (!hl_id_is_nil(at) && memcmp(at, before, sizeof(*at)) < 0)
        *before = *at;
}

void hl_run_search_narrow(const struct hl_run_search *s, struct hl_id *before, struct hl_id *from)
{
    if (!s->has_prefix)
        return;
    struct hl_id behind = s->last;
    for (size_t i = sizeof(behind.b); i-- > 0 && ++behind.b[i] == 0;)
        continue;
    if (!hl_id_is_nil(&behind) && memcmp(&behind, before, sizeof(behind)) < 0)
        *before = behind;
    if (memcmp(&s->first, from, sizeof(s->first)) > 0)
        *from = s->first;
}

bool hl_run_search_fits_id(const struct hl_run_search *s, const struct hl_id *id)
{
    if (s->has_prefix &&
        (memcmp(id, &s->first, sizeof(*id)) < 0 || memcmp(id, &s->last, sizeof(*id)) > 0))
        return false;
    return !s->has_tail ||
           memcmp(id->b + sizeof(id->b) - sizeof(s->tail), s->tail, sizeof(s->tail)) == 0;
}

static bool fits_webhook(enum hl_search_webhook webhook, const struct hl_searched_run *run)
{
    switch (webhook) {
    case HL_SEARCH_ANY_WEBHOOK:
        break;
    case HL_SEARCH_NO_WEBHOOK:
        return !run->has_webhook;
    case HL_SEARCH_PENDING:
        return run->pending > 0;
    case HL_SEARCH_OK:
        return run->ok > 0;
    case HL_SEARCH_DEAD:
        return run->dead > 0;
    }
    return true;
}

static bool has_part(struct hl_str text, const char *part)
{
    size_t n = strlen(part);
    return n == 0 || (text.n >= n && memmem(text.p, text.n, part, n));
}

static bool fits_tags(const char *wanted, struct hl_str tags)
{
    struct hl_str left = hl_str_from(wanted);
    struct hl_tag tag;
    while (hl_tag_next(&left, &tag))
        if (!hl_tags_have(tags, tag.whole))
            return false;
    return true;
}

bool hl_run_search_fits(const struct hl_run_search *s, const struct hl_searched_run *run)
{
    return (s->reason == HL_REASON_NONE || s->reason == run->reason) &&
           hl_status_range_fits(&s->status, run->http_status) && fits_webhook(s->webhook, run) &&
           has_part(run->path, s->path) &&
           (!s->error[0] || hl_str_eq(run->error, hl_str_from(s->error))) &&
           (has_part(run->path, s->find) || has_part(run->error, s->find) ||
               has_part(run->tags, s->find)) &&
           fits_tags(s->tags, run->tags);
}

bool hl_run_search_fits_row(const struct hl_run_search *s, const struct hl_run_row *row)
{
    const struct hl_searched_run run = {.reason = row->reason,
        .http_status = row->http_status,
        .has_webhook = row->has_webhook,
        .pending = row->deliveries_pending,
        .ok = row->deliveries_ok,
        .dead = row->deliveries_dead,
        .path = row->path,
        .error = row->error,
        .tags = row->tags};
    return hl_run_search_fits_id(s, &row->run_id) && hl_run_search_fits(s, &run);
}
