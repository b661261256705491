/* errand.h - a call of ours that the app does something for: HOOKLINE_APP_SLEEP_CALL and HOOKLINE_APP_WAKE_CALL
 * (contract 10). It is no run. The control thread. */
#ifndef HL_APP_ERRAND_H
#define HL_APP_ERRAND_H

#include <uv.h>

#include "app/host.h"
#include "base/str.h"
#include "loop/wheel.h"
#include "tls/tls.h"

struct hl_config;
struct hl_exchange;
struct hl_reader;

struct hl_errand {
    const struct hl_config *config;
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    /* It was answered with 2xx, and `why` is NULL; or it was not, in words that are static. Never before
     * hl_errand_begin has returned. */
    void (*on_over)(struct hl_errand *errand, const char *why);
    struct hl_exchange *exchange; /* NULL: it is not under way */
    struct hl_host host;
    struct hl_timer late;
    struct hl_tls_seat *tls; /* NULL: the app speaks none */
    struct hl_str what;      /* "POST /sleep" */
    uint64_t tried;          /* of the host's addresses */
    const char *failed;      /* why, before it was begun */
    uint16_t status;         /* of the answer; 0: none yet */
    bool is_refused;         /* the last one: nobody listened there */
};

void hl_errand_init(struct hl_errand *errand, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_config *config);
/* Ends with on_over, or hl_errand_forget. */
void hl_errand_begin(struct hl_errand *errand, struct hl_str what, struct hl_tls_seat *tls);
void hl_errand_forget(struct hl_errand *errand);
void hl_errand_close(struct hl_errand *errand); /* it stays valid until the loop has ended */

#endif
