/* account.c - service accounts in memory: few, in a list by id. The store's thread. */
#include "store/memory/account.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/list.h"
#include "store/memory/memory.h"
#include "store/account.h"

static struct hl_memory_account *find(const struct hl_memory *m, const struct hl_id *id)
{
    HL_LIST_EACH (node, &m->accounts) {
        struct hl_memory_account *entry = HL_CONTAINER_OF(node, struct hl_memory_account, node);
        if (hl_id_eq(&entry->account.id, id))
            return entry;
    }
    return NULL;
}

static bool is_older(const struct hl_list *node, const struct hl_id *id)
{
    const struct hl_memory_account *entry = HL_CONTAINER_OF(node, struct hl_memory_account, node);
    return memcmp(&entry->account.id, id, sizeof(*id)) < 0;
}

enum hl_err hl_memory_account_add(struct hl_driver *d, const struct hl_account *account)
{
    struct hl_memory *m = hl_memory_of(d);
    if (find(m, &account->id))
        return HL_ERR_EXISTS;
    struct hl_memory_account *entry = malloc(sizeof(*entry));
    if (!entry)
        return HL_ERR_NOMEM;
    entry->account = *account;
    struct hl_list *next = m->accounts.next;
    while (next != &m->accounts && is_older(next, &account->id))
        next = next->next;
    hl_list_push_back(next, &entry->node);
    m->bytes += sizeof(*entry);
    return HL_OK;
}

enum hl_err hl_memory_account_revoke(
    struct hl_driver *d, const struct hl_revoke_account *r, int64_t now_ms, int64_t *revoked_ms)
{
    struct hl_memory_account *entry = find(hl_memory_of(d), &r->id);
    if (!entry || (r->project[0] && strcmp(entry->account.project, r->project) != 0))
        return HL_ERR_NOT_FOUND;
    if (entry->account.revoked_ms == 0)
        entry->account.revoked_ms = now_ms;
    *revoked_ms = entry->account.revoked_ms;
    return HL_OK;
}

enum hl_err hl_memory_account_limit(struct hl_driver *d, struct hl_limit_account *l)
{
    struct hl_memory_account *entry = find(hl_memory_of(d), &l->id);
    if (!entry || (l->project[0] && strcmp(entry->account.project, l->project) != 0))
        return HL_ERR_NOT_FOUND;
    hl_limits_apply(&entry->account.limits, &l->change);
    l->account = entry->account;
    return HL_OK;
}

enum hl_err hl_memory_account_touch(struct hl_driver *d, const struct hl_touch_accounts *t)
{
    for (size_t i = 0; i < t->n && i < HL_TOUCH_MAX; i++) {
        struct hl_memory_account *entry = find(hl_memory_of(d), &t->uses[i].id);
        if (entry && entry->account.last_used_ms < t->uses[i].used_ms)
            entry->account.last_used_ms = t->uses[i].used_ms;
    }
    return HL_OK;
}

enum hl_err hl_memory_account_list(const struct hl_memory *m, struct hl_list_accounts *l)
{
    l->rows = calloc(l->limit, sizeof(*l->rows));
    if (!l->rows)
        return HL_ERR_NOMEM;
    for (struct hl_list *node = m->accounts.prev; node != &m->accounts; node = node->prev) {
        struct hl_memory_account *entry = HL_CONTAINER_OF(node, struct hl_memory_account, node);
        if (!hl_id_is_nil(&l->before) && !is_older(node, &l->before))
            continue;
        if (l->project[0] && strcmp(entry->account.project, l->project) != 0)
            continue;
        if (l->count == l->limit) {
            l->has_more = true;
            break;
        }
        l->rows[l->count++] = entry->account;
        l->next = entry->account.id;
    }
    return HL_OK;
}

static void forget(struct hl_memory *m, struct hl_memory_account *entry)
{
    hl_list_remove(&entry->node);
    m->bytes -= sizeof(*entry);
    free(entry);
}

int64_t hl_memory_account_purge(struct hl_memory *m, int64_t now_ms, unsigned max)
{
    int64_t due_ms = INT64_MAX;
    unsigned n = 0;
    HL_LIST_EACH_SAFE (node, &m->accounts) {
        struct hl_memory_account *entry = HL_CONTAINER_OF(node, struct hl_memory_account, node);
        int64_t end_ms = entry->account.expires_ms + HL_ACCOUNT_KEEP_MS;
        if (entry->account.revoked_ms == 0)
            continue;
        if (end_ms <= now_ms && n++ < max)
            forget(m, entry);
        else
            due_ms = end_ms < due_ms ? end_ms : due_ms;
    }
    return due_ms;
}

void hl_memory_account_free_all(struct hl_memory *m)
{
    while (!hl_list_is_empty(&m->accounts))
        forget(m, HL_CONTAINER_OF(m->accounts.next, struct hl_memory_account, node));
}
