/* id.h - run and delivery ids: UUID version 7 (RFC 9562 5.7), so that ids sort by time. */
#ifndef HL_BASE_ID_H
#define HL_BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

struct hl_str;

struct hl_id {
    uint8_t b[16];
};

#define HL_ID_TEXT 36 /* characters of the text form, without NUL */

/* What one thread needs to make ids without a system call each: a pool of random bytes and the last
 * timestamp. Ids of one source grow strictly (RFC 9562 6.2, method 1: a 12-bit counter in rand_a,
 * seeded at random each new millisecond with its top bit clear; on overflow the timestamp runs
 * ahead by one), unless the clock is set back by more than HL_ID_BACK_MS: then ids follow it. */
#define HL_ID_BACK_MS 5000

struct hl_id_source {
    int64_t last_ms;
    uint16_t counter;
    uint16_t pool_left;
    uint8_t pool[2048];
};

void hl_id_source_init(struct hl_id_source *source);
struct hl_id hl_id_next(struct hl_id_source *source, int64_t wall_ms);

/* Exactly HL_ID_TEXT lowercase characters, no NUL. */
void hl_id_format(const struct hl_id *id, char out[HL_ID_TEXT]);
/* Any UUID in 8-4-4-4-12 form, either case. */
bool hl_id_parse(struct hl_str text, struct hl_id *out);
bool hl_id_eq(const struct hl_id *a, const struct hl_id *b);
bool hl_id_is_nil(const struct hl_id *id);
/* One of `n` places, 65,536 at most, for what is remembered by ids of ours: their last bytes are random. */
static inline unsigned hl_id_place(const struct hl_id *id, unsigned n)
{
    return ((unsigned)id->b[14] << 8 | id->b[15]) % n;
}
/* The time inside. */
int64_t hl_id_time_ms(const struct hl_id *id);
/* The id behind all others, and the first one of a moment. */
struct hl_id hl_id_last(void);
struct hl_id hl_id_first_at(int64_t ms);

#endif
