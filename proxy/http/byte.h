/* byte.h - which grammar a byte belongs to (RFC 9110 5.6, RFC 3986 2), one at a time by table,
 * eight at a time by arithmetic. */
#ifndef HL_HTTP_BYTE_H
#define HL_HTTP_BYTE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    HL_BYTE_TOKEN = 0x01,  /* tchar */
    HL_BYTE_FIELD = 0x02,  /* of a field value: HTAB, SP, VCHAR, obs-text */
    HL_BYTE_TARGET = 0x04, /* of a request target: VCHAR but '#' */
    HL_BYTE_HOST = 0x08, /* of a registered name: unreserved, sub-delims but ',' (that would read as
                            a list of hosts) */
    HL_BYTE_HEX = 0x10,  /* hex digit, either case */
    HL_BYTE_UNDERSCORE = 0x20, /* '_' */
    HL_BYTE_DIGIT = 0x40,      /* decimal digit */
};

extern const uint8_t hl_byte_class[256];

static inline bool hl_byte_is(char c, unsigned classes)
{
    return (hl_byte_class[(unsigned char)c] & classes) != 0;
}

/* The value of a hex digit, or -1. */
static inline int hl_byte_hex(char c)
{
    if (!hl_byte_is(c, HL_BYTE_HEX))
        return -1;
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Eight bytes as one word, the first byte lowest. */
static inline uint64_t hl_word_load(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

#define HL_WORD_ONES  UINT64_C(0x0101010101010101)
#define HL_WORD_HIGHS UINT64_C(0x8080808080808080)

/* The next two mark bytes of `w` by their high bit. Above the first marked byte there may be false
 * marks (a borrow runs upward), so only "is there one" and "which is first" may be asked; marks of
 * several calls may be or-ed. */

/* Bytes below `limit`, which is at most 0x80. */
static inline uint64_t hl_word_below(uint64_t w, uint8_t limit)
{
    return (w - HL_WORD_ONES * limit) & ~w & HL_WORD_HIGHS;
}

static inline uint64_t hl_word_equal(uint64_t w, uint8_t byte)
{
    return hl_word_below(w ^ (HL_WORD_ONES * byte), 1);
}

/* Index of the first marked byte; `marks` is not 0. */
static inline unsigned hl_word_first(uint64_t marks)
{
    return (unsigned)__builtin_ctzll(marks) / 8;
}

#endif
