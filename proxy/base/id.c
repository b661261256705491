/* id.c - UUID version 7 (RFC 9562 5.7): 48 bits of time, version, a 12-bit counter, variant, 62
 * random bits. One thread owns a source; the rest is pure. */
#include "base/id.h"

#include <endian.h>

#include "base/assert.h"
#include "base/base64.h"
#include "base/random.h"
#include "base/str.h"

#define COUNTER_MAX  0x0fff
#define COUNTER_SEED 0x07ff /* top bit clear: at least 2048 ids before a millisecond overflows */

void hl_id_source_init(struct hl_id_source *source)
{
    *source = (struct hl_id_source){.last_ms = -1};
}

static void draw(struct hl_id_source *source, void *out, uint16_t n)
{
    if (source->pool_left < n) {
        hl_random_fill(source->pool, sizeof(source->pool));
        source->pool_left = sizeof(source->pool);
    }
    source->pool_left -= n;
    memcpy(out, source->pool + source->pool_left, n);
}

static void begin_ms(struct hl_id_source *source, int64_t ms)
{
    uint16_t seed;
    draw(source, &seed, sizeof(seed));
    source->last_ms = ms;
    source->counter = seed & COUNTER_SEED;
}

struct hl_id hl_id_next(struct hl_id_source *source, int64_t wall_ms)
{
    struct hl_id id;
    HL_ASSERT(wall_ms >= 0 && wall_ms < (int64_t)1 << 48);
    /* A clock that is set back by a little does not set the ids back. One that was far ahead for a
     * moment must not keep them there. */
    if (wall_ms > source->last_ms || wall_ms < source->last_ms - HL_ID_BACK_MS)
        begin_ms(source, wall_ms);
    else if (source->counter == COUNTER_MAX)
        begin_ms(source, source->last_ms + 1);
    else
        source->counter++;

    uint64_t time = htobe64((uint64_t)source->last_ms << 16);
    memcpy(id.b, &time, 6);
    id.b[6] = (uint8_t)(0x70 | source->counter >> 8);
    id.b[7] = (uint8_t)source->counter;
    draw(source, id.b + 8, 8);
    id.b[8] = (uint8_t)(0x80 | (id.b[8] & 0x3f));
    return id;
}

void hl_id_format(const struct hl_id *id, char out[HL_ID_TEXT])
{
    char hex[2 * sizeof(id->b)];
    hl_hex_write(hex, id->b, sizeof(id->b));
    memcpy(out, hex, 8);
    memcpy(out + 9, hex + 8, 4);
    memcpy(out + 14, hex + 12, 4);
    memcpy(out + 19, hex + 16, 4);
    memcpy(out + 24, hex + 20, 12);
    out[8] = out[13] = out[18] = out[23] = '-';
}

static bool is_dash_after(int byte)
{
    return byte == 3 || byte == 5 || byte == 7 || byte == 9;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool hl_id_parse(struct hl_str text, struct hl_id *out)
{
    struct hl_id id;
    const char *p = text.p;
    if (text.n != HL_ID_TEXT)
        return false;
    for (int i = 0; i < 16; i++) {
        int high = hex_value(p[0]), low = hex_value(p[1]);
        if (high < 0 || low < 0)
            return false;
        id.b[i] = (uint8_t)(high << 4 | low);
        p += 2;
        if (is_dash_after(i) && *p++ != '-')
            return false;
    }
    *out = id;
    return true;
}

bool hl_id_eq(const struct hl_id *a, const struct hl_id *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

bool hl_id_is_nil(const struct hl_id *id)
{
    static const struct hl_id nil;
    return hl_id_eq(id, &nil);
}

int64_t hl_id_time_ms(const struct hl_id *id)
{
    int64_t ms = 0;
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | id->b[i];
    return ms;
}

struct hl_id hl_id_last(void)
{
    struct hl_id id;
    memset(id.b, 0xff, sizeof(id.b));
    return id;
}

/* RFC 9562 5.7: 48 bits of milliseconds come first. */
struct hl_id hl_id_first_at(int64_t ms)
{
    struct hl_id id = {{0}};
    for (int i = 0; i < 6; i++)
        id.b[5 - i] = (uint8_t)(ms >> (8 * i));
    return id;
}
