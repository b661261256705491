/* warmup.h - HOOKLINE_APP_WARMUP: a request that a started app answers before anybody else's goes in (contract 10).
 * Embedded in the readiness, which says when; the control thread. */
#ifndef HL_APP_WARMUP_H
#define HL_APP_WARMUP_H

#include <uv.h>

#include "base/id.h"
#include "tls/tls.h"

struct hl_config;
struct hl_exchange;
struct hl_reader;
struct hl_wheel;

struct hl_warmup {
    const struct hl_config *config;
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    /* It was answered, well, and `again_ms` is 0; or it was not, and is to be asked again after that. */
    void (*on_over)(struct hl_warmup *warmup, uint64_t again_ms);
    struct hl_exchange *exchange; /* NULL: it is not under way */
    struct hl_id_source ids;
    uint64_t began_ms;
    uint32_t failures; /* in a row */
    uint16_t status;   /* of the answer; 0: none yet */
    bool is_done;      /* since the app's start */
};

void hl_warmup_init(struct hl_warmup *warmup, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_config *config);

/* There is one, and this start of the app's has not had it. */
bool hl_warmup_is_due(const struct hl_warmup *warmup);

/* `address` as hl_exchange_begin takes it. Ends with on_over, perhaps before the return, or
 * hl_warmup_forget. */
void hl_warmup_begin(
    struct hl_warmup *warmup, const struct sockaddr *address, struct hl_tls_seat *tls);

/* Another app begins, or none is there: it is due again. */
void hl_warmup_forget(struct hl_warmup *warmup);

#endif
