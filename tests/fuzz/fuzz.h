/* fuzz.h - what every target has in common: the entry point, claims that end the process when they
 * do not hold, and input that is consumed from its front. */
#ifndef HL_FUZZ_FUZZ_H
#define HL_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* One input: called by libFuzzer, or by replay.c. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding: says which claim does not hold, shows the notes, aborts. */
#define FUZZ_CHECK(claim, what) ((claim) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #claim, (what)))
/* For functions that return NULL or a fault. */
#define FUZZ_EXPECT(call)                                                                          \
    do {                                                                                           \
        const char *fault_of_call = (call);                                                        \
        FUZZ_CHECK(!fault_of_call, fault_of_call);                                                 \
    } while (0)
_Noreturn void fuzz_fail(const char *file, int line, const char *claim, const char *what);

/* Bytes that a finding is to show, under a label; the newest of that label. Borrowed until
 * fuzz_forget. */
void fuzz_note(const char *label, struct hl_str bytes);
void fuzz_forget(void);

struct fuzz_input {
    const char *p;
    size_t n;
};

static inline struct fuzz_input fuzz_input(const uint8_t *data, size_t size)
{
    return (struct fuzz_input){(const char *)data, size};
}

/* The next byte; 0 when there is none. */
static inline uint8_t fuzz_take_byte(struct fuzz_input *in)
{
    if (in->n == 0)
        return 0;
    in->n--;
    return (uint8_t)*in->p++;
}

/* Up to the next `separator`, which is taken too. */
struct hl_str fuzz_take_until(struct fuzz_input *in, char separator);

/* All that is left, in an allocation of exactly its size, so that a read beyond it is seen; free()
 * it. */
char *fuzz_take_rest(struct fuzz_input *in, size_t *n);

/* Sizes of pieces, drawn from a seed: the same seed cuts alike. */
struct fuzz_cuts {
    uint32_t state;
};

static inline struct fuzz_cuts fuzz_cuts(uint8_t seed)
{
    return (struct fuzz_cuts){seed * UINT32_C(2654435761) + 1};
}

/* The next piece of `left` bytes (at least 1): 1 to `left`, small ones more often. */
size_t fuzz_cut(struct fuzz_cuts *cuts, size_t left);

#endif
