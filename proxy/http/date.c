/* date.c - the time as Date has it. Thread: any, with a struct hl_date of its own; no allocation.
 * Promise: names of days and months in English, whatever the locale. */
#include "http/date.h"

#include <time.h>

#include "base/assert.h"

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
