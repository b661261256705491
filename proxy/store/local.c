/* local.c - the store that one process owns: SQLite, on disk or in memory, and the engine over it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/config.h"
#include "store/backend.h"
#include "store/driver.h"
#include "store/engine.h"
#include "store/key.h"
#include "store/message.h"
#include "store/operation.h"

struct local {
    struct hl_store base;
    struct hl_engine engine;
    struct hl_driver *driver;
};

static struct local *local_of(struct hl_store *store)
{
    return (struct local *)store;
}

static enum hl_err open_driver(
    struct local *l, const struct hl_config *config, char *why, size_t why_len)
{
    enum hl_err err = hl_sqlite_open(&l->driver, config, &l->engine.backlog, why, why_len);
    if (!err && config->store == HL_STORE_MEMORY)
        HL_LOG(WARN,
            "store: in memory: queued runs, results and webhooks are lost when this process ends");
    return err;
}

static enum hl_err post(struct hl_store *store, struct hl_store_msg *m)
{
    struct local *l = local_of(store);
    const struct hl_driver_vt *vt = l->driver->vt;
    if (vt->post_question && hl_operation_of(m)->is_question &&
        !hl_store_message_asks_what_runs(m)) {
        vt->post_question(l->driver, m);
        return HL_OK;
    }
    return hl_engine_post(&l->engine, m);
}

static void close_store(struct hl_store *store)
{
    struct local *l = local_of(store);
    hl_engine_stop(&l->engine);
    l->driver->vt->close(l->driver);
    hl_backlog_fini(&l->engine.backlog);
    free(l);
}

static bool is_destination_full(const struct hl_store *store, struct hl_str webhook_url)
{
    const struct local *l = (const struct local *)store;
    uint64_t lane = hl_key_lane(l->driver->lane_key, webhook_url);
    return hl_lanes_is_full(&l->engine.backlog.lanes, lane);
}

static void trim_streams(struct hl_store *store)
{
    hl_engine_trim_streams(&local_of(store)->engine);
}

static const struct hl_store_vt vt = {.post = post,
    .is_destination_full = is_destination_full,
    .trim_streams = trim_streams,
    .close = close_store};

/* How soon after a commit something may be past its time. */
static int64_t least_keep_ms(const struct hl_config *config)
{
    int64_t key_ms = hl_store_key_ms(config->retention_ms),
            stream_ms = (int64_t)config->stream_retention_ms;
    return key_ms < stream_ms ? key_ms : stream_ms;
}

static enum hl_err start(struct local *l, const struct hl_config *config, char *why, size_t why_len)
{
    int failed = hl_engine_start(&l->engine, l->driver, least_keep_ms(config));
    if (!failed)
        return HL_OK;
    snprintf(why, why_len, "cannot start the store's thread: %s", strerror(failed));
    l->driver->vt->close(l->driver);
    return hl_err_from_errno(failed);
}

enum hl_err hl_local_store_open(
    struct hl_store **out, const struct hl_config *config, char *why, size_t why_len)
{
    struct local *l = calloc(1, sizeof(*l));
    if (!l) {
        snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
        return HL_ERR_NOMEM;
    }
    hl_backlog_init(&l->engine.backlog, config->max_queued_runs, config->max_pending_deliveries,
        config->webhook_concurrency, config->webhook_per_host);
    l->engine.backlog.blocked.quotas = &l->base.quotas;
    l->engine.backlog.blocked.bell = &l->engine.bell;
    enum hl_err err = open_driver(l, config, why, why_len);
    if (!err) {
        l->driver->live_streams = &l->base.live_streams;
        err = start(l, config, why, why_len);
    }
    if (err) {
        hl_backlog_fini(&l->engine.backlog);
        free(l);
        return err;
    }
    l->base.vt = &vt;
    l->base.gauges = &l->engine.gauges;
    l->base.data_dir = l->driver->data_dir;
    l->base.signing_key = l->driver->signing_key;
    l->base.signing_key_n = l->driver->signing_key_n;
    l->base.keeps_keys = l->driver->data_dir != NULL;
    *out = &l->base;
    return HL_OK;
}
