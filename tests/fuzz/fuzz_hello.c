/* fuzz_hello.c - the joining of a client's hello that comes in several records of TLS.
 * Input: a byte that cuts; a byte that says what follows: bytes as a client sends them, or (odd) a
 * recipe: the length of a hello in three bytes, then the lengths of the records that it comes in, two
 * bytes each; behind them comes what is left.
 * Claims, after every piece: the verdict is a naive reader's, who keeps the bytes that came and joins
 * copies of them; what is held is one record with what was joined, then the bytes behind it as they
 * came, and never more than two records. */
#include <mbedtls/ssl.h>
#include <stdlib.h>

#include "fuzz.h"
#include "tls/hello.h"

#define HEAD        5
#define LONGEST     16384 /* RFC 5246 6.2.1 */
#define MOST_PIECES 40

_Static_assert(MBEDTLS_SSL_IN_CONTENT_LEN == LONGEST, "mbedTLS takes records of full length");

/* ---- the naive reader ---- */

struct reading {
    enum hl_tls_hello verdict;
    unsigned char joint[LONGEST];
    size_t joint_n;
    size_t used; /* bytes of the records that are in there */
};

/* What the record at `p` says before its content is looked at. */
static enum hl_tls_hello judge_record(const unsigned char *p, size_t n)
{
    if (n >= 1 && p[0] != 22)
        return HL_TLS_HELLO_WRONG;
    if (n >= 2 && p[1] != 3)
        return HL_TLS_HELLO_WRONG;
    if (n < HEAD)
        return HL_TLS_HELLO_PARTIAL;
    size_t length = p[3] * 256u + p[4];
    if (length == 0 || length > LONGEST)
        return HL_TLS_HELLO_WRONG;
    return n - HEAD < length ? HL_TLS_HELLO_PARTIAL : HL_TLS_HELLO_WHOLE;
}

/* What the beginning of a message says. */
static enum hl_tls_hello judge_message(const unsigned char *p, size_t n)
{
    if (p[0] != 1)
        return HL_TLS_HELLO_WRONG;
    if (n < 4)
        return HL_TLS_HELLO_PARTIAL;
    size_t length = 4 + p[1] * 65536u + p[2] * 256u + p[3];
    if (length > LONGEST)
        return HL_TLS_HELLO_WRONG;
    return n < length ? HL_TLS_HELLO_PARTIAL : HL_TLS_HELLO_WHOLE;
}

static void read_naively(struct reading *r, const unsigned char *p, size_t n)
{
    r->joint_n = r->used = 0;
    do {
        r->verdict = judge_record(p + r->used, n - r->used);
        if (r->verdict != HL_TLS_HELLO_WHOLE)
            return;
        size_t length = p[r->used + 3] * 256u + p[r->used + 4];
        r->verdict = HL_TLS_HELLO_WRONG;
        if (length > LONGEST - r->joint_n)
            return;
        memcpy(r->joint + r->joint_n, p + r->used + HEAD, length);
        r->joint_n += length;
        r->used += HEAD + length;
        r->verdict = judge_message(r->joint, r->joint_n);
    } while (r->verdict == HL_TLS_HELLO_PARTIAL);
}

/* ---- what a client sends ---- */

static size_t take_number(struct fuzz_input *in, int bytes)
{
    size_t number = 0;
    while (bytes-- > 0)
        number = number * 256 + fuzz_take_byte(in);
    return number;
}

/* A hello in records, as long as there are lengths; then what is left. Owned. */
static unsigned char *follow_recipe(struct fuzz_input *in, size_t *n)
{
    size_t left = 4 + take_number(in, 3) % (2 * LONGEST), at = 0;
    unsigned char *out = malloc(left + (HEAD + 1) * in->n + 1);
    if (!out)
        abort();
    const unsigned char begin[] = {
        1, 0, (unsigned char)((left - 4) / 256), (unsigned char)((left - 4) % 256)};
    *n = 0;
    for (size_t length; left > 0 && (length = take_number(in, 2)) > 0;) {
        length = length < left ? length : left;
        const unsigned char head[] = {
            22, 3, 1, (unsigned char)(length / 256), (unsigned char)(length % 256)};
        memcpy(out + *n, head, HEAD);
        *n += HEAD;
        left -= length;
        for (; length > 0; length--, at++)
            out[(*n)++] = at < sizeof(begin) ? begin[at] : (unsigned char)(at * 7);
    }
    if (in->n > 0)
        memcpy(out + *n, in->p, in->n);
    *n += in->n;
    return out;
}

/* ---- the judgement ---- */

static void check(const struct hl_buf *held, const unsigned char *p, size_t n, enum hl_tls_hello is)
{
    static struct reading should;
    read_naively(&should, p, n);
    FUZZ_CHECK(is == should.verdict, "another verdict");
    if (is == HL_TLS_HELLO_WRONG)
        return;
    const unsigned char *q = (const unsigned char *)held->p;
    size_t first = should.joint_n ? HEAD + should.joint_n : 0;
    FUZZ_CHECK(is != HL_TLS_HELLO_PARTIAL || held->n < 2 * (HEAD + LONGEST), "too much is held");
    FUZZ_CHECK(held->n == first + n - should.used, "bytes were lost or made");
    FUZZ_CHECK(memcmp(q + first, p + should.used, n - should.used) == 0, "what follows is other");
    if (first == 0)
        return;
    FUZZ_CHECK(memcmp(q, p, 3) == 0, "the record is of another kind");
    FUZZ_CHECK(q[3] * 256u + q[4] == should.joint_n, "the record has another length");
    FUZZ_CHECK(memcmp(q + HEAD, should.joint, should.joint_n) == 0, "the hello is another");
}

/* In an allocation of exactly its size, so that a read beyond it is seen. */
static void add(struct hl_buf *held, const unsigned char *p, size_t n)
{
    held->p = realloc(held->p, held->n + n);
    if (!held->p)
        abort();
    memcpy(held->p + held->n, p, n);
    held->cap = held->n += n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_input(data, size);
    struct fuzz_cuts cuts = fuzz_cuts(fuzz_take_byte(&input));
    bool is_recipe = fuzz_take_byte(&input) % 2;
    struct hl_buf held;
    size_t n = input.n, pieces = 0;
    unsigned char *p =
        is_recipe ? follow_recipe(&input, &n) : (unsigned char *)fuzz_take_rest(&input, &n);
    fuzz_forget();
    fuzz_note("in", (struct hl_str){(char *)p, n});

    hl_buf_init(&held, 0);
    enum hl_tls_hello verdict = HL_TLS_HELLO_PARTIAL;
    for (size_t at = 0; at < n && verdict == HL_TLS_HELLO_PARTIAL;) {
        size_t piece = ++pieces < MOST_PIECES ? fuzz_cut(&cuts, n - at) : n - at;
        add(&held, p + at, piece);
        at += piece;
        verdict = hl_tls_hello_join(&held);
        check(&held, p, at, verdict);
    }
    hl_buf_fini(&held);
    free(p);
    return 0;
}
