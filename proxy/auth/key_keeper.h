/* key_keeper.h - the thread that keeps external keys up to date (HOOKLINE_JWT_JWKS_FILE, _URL; HOOKLINE_JWT_ISSUER alone),
 * and those imported into a shared store since the start, and that tells the store which accounts
 * were used. */
#ifndef HL_AUTH_KEY_KEEPER_H
#define HL_AUTH_KEY_KEEPER_H

#include <sys/stat.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/metric.h"
#include "auth/key_fetch.h"
#include "dns/trust.h"
#include "loop/mailbox.h"
#include "loop/thread.h"

struct hl_check;

#define HL_KEEPER_PARKED_MAX 64

struct hl_key_keeper {
    struct hl_thread thread;
    struct hl_mailbox mail; /* struct hl_check; the store's replies */
    struct hl_key_fetcher fetcher;
    struct hl_trust trust; /* HOOKLINE_JWT_CA_FILE */
    const struct hl_config *config;
    struct hl_registry *registry;
    struct hl_store *store;
    /* Reads hookline's own keys anew, from a store that others may have brought some to; on the keeper's
     * thread, where it may block. NULL: there are never others. */
    enum hl_err (*read_own_keys)(void *self);
    void *self;

    _Atomic uint64_t asked_again_ms; /* monotonic: when an unknown name may cause the next fetch */
    _Atomic uint64_t doubted_again_ms; /* the same of a signature that no known key has made */
    _Atomic bool is_fetching;
    _Atomic bool has_url_keys; /* keys were fetched once */
    _Atomic uint32_t parked;
    _Atomic bool stops;
    bool is_started;

    /* the thread's own */
    struct hl_check *held[HL_KEEPER_PARKED_MAX];
    size_t held_n;
    unsigned untold; /* reports that the store has not answered yet */
    uint64_t file_due_ms, url_due_ms, uses_due_ms;
    struct stat file_seen;
    bool is_file_bad;

    struct hl_counter fetches_ok, fetches_failed;
    struct hl_counter url_read_ms; /* wall time of the URL's last good answer; 0: none */
};

/* Reads HOOKLINE_JWT_JWKS_FILE, if there is one. On failure `why` has one line. */
HL_MUST_CHECK enum hl_err hl_key_keeper_read_file(
    struct hl_key_keeper *keeper, char *why, size_t why_len);
/* Reads HOOKLINE_JWT_CA_FILE, if there is one; hl_key_keeper_fini ends it. After curl_global_init. */
HL_MUST_CHECK enum hl_err hl_key_keeper_read_authorities(
    struct hl_key_keeper *keeper, char *why, size_t why_len);
/* `config`, `registry` and `store` are set, and what reads own keys. 0 or an errno value. */
int hl_key_keeper_start(struct hl_key_keeper *keeper);
/* Tells the store what it still has to know, and waits until it does. Joins. Harmless when it was
 * never started. */
void hl_key_keeper_stop(struct hl_key_keeper *keeper);
void hl_key_keeper_fini(struct hl_key_keeper *keeper);

/* Keys are fetched: from HOOKLINE_JWT_JWKS_URL, or from where HOOKLINE_JWT_ISSUER says. Any thread. */
bool hl_key_keeper_fetches(const struct hl_key_keeper *keeper);

/* Any thread: a token names a key that is not known. True: the check is taken, and comes back as
 * HL_CHECK_OPEN when the keys have been fetched anew. False: it was tried just now, or nothing is to
 * be tried. `looked_at`: the version of the keys among which it is not. */
bool hl_key_keeper_park(struct hl_key_keeper *keeper, struct hl_check *check, uint64_t looked_at);
/* The same of a token whose signature is none of the keys that it names: an issuer may have replaced one
 * under its old name, or under none. Bad tokens are many: it takes nothing from what unknown names may
 * cause. */
bool hl_key_keeper_doubt(struct hl_key_keeper *keeper, struct hl_check *check);

#endif
