/* auth.h - who calls: bearer tokens (JWT, contract 9), the keys that sign them, service accounts.
 *
 * One struct hl_auth for the process; a seat (seat.h) for each thread that asks. A token that was verified
 * before is answered from the seat's own memory, without a lock and without a signature check. Any
 * other goes through the cheap checks first (form, algorithm, key, times, account); what is left,
 * the signature, is checked on threads of auth's own, and the asker is called back. Whatever cannot
 * be decided is refused. Tokens, keys and claims never reach a log.
 *
 * Not here: where a request carries its token (principal.h). */
#ifndef HL_AUTH_AUTH_H
#define HL_AUTH_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/metric.h"

struct hl_auth;
struct hl_bell;
struct hl_config;
struct hl_id;
struct hl_store;

struct hl_account; /* store/record.h */

/* Somebody has to show a token: who calls, or who looks at the admin listener. */
bool hl_auth_is_asked(const struct hl_config *config);

/* Makes or reads hookline's own signing key, the list of accounts and the keys from outside; if
 * tokens are asked for starts the threads. Blocks; before other threads, after hl_store_open. What a
 * shared store does not say yet is left to hl_auth_catch_up: until then what could be one of our own
 * tokens is refused with 503. On failure `why` has one line: which variable, what is wrong with it. */
HL_MUST_CHECK enum hl_err hl_auth_open(struct hl_auth **out, const struct hl_config *config,
    struct hl_store *store, char *why, size_t why_len);
/* Whether all that the store keeps has been read. Any thread. */
bool hl_auth_is_complete(struct hl_auth *auth);
/* The store has opened after all: reads the rest on a thread, until it can. The opener's thread; harmless
 * when it has been begun. */
void hl_auth_catch_up(struct hl_auth *auth);
/* What opening would find wrong beside the store's content. Changes nothing. On failure `why` has one
 * line. */
HL_MUST_CHECK enum hl_err hl_auth_check_settings(
    const struct hl_config *config, char *why, size_t why_len);
/* Ends the threads; checks under way are answered into the seats' mailboxes. No seat asks any more,
 * the store is still open. NULL-safe. */
void hl_auth_stop(struct hl_auth *auth);
/* After the seats. NULL-safe. */
void hl_auth_free(struct hl_auth *auth);

/* ---- service accounts: any thread ---- */

/* What signs our own tokens. NULL: its key is in a store that has not been read yet. */
struct hl_issuer *hl_auth_issuer(struct hl_auth *auth);
/* A new account's token is good from now on: call it when the store has it on disk. False: out of
 * memory, the token will be good after the next start. */
bool hl_auth_admit(struct hl_auth *auth, const struct hl_account *account);
/* Its limits are others from now on, in every thread: call it when the store has said so. */
void hl_auth_limit(struct hl_auth *auth, const struct hl_account *account);
/* Its tokens are refused from now on, in every thread: call it when the store has said so. */
void hl_auth_revoke(struct hl_auth *auth, const struct hl_id *account);

/* False: a token of this account (nil: of none) that this key has signed (its serial; 0: not asked) is refused. */
bool hl_auth_admits(struct hl_auth *auth, const struct hl_id *account, uint64_t key);
/* Rings whenever an account was revoked, here or elsewhere, or a key is gone, until it is taken away. */
void hl_auth_add_bell(struct hl_auth *auth, struct hl_bell *bell);
void hl_auth_remove_bell(struct hl_auth *auth, struct hl_bell *bell); /* twice is harmless */

/* What /metrics says. */
struct hl_auth_figures {
    uint64_t keys;                       /* from outside, usable */
    uint64_t fetches_ok, fetches_failed; /* of HOOKLINE_JWT_JWKS_URL and _FILE */
    struct hl_counter url_read_ms;       /* wall time of the URL's last good answer; 0: none */
    uint64_t checks_waiting;
};
void hl_auth_read_figures(struct hl_auth *auth, struct hl_auth_figures *out);

#endif
