/* envelope.c - builds and reads the JSON body of a webhook (contract 5).
 *
 * Owns: the text before the response, the open body file. Thread: the sender's.
 * Promise: the same bytes at every reading; the length is exact and known at once, because the run
 * counted the escaped length while the response passed (http/body_check.h).
 *
 * Where the contract leaves a choice: no body is "encoding":"none" and "response":null; an empty
 * body is the text "". A dropped body's reason response_too_large stands in place of app_error too,
 * which status_code says already; a run that ended for another reason keeps that one, for it stands
 * nowhere else. Where the app gave no answer, status_code, content_type and content_encoding are
 * null.
 *
 * Not here: signing (signature.c), when it is sent (sender.c). */
#include "webhook/envelope.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/tag.h"
#include "config/alert_setting.h"
#include "http/body_check.h"
#include "http/writer.h"
#include "store/body_file.h"
#include "store/lease.h"

#define HEAD_MAX (16 * 1024)
#define SCRATCH                                                                                    \
    (12 * 1024) /* of raw bytes; a multiple of 3, so that only the last base64 group is padded */

static enum hl_err measure(struct hl_envelope *e);
static enum hl_err write_head(struct hl_envelope *e);

enum hl_err hl_envelope_init(struct hl_envelope *e, const struct hl_leased *leased,
    const char *data_dir, const struct hl_payload *payload)
{
    *e = (struct hl_envelope){.leased = leased,
        .data_dir = data_dir,
        .payload = payload,
        .fd = -1,
        .is_verified = !data_dir};
    hl_buf_init(&e->head, HEAD_MAX);
    mbedtls_sha256_init(&e->sha);
    enum hl_err err = measure(e);
    if (err == HL_OK)
        err = write_head(e);
    if (err != HL_OK)
        hl_envelope_fini(e);
    return err;
}

void hl_envelope_fini(struct hl_envelope *e)
{
    hl_envelope_rest(e);
    hl_buf_fini(&e->head);
    mbedtls_sha256_free(&e->sha);
}

/* What an alert says is the whole of its body. */
static bool is_alert(const struct hl_envelope *e)
{
    return hl_is_alert_app(e->leased->app);
}

static bool is_thin(const struct hl_envelope *e, uint64_t size)
{
    const struct hl_payload *payload = e->payload;
    return payload && !is_alert(e) &&
           (payload->is_thin || (payload->max_body > 0 && size > payload->max_body));
}

/* Which encoding the envelope names, and how long the response is in it. */
static enum hl_err measure(struct hl_envelope *e)
{
    const struct hl_outcome *outcome = &e->leased->outcome;
    const struct hl_body *body = &outcome->body;
    bool is_kept = body->where == HL_BODY_INLINE || body->where == HL_BODY_FILE;
    e->has_url = is_thin(e, body->size);
    e->encoding = is_kept && !e->has_url ? outcome->encoding : HL_ENCODING_NONE;
    if (!is_kept || e->has_url)
        return HL_OK;
    if (body->where == HL_BODY_FILE && !e->data_dir)
        return HL_ERR_INVALID;
    if (body->size == 0)
        e->encoding = HL_ENCODING_TEXT; /* an empty text is not a JSON value */
    e->raw_size = body->size;
    switch (e->encoding) {
    case HL_ENCODING_JSON:
        e->encoded_size = body->size;
        e->is_copied = true;
        return HL_OK;
    case HL_ENCODING_TEXT:
        e->encoded_size = outcome->escaped_size;
        e->is_copied = e->encoded_size == e->raw_size; /* nothing in it needs an escape */
        return HL_OK;
    case HL_ENCODING_BASE64:
        e->encoded_size = hl_base64_size(body->size);
        return HL_OK;
    case HL_ENCODING_NONE:
        break;
    }
    return HL_ERR_INVALID;
}

static const char *reason_text(const struct hl_outcome *outcome)
{
    bool says_nothing_new =
        outcome->reason == HL_REASON_NONE || outcome->reason == HL_REASON_APP_ERROR;
    if (outcome->body.where == HL_BODY_DROPPED && says_nothing_new)
        return "response_too_large";
    if (outcome->body.where == HL_BODY_UNKEPT && says_nothing_new)
        return "response_not_kept";
    return hl_run_reason_text(outcome->reason);
}

/* A JSON string. */
static void write_string(struct hl_writer *w, struct hl_str s)
{
    HL_WRITE(w, "\"");
    if (s.n > 0 && (size_t)(w->end - w->p) >= 6 * s.n)
        w->p += hl_json_escape(w->p, s.p, s.n);
    HL_WRITE(w, "\"");
}

static void write_string_or_null(struct hl_writer *w, struct hl_str s)
{
    if (s.n > 0)
        write_string(w, s);
    else
        HL_WRITE(w, "null");
}

static void write_text(struct hl_writer *w, const char *text)
{
    hl_write_str(w, hl_str_from(text));
}

static void write_id(struct hl_writer *w, const struct hl_id *id)
{
    char text[HL_ID_TEXT];
    hl_id_format(id, text);
    hl_write(w, text, sizeof text);
}

/* Where the REST interface has the response; null where none is kept. */
static void write_result_url(struct hl_writer *w, const struct hl_envelope *e)
{
    const struct hl_leased *l = e->leased;
    enum hl_body_where where = l->outcome.body.where;
    struct hl_str base = e->payload->public_url;
    if (where != HL_BODY_INLINE && where != HL_BODY_FILE) {
        HL_WRITE(w, ",\"result_url\":null");
        return;
    }
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    HL_WRITE(w, ",\"result_url\":");
    write_string(w, base);
    w->p--; /* the path goes on inside the string */
    HL_WRITE(w, "/v2/projects/");
    hl_write_str(w, l->project);
    HL_WRITE(w, "/apps/");
    hl_write_str(w, l->app);
    HL_WRITE(w, "/runs/");
    write_id(w, &l->run_id);
    HL_WRITE(w, "/result\"");
}

/* Nothing in them needs an escape (base/tag.h). */
static void write_tags(struct hl_writer *w, struct hl_str tags)
{
    struct hl_tag tag;
    HL_WRITE(w, ",\"tags\":{");
    while (hl_tag_next(&tags, &tag)) {
        HL_WRITE(w, "\"");
        hl_write_str(w, tag.name);
        HL_WRITE(w, "\":\"");
        hl_write_str(w, tag.value);
        hl_write_str(w, tags.n > 0 ? HL_STR("\",") : HL_STR("\""));
    }
    HL_WRITE(w, "}");
}

static void write_run(struct hl_writer *w, const struct hl_leased *l)
{
    char when[HL_CLOCK_TEXT];
    hl_clock_format(l->outcome.finished_ms, when);
    HL_WRITE(w, "{\"type\":\"run.");
    write_text(w, hl_run_state_text(l->outcome.state));
    HL_WRITE(w, "\",\"run_id\":\"");
    write_id(w, &l->run_id);
    HL_WRITE(w, "\",\"timestamp\":\"");
    write_text(w, when);
    HL_WRITE(w, "\",\"project_id\":");
    write_string(w, l->project);
    HL_WRITE(w, ",\"app_name\":");
    write_string(w, l->app);
    if (l->tags.n > 0)
        write_tags(w, l->tags);
}

static void write_outcome(struct hl_writer *w, const struct hl_outcome *outcome)
{
    const char *reason = reason_text(outcome);
    HL_WRITE(w, ",\"status\":\"");
    write_text(w, hl_run_state_text(outcome->state));
    if (reason[0]) {
        HL_WRITE(w, "\",\"reason\":\"");
        write_text(w, reason);
    }
    HL_WRITE(w, "\",\"status_code\":");
    if (outcome->http_status != 0)
        hl_write_u64(w, outcome->http_status);
    else
        HL_WRITE(w, "null");
    HL_WRITE(w, ",\"content_type\":");
    write_string_or_null(w, hl_str_from(outcome->content_type));
    HL_WRITE(w, ",\"content_encoding\":");
    write_string_or_null(w, hl_str_from(outcome->content_encoding));
}

/* Up to what begins the response. */
static void write_encoding(struct hl_writer *w, enum hl_encoding encoding)
{
    static const char *const opens[] = {[HL_ENCODING_JSON] = "",
        [HL_ENCODING_TEXT] = "\"",
        [HL_ENCODING_BASE64] = "\"",
        [HL_ENCODING_NONE] = "null"};
    HL_WRITE(w, ",\"encoding\":\"");
    write_text(w, hl_encoding_text(encoding));
    HL_WRITE(w, "\",\"response\":");
    write_text(w, opens[encoding]);
}

/* The text of one whose room in the store was needed is gone. */
static void write_alert(struct hl_writer *w, const struct hl_envelope *e)
{
    if (e->raw_size > 0)
        return;
    HL_WRITE(w, "{\"type\":\"hookline.alert.unknown\",\"event_id\":\"");
    write_id(w, &e->leased->run_id);
    HL_WRITE(w, "\"}");
}

/* Names of members, times, ids and states. */
#define HEAD_FIXED 1024

/* By copying: printf took more than all else that is done for an envelope. */
static enum hl_err write_head(struct hl_envelope *e)
{
    const struct hl_leased *l = e->leased;
    bool is_string = e->encoding == HL_ENCODING_TEXT || e->encoding == HL_ENCODING_BASE64;
    size_t strings = l->project.n + l->app.n + strlen(l->outcome.content_type) +
                     strlen(l->outcome.content_encoding);
    if (e->has_url)
        strings += e->payload->public_url.n + l->project.n + l->app.n;
    size_t room = HEAD_FIXED + 6 * strings + l->tags.n + 4 * HL_TAGS_MAX;
    enum hl_err err = hl_buf_reserve(&e->head, room);
    if (err != HL_OK)
        return err;
    struct hl_writer w = hl_writer_on(e->head.p, room);
    if (is_alert(e)) {
        write_alert(&w, e);
        e->head.n = hl_writer_end(&w);
        e->tail = HL_STR("");
        e->size = e->head.n + e->encoded_size;
        return HL_OK;
    }
    write_run(&w, l);
    write_outcome(&w, &l->outcome);
    write_encoding(&w, e->encoding);
    if (e->has_url)
        write_result_url(&w, e);
    e->head.n = hl_writer_end(&w);
    HL_ASSERT(e->head.n > 0);
    e->tail = is_string ? HL_STR("\"}") : HL_STR("}");
    e->size = e->head.n + e->encoded_size + e->tail.n;
    return HL_OK;
}

static enum hl_err open_file(struct hl_envelope *e)
{
    const struct hl_body *body = &e->leased->outcome.body;
    if (body->where != HL_BODY_FILE || e->fd >= 0)
        return HL_OK;
    enum hl_err err = hl_body_file_open(e->data_dir, &body->file, &e->fd);
    if (err != HL_OK) {
        e->fd = -1;
        return err;
    }
    struct stat st;
    if (fstat(e->fd, &st) != 0)
        return hl_err_from_errno(errno);
    return (uint64_t)st.st_size == body->size ? HL_OK : HL_ERR_CORRUPT;
}

enum hl_err hl_envelope_rewind(struct hl_envelope *e)
{
    enum hl_err err = open_file(e);
    if (err != HL_OK)
        return err;
    e->head_at = e->tail_at = 0;
    e->raw_at = e->encoded_at = 0;
    e->unit_at = e->unit_n = 0;
    if (!e->is_verified)
        mbedtls_sha256_starts_ret(&e->sha, 0);
    return HL_OK;
}

void hl_envelope_rest(struct hl_envelope *e)
{
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
}

static ssize_t read_response(struct hl_envelope *e, char *out, size_t cap);

static size_t copy_text(struct hl_str from, size_t *at, char *out, size_t cap)
{
    size_t n = from.n - *at < cap ? from.n - *at : cap;
    memcpy(out, from.p + *at, n);
    *at += n;
    return n;
}

/* At least one unit of an encoding fits into `cap`. */
static ssize_t read_units(struct hl_envelope *e, char *out, size_t cap)
{
    size_t n = copy_text(hl_buf_str(&e->head), &e->head_at, out, cap);
    while (n < cap && e->raw_at < e->raw_size) {
        ssize_t part = read_response(e, out + n, cap - n);
        if (part < 0)
            return -1;
        if (part == 0)
            return (ssize_t)n; /* too little room for the next unit of the encoding */
        n += (size_t)part;
    }
    return (ssize_t)(n + copy_text(e->tail, &e->tail_at, out + n, cap - n));
}

/* libcurl may have as little as one byte of room left. */
ssize_t hl_envelope_read(struct hl_envelope *e, char *out, size_t cap)
{
    if (e->unit_at == e->unit_n && cap >= sizeof e->unit)
        return read_units(e, out, cap);
    if (e->unit_at == e->unit_n) {
        ssize_t got = read_units(e, e->unit, sizeof e->unit);
        if (got < 0)
            return -1;
        e->unit_at = 0;
        e->unit_n = (size_t)got;
    }
    return (ssize_t)copy_text((struct hl_str){e->unit, e->unit_n}, &e->unit_at, out, cap);
}

/* How many raw bytes surely fit encoded into `cap`; for base64 whole groups, so that padding stands
 * at the end only. */
static size_t raw_that_fits(const struct hl_envelope *e, size_t cap)
{
    if (e->is_copied)
        return cap;
    return e->encoding == HL_ENCODING_TEXT ? cap / 6 : cap / 4 * 3;
}

static bool fetch(struct hl_envelope *e, char *scratch, size_t n, const char **raw);
static bool has_ended_well(struct hl_envelope *e);

/* Some of the response, encoded. 0: `cap` has no room for a unit. */
static ssize_t read_response(struct hl_envelope *e, char *out, size_t cap)
{
    char scratch[SCRATCH];
    const char *raw;
    size_t n = raw_that_fits(e, cap);
    n = n < sizeof scratch ? n : sizeof scratch;
    if (n > e->raw_size - e->raw_at)
        n = (size_t)(e->raw_size - e->raw_at);
    if (n == 0)
        return 0;
    if (!fetch(e, scratch, n, &raw))
        return -1;
    size_t written;
    if (e->is_copied)
        memcpy(out, raw, written = n);
    else if (e->encoding == HL_ENCODING_TEXT)
        written = hl_json_escape(out, raw, n);
    else
        written = hl_base64_encode(out, raw, n);
    e->raw_at += n;
    e->encoded_at += written;
    return e->raw_at < e->raw_size || has_ended_well(e) ? (ssize_t)written : -1;
}

static bool read_file(struct hl_envelope *e, char *out, size_t n)
{
    for (size_t have = 0; have < n;) {
        ssize_t got = pread(e->fd, out + have, n - have, (off_t)(e->raw_at + have));
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        have += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* The next `n` raw bytes: in place when they are in memory, else read into `scratch`. */
static bool fetch(struct hl_envelope *e, char *scratch, size_t n, const char **raw)
{
    const struct hl_body *body = &e->leased->outcome.body;
    *raw = scratch;
    if (body->where == HL_BODY_INLINE) {
        *raw = body->bytes + e->raw_at;
        e->is_verified = e->is_verified || hl_body_is_intact(body);
        return e->is_verified;
    }
    if (!read_file(e, scratch, n))
        return false;
    if (!e->is_verified)
        mbedtls_sha256_update_ret(&e->sha, (const unsigned char *)*raw, n);
    return true;
}

static bool has_ended_well(struct hl_envelope *e)
{
    if (e->encoded_at != e->encoded_size)
        return false;
    if (e->is_verified)
        return true;
    uint8_t sum[32];
    mbedtls_sha256_finish_ret(&e->sha, sum);
    e->is_verified = memcmp(sum, e->leased->outcome.body.digest, sizeof sum) == 0;
    return e->is_verified;
}

/* ---- what it begins with ---- */

/* No character and no group of base64 is cut through. */
static size_t whole_units(enum hl_encoding encoding, struct hl_str s)
{
    size_t n = s.n;
    if (encoding == HL_ENCODING_BASE64)
        return n - n % 3;
    for (int i = 0; i < 4 && n > 0; i++)
        if (((unsigned char)s.p[--n] & 0xc0) != 0x80)
            return ((unsigned char)s.p[n] & 0x80) != 0 ? n : n + 1;
    return s.n;
}

static enum hl_err append_encoded(struct hl_buf *out, enum hl_encoding encoding, struct hl_str raw)
{
    if (encoding == HL_ENCODING_JSON)
        return hl_buf_append_str(out, raw);
    bool is_text = encoding == HL_ENCODING_TEXT;
    enum hl_err err = hl_buf_reserve(out, is_text ? 6 * raw.n : (size_t)hl_base64_size(raw.n) + 4);
    if (err)
        return err;
    out->n += is_text ? hl_json_escape(out->p + out->n, raw.p, raw.n)
                      : hl_base64_encode(out->p + out->n, raw.p, raw.n);
    return HL_OK;
}

enum hl_err hl_envelope_preview(
    const struct hl_envelope *e, struct hl_str first, struct hl_buf *out, bool *is_whole)
{
    *is_whole = first.n >= e->raw_size;
    first.n = *is_whole ? (size_t)e->raw_size : whole_units(e->encoding, first);
    enum hl_err err = hl_buf_append_str(out, hl_buf_str(&e->head));
    if (!err && first.n > 0)
        err = append_encoded(out, e->encoding, first);
    return err || !*is_whole ? err : hl_buf_append_str(out, e->tail);
}
