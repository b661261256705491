/* field_value.c - reads and writes the values of single fields. Off the warm path, but for Date.
 * Thread: any; no state but the caller's; no allocation.
 * Promise: names of days and months in English, whatever the locale. */
#include "http/field_value.h"

#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/str.h"
#include "http/byte.h"
#include "http/writer.h"

/* ---- Date ---- */

static char *put_text(char *out, const char *text, size_t n)
{
    memcpy(out, text, n);
    return out + n;
}

/* Two digits and what follows them. */
static char *put_two(char *out, int v, char after)
{
    out[0] = (char)('0' + v / 10);
    out[1] = (char)('0' + v % 10);
    out[2] = after;
    return out + 3;
}

static void write_text(char *out, const struct tm *utc)
{
    out = put_text(out, &"SunMonTueWedThuFriSat"[3 * utc->tm_wday], 3);
    out = put_text(out, ", ", 2);
    out = put_two(out, utc->tm_mday, ' ');
    out = put_text(out, &"JanFebMarAprMayJunJulAugSepOctNovDec"[3 * utc->tm_mon], 3);
    *out++ = ' ';
    int year = utc->tm_year + 1900;
    put_two(out, year / 100, ' ');
    out = put_two(out + 2, year % 100, ' ');
    out = put_two(out, utc->tm_hour, ':');
    out = put_two(out, utc->tm_min, ':');
    out = put_two(out, utc->tm_sec, ' ');
    put_text(out, "GMT", 3);
}

struct hl_str hl_date_text(struct hl_date *date, int64_t second)
{
    if (date->second != second || date->text[0] == '\0') {
        time_t t = (time_t)second;
        struct tm utc;
        HL_ASSERT(gmtime_r(&t, &utc) && utc.tm_year >= -1900 && utc.tm_year <= 9999 - 1900);
        write_text(date->text, &utc);
        date->second = second;
    }
    return (struct hl_str){date->text, HL_DATE_TEXT};
}

struct hl_str hl_date_now(struct hl_date *date)
{
    return hl_date_text(date, time(NULL));
}

/* ---- Retry-After ---- */

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

/* ---- If-None-Match ---- */

bool hl_etag_is_known(struct hl_str if_none_match, struct hl_str etag)
{
    struct hl_str tag;
    while (hl_str_next_element(&if_none_match, &tag)) {
        if (hl_str_starts_with(tag, HL_STR("W/")))
            tag = (struct hl_str){tag.p + 2, tag.n - 2};
        if (hl_str_eq(tag, etag) || hl_str_eq(tag, HL_STR("*")))
            return true;
    }
    return false;
}

/* ---- Accept, Accept-Encoding ---- */

int hl_weight_read(struct hl_str parameter)
{
    if (parameter.n < 3 || (parameter.p[0] | 0x20) != 'q' || parameter.p[1] != '=')
        return 1000;
    int weight = parameter.p[2] == '0' ? 0 : 1000;
    for (size_t i = 4, unit = 100; weight < 1000 && i < parameter.n && unit > 0; i++, unit /= 10)
        if (hl_byte_is(parameter.p[i], HL_BYTE_DIGIT))
            weight += (int)unit * (parameter.p[i] - '0');
    return weight;
}

#define NOT_NAMED (-1)

/* The weight that a list names `coding` with, or NOT_NAMED. */
static int weight_in(struct hl_str accept_encoding, struct hl_str coding)
{
    struct hl_str element;
    while (hl_str_next_element(&accept_encoding, &element)) {
        const char *semicolon = memchr(element.p, ';', element.n);
        size_t n = semicolon ? (size_t)(semicolon - element.p) : element.n;
        struct hl_str weight = {NULL, 0};
        if (semicolon)
            weight = hl_str_trim((struct hl_str){semicolon + 1, element.n - n - 1});
        if (hl_str_eq_nocase(hl_str_trim((struct hl_str){element.p, n}), coding))
            return hl_weight_read(weight);
    }
    return NOT_NAMED;
}

bool hl_coding_is_preferred(struct hl_str accept_encoding, struct hl_str coding)
{
    int weight = weight_in(accept_encoding, coding);
    if (weight == NOT_NAMED)
        weight = weight_in(accept_encoding, HL_STR("*"));
    return weight > 0 && weight >= weight_in(accept_encoding, HL_STR("identity"));
}

bool hl_identity_is_refused(struct hl_str accept_encoding)
{
    int weight = weight_in(accept_encoding, HL_STR("identity"));
    if (weight == NOT_NAMED)
        weight = weight_in(accept_encoding, HL_STR("*"));
    return weight == 0;
}

/* ---- RateLimit ---- */

static void write_item(struct hl_writer *w, const char *policy, uint32_t number, struct hl_str name)
{
    HL_WRITE(w, "\"");
    hl_write_str(w, hl_str_from(policy));
    HL_WRITE(w, "\";");
    hl_write_str(w, name);
    HL_WRITE(w, "=");
    hl_write_u64(w, number);
}

static void write_param(struct hl_writer *w, struct hl_str name, uint32_t seconds)
{
    if (seconds == 0)
        return;
    HL_WRITE(w, ";");
    hl_write_str(w, name);
    HL_WRITE(w, "=");
    hl_write_u64(w, seconds);
}

void hl_rate_limit_write(char out[HL_RATE_LIMIT_MAX], const struct hl_rate_limit *limit)
{
    struct hl_writer writer = hl_writer_on(out, HL_RATE_LIMIT_MAX), *w = &writer;
    HL_WRITE(w, "RateLimit-Policy: ");
    write_item(w, limit->policy, limit->quota, HL_STR("q"));
    write_param(w, HL_STR("w"), limit->window_s);
    HL_WRITE(w, "\r\nRateLimit: ");
    write_item(w, limit->policy, 0, HL_STR("r"));
    write_param(w, HL_STR("t"), limit->wait_s);
    HL_WRITE(w, "\r\n");
    hl_write(w, "", 1);
    HL_ASSERT(hl_writer_end(w) > 0);
}
