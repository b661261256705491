/* audit.c - rows that say who changed what, as values. Any thread. */
#include "store/audit.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"

/* The numbers are on disk. */
_Static_assert(HL_AUDIT_ACCOUNT_MADE == 0 && HL_AUDIT_DELIVERY_REDELIVERED == 3 &&
                   HL_AUDIT_RUN_CANCELLED == 5 && HL_AUDIT_SESSION_OPENED == 7 &&
                   HL_AUDIT_KEY_ROTATED == 8 && HL_AUDIT_SETTINGS_CHANGED == 9 &&
                   HL_AUDIT_DRAIN_BEGUN == 10 && HL_AUDIT_DRAIN_CANCELLED == 11 &&
                   HL_AUDIT_DELIVERY_RESENT == 12 && HL_AUDIT_JOB_ENDED == 16,
    "actions are stored");

static const char *const action_texts[] = {
#define X(name, text) [HL_AUDIT_##name] = (text),
    HL_AUDIT_ACTION_MAP(X)
#undef X
};

const char *hl_audit_action_text(enum hl_audit_action action)
{
    return (unsigned)action < HL_ARRAY_LEN(action_texts) ? action_texts[action] : "unknown";
}

bool hl_audit_action_parse(struct hl_str text, enum hl_audit_action *out)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(action_texts); i++) {
        if (hl_str_eq(text, hl_str_from(action_texts[i]))) {
            *out = (enum hl_audit_action)i;
            return true;
        }
    }
    return false;
}

struct hl_audit *hl_audit_new(const struct hl_audit *from, struct hl_str told)
{
    struct hl_audit *audit = malloc(sizeof(*audit) + told.n + 1);
    if (!audit)
        return NULL;
    *audit = *from;
    audit->told_n = told.n;
    if (told.n > 0)
        memcpy(audit->told, told.p, told.n);
    audit->told[told.n] = '\0';
    return audit;
}

void hl_get_settings_fini(struct hl_get_settings *g)
{
    hl_buf_fini(&g->value);
}

void hl_keep_settings_fini(struct hl_keep_settings *k)
{
    hl_buf_fini(&k->former);
    hl_buf_fini(&k->value);
}

/* ---- the list ---- */

enum hl_err hl_list_audit_add(
    struct hl_list_audit *l, const struct hl_audit *from, struct hl_str told)
{
    struct hl_audit **row = HL_LISTING_ADD(l);
    if (!row)
        return HL_OK;
    *row = hl_audit_new(from, told);
    l->next = from->id;
    return *row ? HL_OK : HL_ERR_NOMEM;
}
