/* courier.h - carries out attempts: signs, hands over to libcurl, reports how each one ended. */
#ifndef HL_WEBHOOK_COURIER_H
#define HL_WEBHOOK_COURIER_H

#include "base/list.h"
#include "dns/resolver.h"
#include "dns/trust.h"
#include "webhook/identity.h"
#include "webhook/parcel.h"
#include "webhook/proxy.h"
#include "webhook/transfer.h"
#include "webhook/key_limit.h"

struct hl_config;
struct hl_docket;
struct hl_transfer_result;

#define HL_LOOKUPS_PER_SUFFIX 64

struct hl_courier {
    CURLM *multi;
    struct hl_resolver resolver;
    struct hl_key_limit lookups; /* by registered suffix; those in UNRESOLVED stand in line */
    uint64_t suffix_key[2];
    struct hl_list idle;     /* transfers, to be used again */
    struct hl_list answered; /* those that have a head and wait for the rest of the body */
    struct hl_trust trust;
    struct hl_str authorities; /* the setting */
    struct hl_transfer_settings settings;
    struct hl_identity identity;
    struct hl_proxy proxy;
    bool proxy_resolves; /* HOOKLINE_WEBHOOK_PROXY_RESOLVE=proxy */
    struct hl_parcel_settings parcels;
    struct hl_signature key, previous_key; /* that `parcels` names, if any */
    struct hl_docket *docket;
    /* The attempt of `p` (in SIGNING, RESOLVING or SENDING) has ended; moves it on. Never called
     * from inside a callback of a library. One that is put off instead goes to UNRESOLVED without a
     * word, and to DUE when its turn has come. */
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
/* Gives c-ares and libcurl their turns, then one slice to a body that is being signed. Calls on_end
 * for each attempt that ended. */
void hl_courier_turn(struct hl_courier *c);
/* Blocks until a socket or a wake-up has something for the next turn; at most `ms`. */
void hl_courier_wait(struct hl_courier *c, uint64_t ms);
/* Takes the attempt back, whatever was done for it; a turn for a look-up that `p` has goes to the next
 * in line. */
void hl_courier_cut(struct hl_courier *c, struct hl_parcel *p);

#endif
