/* relay_pass.h - what one replica shows another to follow one run's events there, in the name of somebody who may
 * (contract 14): "<run id>.<end, Unix ms>.<HMAC-SHA256, hex>", with a key derived from the one that all share. Any
 * thread. */
#ifndef HL_STORE_RELAY_PASS_H
#define HL_STORE_RELAY_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct hl_id;
struct hl_store;
struct hl_str;

#define HL_RELAY_PASS_MS   (30 * 1000)
#define HL_RELAY_PASS_MAX  128
#define HL_RELAY_PASS_NAME "X-Run-Relay"

/* Good for HL_RELAY_PASS_MS. Writes a NUL. Only where the store is shared. */
void hl_relay_pass_write(const struct hl_store *store, const struct hl_id *run_id, int64_t now_ms,
    char out[HL_RELAY_PASS_MAX]);
/* Whether it is good now, and for which run. */
HL_MUST_CHECK bool hl_relay_pass_read(
    const struct hl_store *store, struct hl_str pass, int64_t now_ms, struct hl_id *run_id);

#endif
