/* representation.c - tags and compresses JSON answers.
 * Owns: the key of this process's tags. Thread: control.
 * Promise: an answer is called known only when its text is the one that the asker has; what is short of memory goes
 * out as it is; no answer but to a GET, so none with a token or a secret that was made for it, is compressed.
 * Not here: which answers are asked about (admin_answer.c, admin_response.c), what requests say (admin_connection.c). */
#include "api/representation.h"

#include <inttypes.h>
#include <stdio.h>
#include <zlib.h>

#include "base/random.h"
#include "http/field_value.h"
#include "worker/reply.h"

/* 41 KB of runs become 2.8 in 0.2 ms. What zlib takes else, a window of 32 KiB and twice these tables, is memory that the
 * kernel gives anew each time: 2.7 KB in 0.5 ms, or at level 1 3.4 KB in 0.3. */
#define LEVEL       6
#define WINDOW_BITS (13 + 16) /* 8 KiB, with gzip's frame */
#define MEM_LEVEL   7

/* ---- tags ---- */

/* Nobody without the key can make a text whose tag is another one's. Replicas have others: that costs an answer in full. */
static uint64_t tag_of(struct hl_str json)
{
    static uint64_t key[2];
    static bool has_key;
    if (!has_key)
        hl_random_fill(key, sizeof(key));
    has_key = true;
    return hl_siphash(key, json);
}

/* ---- gzip ---- */

static bool compress_whole(struct hl_str text, struct hl_buf *out)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)text.p, .avail_in = (uInt)text.n};
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_BITS, MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    bool is_done = hl_buf_reserve(out, deflateBound(&z, (uLong)text.n)) == HL_OK;
    if (is_done) {
        z.next_out = (Bytef *)out->p;
        z.avail_out = (uInt)out->cap;
        is_done = deflate(&z, Z_FINISH) == Z_STREAM_END;
        out->n = z.total_out;
    }
    deflateEnd(&z);
    return is_done;
}

static bool is_to_be_compressed(size_t n, const struct hl_taste *taste)
{
    return taste->accepts_gzip && n > 0 && n <= HL_GZIP_MAX &&
           (n >= HL_GZIP_FROM || taste->refuses_text);
}

void hl_representation_init(
    struct hl_representation *r, struct hl_str json, const struct hl_taste *taste)
{
    *r = (struct hl_representation){.is_known = false};
    hl_buf_init(&r->gzip, 0);
    if (!taste->is_read)
        return;
    char tag[24];
    snprintf(tag, sizeof(tag), "\"%016" PRIx64 "\"", tag_of(json));
    r->is_known = hl_etag_is_known(taste->if_none_match, hl_str_from(tag));
    r->is_compressed = !r->is_known && is_to_be_compressed(json.n, taste) &&
                       compress_whole(json, &r->gzip) &&
                       (r->gzip.n < json.n || taste->refuses_text);
    snprintf(r->fields, sizeof(r->fields), "ETag: W/%s\r\nVary: Accept-Encoding\r\n%s", tag,
        r->is_compressed ? "Content-Encoding: gzip\r\n" : "");
}

void hl_representation_fini(struct hl_representation *r)
{
    hl_buf_fini(&r->gzip);
}

void hl_representation_choose(struct hl_reply *reply, const struct hl_taste *taste)
{
    struct hl_representation r;
    if (!reply->is_json || reply->status != 200)
        return;
    hl_representation_init(&r, hl_buf_str(&reply->body), taste);
    if (hl_buf_append_str(&reply->fields, hl_str_from(r.fields)) == HL_OK) {
        if (r.is_known) {
            reply->status = 304;
            reply->body.n = 0;
        }
        if (r.is_compressed) {
            struct hl_buf text = reply->body;
            reply->body = r.gzip;
            r.gzip = text;
        }
    }
    hl_representation_fini(&r);
}
