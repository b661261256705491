/* quota_blocked.c - see quota_blocked.h. */
#include "store/quota_blocked.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "store/key.h"

void hl_quota_blocked_fini(struct hl_quota_blocked *b)
{
    free(b->subjects);
}

void hl_quota_blocked_forget(struct hl_quota_blocked *b)
{
    b->n = 0;
    memset(b->queued, 0, sizeof(b->queued));
}

bool hl_quota_blocked_has(const struct hl_quota_blocked *b, uint64_t subject)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->subjects[i] == subject)
            return true;
    return false;
}

uint64_t hl_quota_blocked_subject(struct hl_quota *quota, const struct hl_key *key)
{
    char text[HL_ID_TEXT];
    if (!quota->has_subject) {
        hl_id_format(&quota->account, text);
        quota->subject = hl_key_subject(key, (struct hl_str){text, sizeof(text)});
        quota->has_subject = true;
    }
    return quota->subject;
}

struct hl_quota *hl_quota_blocked_find(
    struct hl_quotas *quotas, const struct hl_key *key, uint64_t subject)
{
    struct hl_quota *quota = hl_quota_blocked_first(quotas);
    while (quota && hl_quota_blocked_subject(quota, key) != subject)
        quota = quota->next;
    return quota;
}

static enum hl_err add(struct hl_quota_blocked *b, uint64_t subject)
{
    if (b->n == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 16;
        uint64_t *more = reallocarray(b->subjects, cap, sizeof(*more));
        if (!more)
            return HL_ERR_NOMEM;
        b->subjects = more;
        b->cap = cap;
    }
    b->subjects[b->n++] = subject;
    return HL_ERR_BUSY;
}

enum hl_err hl_quota_blocked_ask(
    struct hl_quota_blocked *b, const struct hl_key *key, uint64_t subject, struct hl_quota **place)
{
    *place = hl_quota_blocked_find(b->quotas ? atomic_load(b->quotas) : NULL, key, subject);
    if (!*place || hl_quota_enter_or_wait(*place, b->bell))
        return HL_OK;
    *place = NULL;
    return add(b, subject);
}
