/* preset.c - a few configurations that differ in what decides about calls. */
#include "preset.h"

#include "base/buf.h"
#include "config/config.h"
#include "fuzz.h"

#define COMMON                                                                                     \
    "HOOKLINE_AUTH=none", "HOOKLINE_LISTEN=127.0.0.1:0", "HOOKLINE_STORE=memory",                  \
        "HOOKLINE_DATA_DIR=/nonexistent", "HOOKLINE_WORKERS=1", "HOOKLINE_LOG_LEVEL=error",        \
        "HOOKLINE_MAX_CONNECTIONS=8", "HOOKLINE_APP_URL=unix:/tmp/hookline-fuzz.sock"

static const char *const environments[PRESET_COUNT][16] = {
    /* what nobody has changed */
    {COMMON},
    /* one slot and one place in its queue; short limits; event streams that beat fast */
    {COMMON, "HOOKLINE_APP_CONCURRENCY=1", "HOOKLINE_APP_QUEUE=1", "HOOKLINE_SSE_HEARTBEAT=1s",
        "HOOKLINE_APP_IDLE_TIMEOUT=5s", "HOOKLINE_APP_HEAD_TIMEOUT=5s", "HOOKLINE_MAX_HEAD=4KiB"},
    /* a proxy before us, one project and app, small bodies */
    {COMMON, "HOOKLINE_TRUSTED_PROXIES=127.0.0.0/8", "HOOKLINE_PROJECT_ID=p", "HOOKLINE_APP_NAME=a",
        "HOOKLINE_MAX_SYNC_BODY=64", "HOOKLINE_MAX_REQUEST_BODY=64",
        "HOOKLINE_MAX_KEPT_RESPONSE=64", "HOOKLINE_APP_RUN_PATH=/deep/er/path"},
    /* runs only, webhooks to anywhere */
    {COMMON, "HOOKLINE_PASSTHROUGH=off", "HOOKLINE_WEBHOOK_HTTPS_ONLY=on",
        "HOOKLINE_WEBHOOK_ALLOW=0.0.0.0/0,::/0", "HOOKLINE_ASYNC_CONCURRENCY=1",
        "HOOKLINE_WEBHOOK_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
};

const struct hl_config *preset(unsigned i)
{
    static struct hl_config *made[PRESET_COUNT];
    struct hl_config **slot = &made[i % PRESET_COUNT];
    struct hl_buf problems, warnings;
    if (*slot)
        return *slot;
    hl_buf_init(&problems, 0);
    hl_buf_init(&warnings, 0);
    enum hl_err err =
        hl_config_load(slot, (char *const *)environments[i % PRESET_COUNT], &problems, &warnings);
    fuzz_note("problems", hl_buf_str(&problems));
    FUZZ_CHECK(err == HL_OK && warnings.n == 0, "a preset is no configuration");
    (*slot)->via = HL_STR("hookline"); /* each start has another name */
    hl_buf_fini(&problems);
    hl_buf_fini(&warnings);
    return *slot;
}
