/* byte.h - which grammar a byte belongs to (RFC 9110 5.6, RFC 3986 2), one at a time by table,
 * sixteen at a time by comparison. */
#ifndef HL_HTTP_BYTE_H
#define HL_HTTP_BYTE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    HL_BYTE_TOKEN = 0x01,  /* tchar */
    HL_BYTE_FIELD = 0x02,  /* of a field value: HTAB, SP, VCHAR, obs-text */
    HL_BYTE_TARGET = 0x04, /* of a request target: VCHAR but '#' */
    /* Of a registered name: unreserved, sub-delims but ',' (that would read as a list of hosts). */
    HL_BYTE_HOST = 0x08,
    HL_BYTE_HEX = 0x10,        /* hex digit, either case */
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

/* Sixteen bytes at once. Comparisons of vectors give 0xff for each byte where they hold, 0
 * elsewhere: marks, which may be combined. */
typedef uint8_t hl_block __attribute__((vector_size(16)));
#define HL_BLOCK 16

static inline hl_block hl_block_load(const char *p)
{
    hl_block block;
    memcpy(&block, p, sizeof block);
    return block;
}

/* Controls and DEL: what may not stand in a field value, and HTAB, which may. */
static inline hl_block hl_block_controls(hl_block block)
{
    return (hl_block)(block < 0x20) | (hl_block)(block == 0x7f);
}

/* Letters of either case, and '-'. */
static inline hl_block hl_block_letters(hl_block block)
{
    hl_block from_a = (block | 0x20) - 'a';
    return (hl_block)(from_a < 26) | (hl_block)(block == '-');
}

/* What may not stand in a request target: all but VCHAR, and '#'. */
static inline hl_block hl_block_no_target(hl_block block)
{
    return (hl_block)((hl_block)(block - 0x21) > 0x7e - 0x21) | (hl_block)(block == '#');
}

/* What a JSON string cannot hold as it is: controls, '"' and '\\'. */
static inline hl_block hl_block_escaped(hl_block block)
{
    return (hl_block)(block < 0x20) | (hl_block)(block == '"') | (hl_block)(block == '\\');
}

/* Bit i is set when byte i is marked. */
static inline unsigned hl_block_mask(hl_block marks)
{
#ifdef __SSE2__
    return (unsigned)_mm_movemask_epi8((__m128i)marks);
#else
    unsigned mask = 0;
    for (unsigned i = 0; i < HL_BLOCK; i++)
        mask |= (marks[i] & 1u) << i;
    return mask;
#endif
}

/* Index of the first byte that is marked; HL_BLOCK if none is. */
static inline unsigned hl_block_first(hl_block marks)
{
    return (unsigned)__builtin_ctz(hl_block_mask(marks) | 1u << HL_BLOCK);
}

/* CR and LF. */
static inline hl_block hl_block_line_ends(hl_block block)
{
    return (hl_block)(block == '\n') | (hl_block)(block == '\r');
}

/* The first byte in p[0..end) that `marks` marks, or `end`; `is_marked` says the same of one byte. What the last block has
 * of bytes before `p` is looked at again, and is none that is looked for. Both are inlined where it is called. */
__attribute__((always_inline)) static inline const char *hl_byte_find(
    const char *p, const char *end, hl_block (*marks)(hl_block block), bool (*is_marked)(char byte))
{
    if (end - p >= HL_BLOCK) {
        const char *last = end - HL_BLOCK;
        for (; p < last; p += HL_BLOCK) {
            unsigned n = hl_block_first(marks(hl_block_load(p)));
            if (n < HL_BLOCK)
                return p + n;
        }
        return last + hl_block_first(marks(hl_block_load(last)));
    }
    while (p < end && !is_marked(*p))
        p++;
    return p;
}

static inline bool hl_byte_ends_target(char byte)
{
    return !hl_byte_is(byte, HL_BYTE_TARGET);
}

/* The first byte in p[0..end) that may not stand in a request target, or `end`. */
static inline const char *hl_byte_target_end(const char *p, const char *end)
{
    return hl_byte_find(p, end, hl_block_no_target, hl_byte_ends_target);
}

static inline bool hl_byte_ends_line(char byte)
{
    return byte == '\n' || byte == '\r';
}

/* The first CR or LF in p[0..end), or `end`. */
static inline const char *hl_byte_line_end(const char *p, const char *end)
{
    return hl_byte_find(p, end, hl_block_line_ends, hl_byte_ends_line);
}

#endif
