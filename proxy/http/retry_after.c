/* retry_after.c - see retry_after.h. Thread: any. */
#include "http/retry_after.h"

#include <time.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/byte.h"

static uint64_t read_seconds(struct hl_str value)
{
    uint64_t ms = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (!hl_byte_is(value.p[i], HL_BYTE_DIGIT))
            return 0;
        uint64_t digit_ms = 1000 * (uint64_t)(value.p[i] - '0');
        if (__builtin_mul_overflow(ms, 10, &ms) || __builtin_add_overflow(ms, digit_ms, &ms))
            ms = UINT64_MAX;
    }
    return ms;
}

static uint64_t read_date(struct hl_str value, int64_t now_ms)
{
    static const char *const forms[] = {
        "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"};
    char text[40];
    if (value.n >= sizeof(text))
        return 0;
    memcpy(text, value.p, value.n);
    text[value.n] = '\0';
    for (size_t i = 0; i < HL_ARRAY_LEN(forms); i++) {
        struct tm tm = {0};
        const char *end = strptime(text, forms[i], &tm);
        int64_t left_ms = end && *end == '\0' ? (int64_t)timegm(&tm) * 1000 - now_ms : 0;
        if (left_ms > 0)
            return (uint64_t)left_ms;
    }
    return 0;
}

uint64_t hl_retry_after_ms(struct hl_str value, int64_t now_ms)
{
    bool is_seconds = value.n > 0 && hl_byte_is(value.p[0], HL_BYTE_DIGIT);
    return is_seconds ? read_seconds(value) : read_date(value, now_ms);
}
