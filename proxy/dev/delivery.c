/* delivery.c - see delivery.h. Thread: main. */
#include "dev/delivery.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/str.h"
#include "dev/receiver.h"

void hl_dev_inspection_begin(struct hl_dev_inspection *i)
{
    hl_dev_inspection_end(i);
    *i = (struct hl_dev_inspection){.n = 0};
}

void hl_dev_inspection_end(struct hl_dev_inspection *i)
{
    if (i->has_hmac)
        hl_signature_fini(&i->hmac);
    i->has_hmac = false;
}

void hl_dev_inspection_field(struct hl_dev_inspection *i, struct hl_str name, struct hl_str value)
{
    struct {
        const char *name;
        char *out;
        size_t size;
    } wanted[] = {{"X-Request-Id", i->run_id, sizeof(i->run_id)},
        {"X-Service-Webhook-Timestamp", i->timestamp, sizeof(i->timestamp)},
        {"X-Service-Webhook-Signature", i->signature, sizeof(i->signature)}};
    for (size_t k = 0; k < HL_ARRAY_LEN(wanted); k++)
        if (hl_str_eq_nocase(name, hl_str_from(wanted[k].name)) && value.n < wanted[k].size)
            snprintf(wanted[k].out, wanted[k].size, "%.*s", HL_STR_ARG(value));
}

void hl_dev_inspection_head(struct hl_dev_inspection *i, struct hl_str secret)
{
    struct hl_id id;
    uint64_t seconds;
    if (!hl_id_parse(hl_str_from(i->run_id), &id)) {
        i->run_id[0] = '\0'; /* it is shown */
        return;
    }
    i->has_hmac = hl_str_to_u64(hl_str_from(i->timestamp), &seconds) &&
                  hl_signature_init(&i->hmac, secret) == HL_OK;
    if (i->has_hmac)
        hl_signature_begin(&i->hmac, &id, (int64_t)seconds);
}

void hl_dev_inspection_body(struct hl_dev_inspection *i, struct hl_str bytes)
{
    size_t room = sizeof(i->beginning) - i->n, n = bytes.n < room ? bytes.n : room;
    memcpy(i->beginning + i->n, bytes.p, n);
    i->n += n;
    if (i->has_hmac)
        hl_signature_feed(&i->hmac, bytes.p, bytes.n);
}

static const char *judge(struct hl_dev_inspection *i)
{
    struct hl_signature_text text;
    if (!i->signature[0])
        return "not signed";
    if (!i->has_hmac)
        return "signature without a run id or timestamp";
    hl_signature_end(&i->hmac, &text);
    bool is_good = strncmp(i->signature, "v1,", 3) == 0 && strcmp(i->signature + 3, text.hex) == 0;
    if (is_good)
        return "signature verified";
    /* Of a call that brings a secret of its own nothing more can be known here. */
    return "signed with another secret: the call's own, if it had one";
}

/* Its first member, as hookline writes it. */
static void read_type(const struct hl_dev_inspection *i, char *out, size_t size)
{
    static const char before[] = "{\"type\":\"";
    size_t at = sizeof(before) - 1, n = 0;
    if (i->n < at || memcmp(i->beginning, before, at) != 0)
        return;
    while (at + n < i->n && n < size - 1 &&
           ((i->beginning[at + n] >= 'a' && i->beginning[at + n] <= 'z') ||
               i->beginning[at + n] == '.'))
        n++;
    memcpy(out, i->beginning + at, n);
}

void hl_dev_inspection_read(struct hl_dev_inspection *i, struct hl_dev_delivery *out)
{
    *out = (struct hl_dev_delivery){.verdict = judge(i)};
    memcpy(out->run_id, i->run_id, sizeof(out->run_id));
    read_type(i, out->type, sizeof(out->type));
    hl_clock_format(hl_clock_wall_ms(), out->time);
    hl_dev_inspection_end(i);
}
