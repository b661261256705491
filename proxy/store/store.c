/* store.c - opens the store that the settings name, and passes on to it. Any thread posts. */
#include "store/store.h"

#include <semaphore.h>
#include <string.h>

#include "base/metric.h"
#include "config/config.h"
#include "loop/mailbox.h"
#include "store/backend.h"
#include "store/driver.h"
#include "store/gauges.h"
#include "store/notice.h"
#include "store/operation.h"
#include "store/postgres/check.h"
#include "store/postgres/postgres.h"

enum hl_err hl_store_open(
    struct hl_store **out, const struct hl_config *config, char *why, size_t why_len)
{
    *out = NULL;
    return config->store == HL_STORE_POSTGRES ? hl_pg_open(out, config, why, why_len)
                                              : hl_local_store_open(out, config, why, why_len);
}

enum hl_store_standing hl_store_standing(const struct hl_store *store)
{
    return atomic_load(&store->standing);
}

const char *hl_store_refusal(const struct hl_store *store)
{
    return store->refusal;
}

enum hl_err hl_store_check(const struct hl_config *config, struct hl_buf *problems)
{
    if (config->store == HL_STORE_POSTGRES)
        return hl_pg_check(config, problems);
    return config->store == HL_STORE_SQLITE ? hl_sqlite_check(config, problems) : HL_OK;
}

enum hl_err hl_store_post(struct hl_store *store, struct hl_store_msg *m)
{
    hl_operation_prepare(m);
    return store->vt->post(store, m);
}

/* A mailbox for one reply, which its owner waits for. */
struct letter_box {
    struct hl_mailbox mail;
    sem_t wake;
};

static void wake(void *arg)
{
    struct letter_box *box = arg;
    sem_post(&box->wake);
}

enum hl_err hl_store_ask(struct hl_store *store, struct hl_store_msg *m)
{
    struct letter_box box;
    sem_init(&box.wake, 0, 0);
    hl_mailbox_init(&box.mail, wake, &box);
    m->reply_to = &box.mail;
    enum hl_err err = hl_store_post(store, m);
    /* The wake comes after the letter and is the last use of the box: it is what to wait for. */
    while (!err && sem_wait(&box.wake) != 0)
        continue;
    if (!err)
        err = hl_mailbox_take(&box.mail) ? m->rc : HL_ERR_UNAVAILABLE;
    sem_destroy(&box.wake);
    return err;
}

const struct hl_store_gauges *hl_store_get_gauges(const struct hl_store *store)
{
    return store->gauges;
}

enum hl_err hl_store_get_signing_key(
    struct hl_store *store, uint8_t out[HL_SIGNING_KEY_MAX], size_t *n)
{
    *n = store->signing_key_n;
    memcpy(out, store->signing_key, *n);
    return *n > 0 ? HL_OK : HL_ERR_NOT_FOUND;
}

enum hl_err hl_store_put_signing_key(struct hl_store *store, const uint8_t *key, size_t n)
{
    struct hl_keep_key keep = {.m.msg.type = HL_STORE_KEEP_KEY, .key = {(const char *)key, n}};
    if (n > HL_SIGNING_KEY_MAX)
        return HL_ERR_TOO_LARGE;
    return store->keeps_keys ? hl_store_ask(store, &keep.m) : HL_OK;
}

const char *hl_store_data_dir(const struct hl_store *store)
{
    return store->data_dir;
}

void hl_store_note_app(struct hl_store *store, enum hl_app_presence presence, bool is_asleep)
{
    atomic_store(&store->presence, (int)presence);
    atomic_store(&store->sleeps, is_asleep);
    if (store->vt->hear_app)
        store->vt->hear_app(store);
}

void hl_store_note_stream(struct hl_store *store, int64_t bytes)
{
    int64_t live =
        bytes + atomic_fetch_add_explicit(&store->live_streams, bytes, memory_order_relaxed);
    uint64_t ended = hl_counter_get(&store->gauges->stream_bytes);
    bool is_over =
        live > 0 && (uint64_t)live + ended > hl_counter_get(&store->gauges->max_stream_bytes);
    if (bytes > 0 && ended > 0 && is_over && store->vt->trim_streams)
        store->vt->trim_streams(store);
}

uint64_t hl_store_live_streams(const struct hl_store *store)
{
    int64_t n = atomic_load_explicit(&store->live_streams, memory_order_relaxed);
    return n > 0 ? (uint64_t)n : 0;
}

void hl_store_heed_quotas(struct hl_store *store, struct hl_quotas *quotas)
{
    atomic_store(&store->quotas, quotas);
}

struct hl_lender *hl_store_get_lender(struct hl_store *store)
{
    return store->lender;
}

bool hl_store_is_destination_full(const struct hl_store *store, struct hl_str webhook_url)
{
    return store->vt->is_destination_full && store->vt->is_destination_full(store, webhook_url);
}

uint64_t hl_store_ready_runs(const struct hl_store *store)
{
    uint64_t n = 0;
    for (int i = 0; i < HL_PRIORITIES; i++)
        n += hl_counter_get(&store->gauges->queued[i]);
    return n;
}

bool hl_store_is_shared(const struct hl_store *store)
{
    return store->is_shared;
}

void hl_store_close(struct hl_store *store)
{
    store->vt->close(store);
}
