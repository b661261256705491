/* fuzz_sse.c - the scanner that says where a comment may be put into an event stream.
 * Input: a byte that cuts, then the stream.
 * Claims: it says the same wherever the stream is cut, and what a naive reading of the whole says. */
#include <stdlib.h>

#include "expect.h"
#include "fuzz.h"
#include "http/sse.h"

/* The state after each piece, against the naive reading. */
static void scan_in_pieces(const char *p, size_t n, struct fuzz_cuts cuts)
{
    struct hl_sse sse;
    hl_sse_init(&sse);
    for (size_t at = 0; at < n;) {
        size_t piece = fuzz_cut(&cuts, n - at);
        char *copy = malloc(piece); /* a read beyond the piece is seen */
        if (!copy)
            abort();
        memcpy(copy, p + at, piece);
        hl_sse_scan(&sse, copy, piece);
        free(copy);
        at += piece;
        fuzz_note("up to here", (struct hl_str){p, at});
        FUZZ_CHECK(hl_sse_is_between_events(&sse) == expect_is_between_events(p, at),
            "not the naive answer");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_input(data, size);
    struct fuzz_cuts cuts = fuzz_cuts(fuzz_take_byte(&input));
    fuzz_forget();
    FUZZ_CHECK(expect_is_between_events(input.p, 0), "nothing has come yet");
    scan_in_pieces(input.p, input.n < 512 ? input.n : 512, cuts);

    struct hl_sse sse;
    hl_sse_init(&sse);
    hl_sse_scan(&sse, input.p, input.n);
    FUZZ_CHECK(
        hl_sse_is_between_events(&sse) == expect_is_between_events(input.p, input.n), "the whole");
    return 0;
}
