/* courier.h - carries attempts: signs, hands over to libcurl, says how each one ended. */
#ifndef HL_WEBHOOK_COURIER_H
#define HL_WEBHOOK_COURIER_H

#include "config/config.h"
#include "webhook/docket.h"
#include "webhook/trust.h"

struct hl_courier {
    CURLM *multi;
    struct hl_list idle; /* transfers, to be used again */
    struct hl_trust trust;
    struct hl_transfer_settings settings;
    struct hl_webhook_names names;
    struct hl_docket *docket;
    const char *data_dir;
    /* The attempt of `p` (in SIGNING or SENDING) has ended; moves it on. Never called from inside a
     * libcurl callback. */
    void (*on_end)(void *self, struct hl_parcel *p, const struct hl_transfer_result *result);
    void *self;
};

/* `docket`, `data_dir` and `config` are borrowed. On failure `why` is one line, and hl_courier_fini
 * is still to be called. */
HL_MUST_CHECK enum hl_err hl_courier_init(struct hl_courier *c, const struct hl_config *config,
    struct hl_docket *docket, const char *data_dir, char *why, size_t why_len);
/* No transfer is under way. */
void hl_courier_fini(struct hl_courier *c);

/* Begins attempt `n` of a parcel in SIGNING; a small one is in libcurl's hands afterwards. May
 * call on_end. */
void hl_courier_begin(struct hl_courier *c, struct hl_parcel *p, uint32_t n);
/* Gives libcurl its turn, then one slice to a body that is being signed. Calls on_end for each
 * attempt that ended. */
void hl_courier_turn(struct hl_courier *c);
/* Takes the attempt back from libcurl, whatever it did. */
void hl_courier_cut(struct hl_courier *c, struct hl_parcel *p);

#endif
