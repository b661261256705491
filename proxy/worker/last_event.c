/* last_event.c - see last_event.h. Thread: any. */
#include "worker/last_event.h"

#include <string.h>

#include "http/field.h"
#include "http/head.h"

void hl_last_event_read(struct hl_last_event *out, const struct hl_head *head)
{
    out->is_bad = false;
    out->n = 0;
    for (size_t i = 0; i < head->field_count; i++) {
        const struct hl_field *field = &head->fields[i];
        if (!hl_str_eq_nocase(field->name, HL_STR("last-event-id")) || field->value.n == 0)
            continue;
        if (out->n > 0 || field->value.n > sizeof(out->text)) {
            out->is_bad = true;
            return;
        }
        memcpy(out->text, field->value.p, field->value.n);
        out->n = (uint16_t)field->value.n;
    }
}
