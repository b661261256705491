/* utf8_check.c - UTF-8, a byte at a time.
 * Thread: any; pure.
 * Not here: decoding (base/utf8.c). */
#include "http/utf8_check.h"

static uint8_t after_lead(uint8_t byte)
{
    if (byte < 0x80)
        return HL_UTF8_START;
    if (byte < 0xc2)
        return HL_UTF8_BAD;
    if (byte < 0xe0)
        return HL_UTF8_LAST;
    switch (byte) {
    case 0xe0:
        return HL_UTF8_AFTER_E0;
    case 0xed:
        return HL_UTF8_AFTER_ED;
    case 0xf0:
        return HL_UTF8_AFTER_F0;
    case 0xf4:
        return HL_UTF8_AFTER_F4;
    default:
        return byte < 0xf0 ? HL_UTF8_TWO : byte < 0xf4 ? HL_UTF8_THREE : HL_UTF8_BAD;
    }
}

uint8_t hl_utf8_next(uint8_t state, uint8_t byte)
{
    static const struct {
        uint8_t low, high, next;
    } steps[] = {
        [HL_UTF8_LAST] = {0x80, 0xbf, HL_UTF8_START},
        [HL_UTF8_TWO] = {0x80, 0xbf, HL_UTF8_LAST},
        [HL_UTF8_THREE] = {0x80, 0xbf, HL_UTF8_TWO},
        [HL_UTF8_AFTER_E0] = {0xa0, 0xbf, HL_UTF8_LAST},
        [HL_UTF8_AFTER_ED] = {0x80, 0x9f, HL_UTF8_LAST},
        [HL_UTF8_AFTER_F0] = {0x90, 0xbf, HL_UTF8_TWO},
        [HL_UTF8_AFTER_F4] = {0x80, 0x8f, HL_UTF8_TWO},
        [HL_UTF8_BAD] = {1, 0, HL_UTF8_BAD},
    };
    if (state == HL_UTF8_START)
        return after_lead(byte);
    if (byte < steps[state].low || byte > steps[state].high)
        return HL_UTF8_BAD;
    return steps[state].next;
}
