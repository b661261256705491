/* fuzz_chunked.c - the reader of the chunked coding, and its writer.
 * Input: a byte that cuts, a byte that bounds the trailer section, then the coded body.
 * Claims: the same data, trailers and end wherever the bytes are cut; what is accepted is a body by
 * the independent reader, too, and the same one; what is written is read back. */
#include <stdlib.h>

#include "expect.h"
#include "fuzz.h"
#include "http/chunked.h"
#include "http/head.h"
#include "strict_grammar.h"
#include "strict_http.h"

#define HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

/* What a reading came to. */
struct reading {
    enum hl_chunk_event end; /* END, BAD, or MORE */
    char *body;
    size_t body_n, used;
    struct hl_chunk_reader reader; /* holds the trailers */
};

/* llhttp behind a head that announces a chunked body. */
static const struct hl_parser *after_head(void)
{
    static struct hl_parser parser;
    static struct hl_head head;
    size_t n;
    hl_parser_read_response(&parser, HEAD, sizeof HEAD - 1, &head, &n);
    return &parser;
}

static void read_all(
    struct reading *r, const char *p, size_t n, size_t max_trailer, struct fuzz_cuts *cuts)
{
    *r = (struct reading){.end = HL_CHUNK_MORE, .body = malloc(n + 1)};
    if (!r->body)
        abort();
    hl_chunk_reader_init(&r->reader, after_head(), max_trailer);
    for (size_t at = 0; at < n && r->end == HL_CHUNK_MORE;) {
        size_t piece = cuts ? fuzz_cut(cuts, n - at) : n, left = piece;
        const char *q = p + at;
        struct hl_str data;
        while ((r->end = hl_chunk_read(&r->reader, &q, &left, &data)) == HL_CHUNK_DATA) {
            FUZZ_CHECK(data.n > 0, "data without bytes");
            memcpy(r->body + r->body_n, data.p, data.n);
            r->body_n += data.n;
        }
        FUZZ_CHECK(r->end != HL_CHUNK_MORE || left == 0, "MORE with bytes left");
        at += piece;
        r->used = at - left;
    }
}

static void reading_fini(struct reading *r)
{
    hl_chunk_reader_fini(&r->reader);
    free(r->body);
}

static void check_same(const struct reading *a, const struct reading *b)
{
    FUZZ_CHECK(a->end == b->end, "cut elsewhere, it ends otherwise");
    if (a->end == HL_CHUNK_BAD)
        return;
    FUZZ_CHECK(a->used == b->used, "cut elsewhere, it ends elsewhere");
    FUZZ_CHECK(a->body_n == b->body_n && memcmp(a->body, b->body, a->body_n) == 0,
        "cut elsewhere, it is another body");
    FUZZ_CHECK(strict_same(hl_buf_str(&a->reader.trailer), hl_buf_str(&b->reader.trailer)),
        "cut elsewhere, it has other trailers");
}

/* Frames what was read as hookline does, behind a head. Owned. */
static char *frame(const struct reading *r, struct fuzz_cuts *cuts, size_t *n)
{
    struct hl_str trailer = hl_buf_str(&r->reader.trailer);
    char *out = malloc(sizeof HEAD + r->body_n * (HL_CHUNK_HEAD_MAX + 3) + trailer.n + 8);
    if (!out)
        abort();
    char *to = mempcpy(out, HEAD, sizeof HEAD - 1);
    for (size_t at = 0; at < r->body_n;) {
        size_t piece = fuzz_cut(cuts, r->body_n - at);
        to += hl_chunk_head_write(to, piece);
        to = mempcpy(mempcpy(to, r->body + at, piece), "\r\n", 2);
        at += piece;
    }
    to = mempcpy(to, "0\r\n", 3);
    if (trailer.n)
        to = mempcpy(to, trailer.p, trailer.n);
    to = mempcpy(to, "\r\n", 2);
    *n = (size_t)(to - out);
    return out;
}

/* The independent reader's view of what came and of what goes on. */
static void check_meaning(const struct reading *r, const char *p, struct fuzz_cuts *cuts)
{
    static struct strict_message in, out;
    size_t head_n = sizeof HEAD - 1, n;
    char *whole = malloc(head_n + r->used);
    if (!whole)
        abort();
    memcpy(whole, HEAD, head_n);
    memcpy(whole + head_n, p, r->used);
    enum strict_result result = strict_read_response(
        &in, (struct hl_str){whole, head_n + r->used}, true, HL_STR("GET"), STRICT_PEER);
    fuzz_note("why", hl_str_from(in.why));
    FUZZ_CHECK(result == STRICT_WHOLE && in.size == head_n + r->used, "not one body");
    FUZZ_CHECK(strict_same(in.body, (struct hl_str){r->body, r->body_n}), "another body");

    char *framed = frame(r, cuts, &n);
    fuzz_note("out", (struct hl_str){framed, n});
    result =
        strict_read_response(&out, (struct hl_str){framed, n}, true, HL_STR("GET"), STRICT_OURS);
    FUZZ_CHECK(result == STRICT_WHOLE && out.size == n, "what goes on is not one body");
    FUZZ_EXPECT(expect_same_body(&in, &out, false));
    strict_fini(&in);
    strict_fini(&out);
    free(framed);
    free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_input(data, size);
    struct fuzz_cuts cuts = fuzz_cuts(fuzz_take_byte(&input));
    size_t max_trailer = (size_t)fuzz_take_byte(&input) * 8, n;
    char *p = fuzz_take_rest(&input, &n);
    struct reading whole, pieces;
    fuzz_forget();
    fuzz_note("in", (struct hl_str){p, n});

    read_all(&whole, p, n, max_trailer, NULL);
    read_all(&pieces, p, n, max_trailer, &cuts);
    check_same(&whole, &pieces);
    if (whole.end == HL_CHUNK_END)
        check_meaning(&whole, p, &cuts);
    reading_fini(&whole);
    reading_fini(&pieces);
    free(p);
    return 0;
}
