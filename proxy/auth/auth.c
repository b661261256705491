/* auth.c - opens and closes what knows who calls.
 * Owns: struct hl_auth. Thread: the one that starts the process.
 * Promise: it does not start without the accounts or with keys that it was told of and cannot read:
 * nobody may be let in by what is missing.
 * Not here: asking (seat.c), the threads (checker.c, key_keeper.c). */
#include "auth/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/own_keys.h"
#include "auth/state.h"
#include "base/log.h"
#include "config/admin_access.h"

#define ACCOUNTS_AT_ONCE 200

/* ---- accounts ---- */

/* Accounts that were revoked are as good as unknown. That a token has ended is seen by its own claim
 * each time: the clock may be wrong just now. */
static enum hl_err admit_rows(struct hl_auth *auth, const struct hl_list_accounts *answer)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < answer->count && !err; i++) {
        const struct hl_account *row = &answer->rows[i];
        if (row->revoked_ms == 0)
            err = hl_registry_admit(&auth->registry, &row->id);
    }
    return err;
}

static void on_account(void *arg, const struct hl_id *id, bool is_revoked)
{
    struct hl_auth *auth = arg;
    if (is_revoked)
        hl_registry_revoke(&auth->registry, id);
    else if (hl_registry_admit(&auth->registry, id) != HL_OK)
        return; /* out of memory: it is looked up */
}

/* What others do with accounts is heard from before the list is read: nothing falls in between. */
static enum hl_err watch_accounts(struct hl_auth *auth, hl_account_watch_fn *watch)
{
    struct hl_watch_accounts m = {
        .m.msg.type = HL_STORE_WATCH_ACCOUNTS, .watch = watch, .watcher = auth};
    enum hl_err err = hl_store_ask(auth->keeper.store, &m.m);
    auth->is_watching = watch && !err;
    return err;
}

static enum hl_err load_accounts(struct hl_auth *auth, struct hl_store *store)
{
    struct hl_list_accounts list = {.limit = ACCOUNTS_AT_ONCE};
    enum hl_err err = hl_store_is_shared(store) ? watch_accounts(auth, on_account) : HL_OK;
    if (err)
        return err;
    do {
        struct hl_id before = list.next;
        list = (struct hl_list_accounts){
            .m.msg.type = HL_STORE_LIST_ACCOUNTS, .limit = ACCOUNTS_AT_ONCE, .before = before};
        err = hl_store_ask(store, &list.m);
        if (!err)
            err = admit_rows(auth, &list);
        hl_list_accounts_fini(&list);
    } while (!err && list.has_more);
    return err;
}

/* ---- keys ---- */

static enum hl_err set_key(
    struct hl_auth *auth, enum hl_key_source source, struct hl_verify_key *key)
{
    struct hl_key_list list = {.n = 1};
    if (!key)
        return HL_ERR_NOMEM;
    list.items[0] = key;
    return hl_registry_set_keys(&auth->registry, source, &list);
}

static enum hl_err read_own_keys(void *self)
{
    struct hl_auth *auth = self;
    return hl_own_keys_read(&auth->registry, auth->issuer, auth->keeper.store);
}

static enum hl_err open_keys(struct hl_auth *auth, char *why, size_t why_len)
{
    const struct hl_config *config = auth->config;
    const struct hl_str none = {NULL, 0};
    enum hl_err err = read_own_keys(auth);
    if (!err && config->jwt_secret.n > 0)
        err = set_key(auth, HL_KEYS_SECRET,
            hl_verify_key_new(HL_ALG_HS256, none, config->jwt_secret.p, config->jwt_secret.n));
    return err ? err : hl_key_keeper_read_file(&auth->keeper, why, why_len);
}

static void warn_of_settings(const struct hl_config *config)
{
    if (config->jwt_project_claim.n == 0)
        HL_LOG(WARN, "HOOKLINE_JWT_PROJECT_CLAIM is empty: any token from outside reaches every "
                     "project");
    if (hl_str_starts_with(config->jwt_jwks_url, HL_STR("http://")))
        HL_LOG(WARN, "HOOKLINE_JWT_JWKS_URL is http: whoever can change what comes back can sign "
                     "tokens; use https");
}

/* ---- opening and closing ---- */

bool hl_auth_is_asked(const struct hl_config *config)
{
    return config->auth == HL_AUTH_JWT || hl_admin_access_asks_token(config);
}

static enum hl_err start_threads(struct hl_auth *auth, char *why, size_t why_len)
{
    int err = hl_checker_start(&auth->checker);
    if (!err)
        err = hl_key_keeper_start(&auth->keeper);
    if (err)
        snprintf(why, why_len, "cannot start a thread of auth: %s", strerror(err));
    return err ? HL_ERR_UNAVAILABLE : HL_OK;
}

static enum hl_err open_all(struct hl_auth *auth, struct hl_store *store, char *why, size_t why_len)
{
    const struct hl_config *config = auth->config;
    enum hl_err err = hl_issuer_open(&auth->issuer, store, why, why_len);
    if (err || !hl_auth_is_asked(config))
        return err;
    err = open_keys(auth, why, why_len);
    if (err)
        return err;
    err = load_accounts(auth, store);
    if (err) {
        snprintf(why, why_len, "the service accounts cannot be read: %s", hl_err_text(err));
        return err;
    }
    warn_of_settings(config);
    auth->has_curl = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return start_threads(auth, why, why_len);
}

enum hl_err hl_auth_open(struct hl_auth **out, const struct hl_config *config,
    struct hl_store *store, char *why, size_t why_len)
{
    *out = NULL;
    snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
    struct hl_auth *auth = calloc(1, sizeof(*auth));
    if (!auth)
        return HL_ERR_NOMEM;
    auth->config = auth->keeper.config = config;
    auth->keeper.registry = &auth->registry;
    auth->keeper.store = store;
    auth->checker.registry = &auth->registry;
    auth->checker.store = hl_store_is_shared(store) ? store : NULL;
    auth->keeper.read_own_keys = hl_store_is_shared(store) ? read_own_keys : NULL;
    auth->keeper.self = auth;
    auth->rules = (struct hl_claim_rules){.project_claim = config->jwt_project_claim,
        .role_claim = config->jwt_role_claim,
        .issuer = config->jwt_issuer,
        .audience = config->jwt_audience};
    enum hl_err err = hl_registry_init(&auth->registry);
    if (!err)
        err = open_all(auth, store, why, why_len);
    if (err) {
        hl_auth_stop(auth);
        hl_auth_free(auth);
        return err;
    }
    *out = auth;
    return HL_OK;
}

enum hl_err hl_auth_check_settings(const struct hl_config *config, char *why, size_t why_len)
{
    struct hl_registry registry;
    struct hl_key_keeper keeper = {.config = config, .registry = &registry};
    if (!hl_auth_is_asked(config))
        return HL_OK;
    snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
    enum hl_err err = hl_registry_init(&registry);
    if (!err)
        err = hl_key_keeper_read_file(&keeper, why, why_len);
    hl_registry_fini(&registry);
    return err;
}

void hl_auth_stop(struct hl_auth *auth)
{
    if (!auth)
        return;
    hl_checker_stop(&auth->checker);
    hl_key_keeper_stop(&auth->keeper);
    if (auth->is_watching && watch_accounts(auth, NULL) != HL_OK)
        return; /* the store is closed: it calls nobody */
}

void hl_auth_free(struct hl_auth *auth)
{
    if (!auth)
        return;
    hl_key_keeper_fini(&auth->keeper);
    hl_checker_fini(&auth->checker);
    hl_registry_fini(&auth->registry);
    hl_issuer_free(auth->issuer);
    if (auth->has_curl)
        curl_global_cleanup();
    free(auth);
}

/* ---- accounts, while it runs ---- */

struct hl_issuer *hl_auth_issuer(struct hl_auth *auth)
{
    return auth->issuer;
}

bool hl_auth_admit(struct hl_auth *auth, const struct hl_account *account)
{
    return hl_registry_admit(&auth->registry, &account->id) == HL_OK;
}

void hl_auth_revoke(struct hl_auth *auth, const struct hl_id *account)
{
    hl_registry_revoke(&auth->registry, account);
}

void hl_auth_read_figures(struct hl_auth *auth, struct hl_auth_figures *out)
{
    uint64_t version;
    struct hl_key_set *keys = hl_registry_keys(&auth->registry, &version);
    *out = (struct hl_auth_figures){.fetches_ok = hl_counter_get(&auth->keeper.fetches_ok),
        .fetches_failed = hl_counter_get(&auth->keeper.fetches_failed),
        .checks_waiting = atomic_load(&auth->checker.waiting)};
    hl_counter_add(&out->url_read_ms, hl_counter_get(&auth->keeper.url_read_ms));
    for (size_t i = HL_KEYS_OWN + 1; i < HL_KEYS_SOURCE_COUNT; i++)
        out->keys += keys->sources[i].n;
    hl_key_set_release(keys);
}
