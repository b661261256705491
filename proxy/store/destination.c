/* destination.c - see destination.h. Any thread. */
#include "store/destination.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "http/url.h"
#include "http/writer.h"
#include "store/key.h"
#include "store/question.h"
#include "store/secret.h"

size_t hl_destination_write(char *out, struct hl_str text)
{
    struct hl_url url;
    if (!hl_url_parse(text, &url))
        return 0;
    struct hl_writer w = hl_writer_on(out, HL_DESTINATION_MAX - 1);
    hl_write_str(&w, url.is_https ? HL_STR("https://") : HL_STR("http://"));
    hl_write_str(&w, url.is_bracketed ? HL_STR("[") : HL_STR(""));
    hl_write_str(&w, url.host);
    hl_write_str(&w, url.is_bracketed ? HL_STR("]") : HL_STR(""));
    if (url.port != (url.is_https ? 443 : 80)) {
        HL_WRITE(&w, ":");
        hl_write_u64(&w, url.port);
    }
    size_t n = hl_writer_end(&w);
    out[n] = '\0';
    return n;
}

struct hl_str hl_destination_unseal(struct hl_sealer *sealer, const char *place,
    const struct hl_id *row, struct hl_str sealed, char *out)
{
    char *url = sealed.n > 0 ? malloc(sealed.n) : NULL;
    struct hl_str destination = {out, 0};
    size_t n;
    if (!url)
        return destination;
    if (hl_unseal(sealer, place, row, sealed, url, &n) == HL_OK)
        destination.n = hl_destination_write(out, (struct hl_str){url, n});
    explicit_bzero(url, sealed.n);
    free(url);
    return destination;
}

/* --- one of its receivers ------------------------------------------------------------------------ */

#define CUT          "\xe2\x80\xa6" /* … */
#define HEAD_SHOWN   4
#define TAIL_SHOWN   2
#define MIXED_MIN    12
#define UNBROKEN_MIN 20

/* Words of a path are short, or have breaks in them; ids and tokens have not. */
static bool is_token(struct hl_str s)
{
    size_t unbroken = 0, longest = 0;
    bool is_mixed = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        is_mixed |= (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
        unbroken = c == '-' || c == '_' || c == '.' ? 0 : unbroken + 1;
        longest = unbroken > longest ? unbroken : longest;
    }
    return (is_mixed && s.n >= MIXED_MIN) || longest >= UNBROKEN_MIN;
}

static void write_segment(struct hl_writer *w, struct hl_str s)
{
    if (!is_token(s)) {
        hl_write_str(w, s);
        return;
    }
    hl_write(w, s.p, HEAD_SHOWN);
    HL_WRITE(w, CUT);
    hl_write(w, s.p + s.n - TAIL_SHOWN, TAIL_SHOWN);
}

/* A path of many segments is cut between two of them. */
size_t hl_receiver_write_path(char out[HL_SHOWN_PATH_MAX + 8], struct hl_str text)
{
    struct hl_url url;
    if (!hl_url_parse(text, &url))
        return 0;
    struct hl_writer w = hl_writer_on(out, HL_SHOWN_PATH_MAX + 7);
    struct hl_str path = url.path_and_query;
    const char *query = path.n > 0 ? memchr(path.p, '?', path.n) : NULL;
    path.n = query ? (size_t)(query - path.p) : path.n;
    for (size_t used = 0, i = 0; i < path.n && used < HL_SHOWN_PATH_MAX;) {
        const char *slash = memchr(path.p + i + 1, '/', path.n - i - 1);
        struct hl_str s = {path.p + i, slash ? (size_t)(slash - path.p) - i : path.n - i};
        used += s.n + 3;
        if (used > HL_SHOWN_PATH_MAX) {
            HL_WRITE(&w, "/" CUT);
            break;
        }
        HL_WRITE(&w, "/");
        write_segment(&w, (struct hl_str){s.p + 1, s.n - 1});
        i += s.n;
    }
    if (query)
        HL_WRITE(&w, "?" CUT);
    size_t n = hl_writer_end(&w);
    out[n] = '\0';
    return n;
}

void hl_receiver_unseal(struct hl_sealer *sealer, const char *place, const struct hl_id *row,
    struct hl_str sealed, struct hl_receiver *out)
{
    char *url = sealed.n > 0 ? malloc(sealed.n) : NULL;
    size_t n;
    out->destination_n = out->path_n = 0;
    out->label[0] = '\0';
    if (!url)
        return;
    if (hl_unseal(sealer, place, row, sealed, url, &n) == HL_OK) {
        struct hl_str text = {url, n};
        uint32_t label = (uint32_t)hl_key_receiver(sealer->key, text);
        out->destination_n = hl_destination_write(out->destination, text);
        out->path_n = hl_receiver_write_path(out->path, text);
        snprintf(out->label, sizeof(out->label), "%08x", label);
    }
    explicit_bzero(url, sealed.n);
    free(url);
}

/* --- its summary --------------------------------------------------------------------------------- */

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
