/* store.c - opens and closes the store: which driver, and the engine over it. Any thread posts.
 * A driver over a network would stand here beside the engine: what is above knows only messages. */
#include "store/store.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/engine.h"
#include "store/message.h"
#include "store/operation.h"

#define DAY_MS (24 * 3600 * 1000ll)

struct hl_store {
    struct hl_engine engine;
    struct hl_driver *driver;
};

static enum hl_err open_driver(
    struct hl_store *store, const struct hl_config *config, char *why, size_t why_len)
{
    struct hl_backlog *backlog = &store->engine.backlog;
    if (config->store != HL_STORE_MEMORY)
        return hl_sqlite_open(&store->driver, config, backlog, why, why_len);
    enum hl_err err = hl_memory_open(&store->driver, config, backlog);
    if (err)
        snprintf(why, why_len, "%s", hl_err_text(err));
    else
        HL_LOG(WARN, "store: in memory: queued runs, results, webhooks end with this process");
    return err;
}

enum hl_err hl_store_open(
    struct hl_store **out, const struct hl_config *config, char *why, size_t why_len)
{
    *out = NULL;
    struct hl_store *store = calloc(1, sizeof(*store));
    if (!store) {
        snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
        return HL_ERR_NOMEM;
    }
    hl_backlog_init(&store->engine.backlog, config->max_queued_runs, config->max_pending_deliveries,
        config->webhook_per_host);
    enum hl_err err = open_driver(store, config, why, why_len);
    if (err)
        goto out;

    int64_t keep_ms = (int64_t)config->retention_ms;
    int failed =
        hl_engine_start(&store->engine, store->driver, keep_ms < DAY_MS ? keep_ms : DAY_MS);
    if (failed) {
        snprintf(why, why_len, "cannot start the store's thread: %s", strerror(failed));
        store->driver->vt->close(store->driver);
        err = hl_err_from_errno(failed);
    }
out:
    if (err) {
        hl_backlog_fini(&store->engine.backlog);
        free(store);
        return err;
    }
    *out = store;
    return HL_OK;
}

enum hl_err hl_store_check(const struct hl_config *config, struct hl_buf *problems)
{
    return config->store == HL_STORE_MEMORY ? HL_OK : hl_sqlite_check(config, problems);
}

enum hl_err hl_store_post(struct hl_store *store, struct hl_store_msg *m)
{
    const struct hl_driver_vt *vt = store->driver->vt;
    hl_operation_prepare(m);
    if (vt->post_question && hl_operation_of(m)->is_question && !hl_message_asks_what_runs(m)) {
        vt->post_question(store->driver, m);
        return HL_OK;
    }
    return hl_engine_post(&store->engine, m);
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

const struct hl_store_gauges *hl_store_gauges(const struct hl_store *store)
{
    return &store->engine.gauges;
}

enum hl_err hl_store_get_signing_key(
    struct hl_store *store, uint8_t out[HL_SIGNING_KEY_MAX], size_t *n)
{
    const struct hl_driver *d = store->driver;
    *n = d->signing_key_n;
    memcpy(out, d->signing_key, d->signing_key_n);
    return *n > 0 ? HL_OK : HL_ERR_NOT_FOUND;
}

enum hl_err hl_store_put_signing_key(struct hl_store *store, const uint8_t *key, size_t n)
{
    struct hl_keep_key keep = {.m.msg.type = HL_STORE_KEEP_KEY, .key = {(const char *)key, n}};
    if (n > HL_SIGNING_KEY_MAX)
        return HL_ERR_TOO_LARGE;
    return store->driver->data_dir ? hl_store_ask(store, &keep.m) : HL_OK;
}

const char *hl_store_data_dir(const struct hl_store *store)
{
    return store->driver->data_dir;
}

void hl_store_close(struct hl_store *store)
{
    hl_engine_stop(&store->engine);
    store->driver->vt->close(store->driver);
    hl_backlog_fini(&store->engine.backlog);
    free(store);
}
