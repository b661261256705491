/* attempt_report.c - see attempt_report.h. Four durations of four bytes, lowest first; address and content type,
 * each with a NUL behind it; the answer's beginning. */
#include "store/attempt_report.h"

#include <stdlib.h>

static char *put_duration(char *to, int32_t us)
{
    for (int i = 0; i < 4; i++)
        *to++ = (char)((uint32_t)us >> (8 * i));
    return to;
}

static int32_t take_duration(struct hl_str *from)
{
    uint32_t us = 0;
    for (int i = 0; i < 4; i++)
        us |= (uint32_t)(unsigned char)from->p[i] << (8 * i);
    *from = (struct hl_str){from->p + 4, from->n - 4};
    return (int32_t)us;
}

struct hl_str hl_attempt_report_pack(const struct hl_attempt_report *report, char *out)
{
    if (!report)
        return HL_STR("");
    size_t address_n = strlen(report->address) + 1, type_n = strlen(report->content_type) + 1;
    char *to = put_duration(out, report->name_us);
    to = put_duration(to, report->connect_us);
    to = put_duration(to, report->tls_us);
    to = put_duration(to, report->first_byte_us);
    to = (char *)memcpy(to, report->address, address_n) + address_n;
    to = (char *)memcpy(to, report->content_type, type_n) + type_n;
    to = (char *)memcpy(to, report->body, report->body_n) + report->body_n;
    return (struct hl_str){out, (size_t)(to - out)};
}

static bool take_text(struct hl_str *from, char *out, size_t size)
{
    const char *end = from->n > 0 ? memchr(from->p, '\0', from->n) : NULL;
    size_t n = end ? (size_t)(end - from->p) + 1 : 0;
    if (n == 0 || n > size)
        return false;
    memcpy(out, from->p, n);
    *from = (struct hl_str){from->p + n, from->n - n};
    return true;
}

struct hl_attempt_report *hl_attempt_report_unpack(struct hl_str packed)
{
    struct hl_attempt_report *r = packed.n >= 16 ? calloc(1, sizeof(*r)) : NULL;
    if (!r)
        return NULL;
    r->name_us = take_duration(&packed);
    r->connect_us = take_duration(&packed);
    r->tls_us = take_duration(&packed);
    r->first_byte_us = take_duration(&packed);
    if (!take_text(&packed, r->address, sizeof(r->address)) ||
        !take_text(&packed, r->content_type, sizeof(r->content_type)) ||
        packed.n > sizeof(r->body)) {
        free(r);
        return NULL;
    }
    r->body_n = (uint32_t)packed.n;
    memcpy(r->body, packed.p, packed.n);
    return r;
}
