/* auth.c - opens and closes what knows who calls.
 * Owns: struct hl_auth. Thread: the one that starts the process.
 * Promise: it does not start without the accounts or with keys that it was told of and cannot read:
 * nobody may be let in by what is missing.
 * Not here: asking (seat.c), the threads (checker.c, key_keeper.c). */
#include "auth/auth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auth/issuer.h"
#include "auth/jwt.h"
#include "auth/key_set.h"
#include "auth/registry.h"
#include "auth/state.h"
#include "auth/verify_key.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "base/random.h"
#include "config/access.h"
#include "config/config.h"
#include "store/account.h"
#include "store/operation.h"

static void add(struct hl_key_list *list, const struct hl_list_keys *found)
{
    for (size_t i = 0; i < found->count; i++) {
        struct hl_verify_key *key = hl_issuer_read_key(found->keys[i].bytes, found->keys[i].n);
        if (key)
            list->items[list->n++] = key;
        else
            HL_LOG(ERROR, "auth: an imported signing key cannot be used");
    }
}

static enum hl_err add_imported(struct hl_key_list *list, struct hl_store *store)
{
    struct hl_list_keys *found = calloc(1, sizeof(*found));
    if (!found)
        return HL_ERR_NOMEM;
    found->m.msg.type = HL_STORE_LIST_KEYS;
    enum hl_err err = hl_store_ask(store, &found->m);
    if (!err)
        add(list, found);
    explicit_bzero(found, sizeof(*found));
    free(found);
    return err;
}

/* Reads what the store has just now, into the registry. After an error those stay that were there. Any
 * thread that may block. */
static enum hl_err own_keys_read(
    struct hl_registry *registry, const struct hl_issuer *issuer, struct hl_store *store)
{
    struct hl_key_list list = {.n = 1};
    list.items[0] = hl_verify_key_hold(hl_issuer_key(issuer));
    enum hl_err err = hl_store_is_shared(store) ? add_imported(&list, store) : HL_OK;
    if (!err)
        return hl_registry_set_keys(registry, HL_KEYS_OWN, &list);
    hl_key_list_fini(&list);
    return err;
}

#define ACCOUNTS_AT_ONCE 200
#define LATE_PAUSE_S     1

/* ---- accounts ---- */

/* Accounts that were revoked are as good as unknown. That a token has ended is seen by its own claim
 * each time: the clock may be wrong just now. */
static enum hl_err admit_rows(struct hl_auth *auth, const struct hl_list_accounts *answer)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < answer->count && !err; i++) {
        const struct hl_account *row = &answer->rows[i];
        if (row->revoked_ms == 0)
            err = hl_registry_admit(&auth->registry, &row->id, &row->limits);
    }
    return err;
}

static void on_account(
    void *arg, const struct hl_id *id, bool is_revoked, const struct hl_limits *limits)
{
    struct hl_auth *auth = arg;
    if (is_revoked) {
        hl_auth_revoke(auth, id);
        return;
    }
    enum hl_err err = hl_registry_admit(&auth->registry, id, limits);
    (void)err; /* out of memory: it is looked up */
}

/* What others do with accounts is heard from before the list is read: nothing falls in between. */
static enum hl_err watch_accounts(struct hl_auth *auth, hl_account_watch_fn *watch)
{
    struct hl_watch_accounts m = {
        .m.msg.type = HL_STORE_WATCH_ACCOUNTS, .watch = watch, .watcher = auth};
    enum hl_err err = hl_store_ask(auth->store, &m.m);
    auth->is_watching = watch && !err;
    return err;
}

static enum hl_err load_accounts(struct hl_auth *auth, char *why, size_t why_len)
{
    struct hl_list_accounts list = {.limit = ACCOUNTS_AT_ONCE};
    enum hl_err err;
    do {
        struct hl_id before = list.next;
        list = (struct hl_list_accounts){
            .m.msg.type = HL_STORE_LIST_ACCOUNTS, .limit = ACCOUNTS_AT_ONCE, .before = before};
        err = hl_store_ask(auth->store, &list.m);
        if (!err)
            err = admit_rows(auth, &list);
        hl_operation_clear(&list.m);
    } while (!err && list.has_more);
    if (err)
        snprintf(why, why_len, "the service accounts cannot be read: %s", hl_err_text(err));
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

/* Before the issuer is known that is left to hl_auth_catch_up. */
static enum hl_err read_own_keys(void *self)
{
    struct hl_auth *auth = self;
    struct hl_issuer *issuer = hl_auth_issuer(auth);
    return issuer ? own_keys_read(&auth->registry, issuer, auth->store) : HL_OK;
}

/* Whoever finds our own key finds the issuer, too. */
static enum hl_err open_own_key(struct hl_auth *auth, char *why, size_t why_len)
{
    struct hl_issuer *issuer = hl_auth_issuer(auth);
    enum hl_err err = issuer ? HL_OK : hl_issuer_open(&issuer, auth->store, why, why_len);
    if (err)
        return err;
    atomic_store(&auth->issuer, issuer);
    err = read_own_keys(auth);
    if (err)
        snprintf(why, why_len, "the signing keys cannot be read: %s", hl_err_text(err));
    return err;
}

static enum hl_err open_outside_keys(struct hl_auth *auth, char *why, size_t why_len)
{
    const struct hl_config *config = auth->config;
    const struct hl_str none = {NULL, 0};
    enum hl_err err = HL_OK;
    if (config->jwt_secret.n > 0)
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
        HL_LOG(WARN, "HOOKLINE_JWT_JWKS_URL is http: anyone who can change the answer can sign "
                     "tokens; use https");
    if (config->jwt_finds_keys && hl_str_starts_with(config->jwt_issuer, HL_STR("http://")))
        HL_LOG(WARN, "HOOKLINE_JWT_ISSUER is http: anyone who can change its answers can sign "
                     "tokens; use https");
    if (config->jwt_finds_keys && config->jwt_audience.n == 0)
        HL_LOG(WARN, "HOOKLINE_JWT_AUDIENCE is not set: every token of HOOKLINE_JWT_ISSUER is "
                     "good, whomever it was made for");
    if (config->jwt_issuer.n > 0 && !config->jwt_finds_keys && config->jwt_jwks_file.n == 0 &&
        config->jwt_jwks_url.n == 0 && config->jwt_secret.n == 0)
        HL_LOG(WARN, "HOOKLINE_JWT_ISSUER is no URL whose keys can be found, and no other setting "
                     "names keys: no token from outside is good");
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
        snprintf(why, why_len, "cannot start an auth thread: %s", strerror(err));
    return err ? HL_ERR_UNAVAILABLE : HL_OK;
}

/* Blocks; no step for longer than the store lets an asker wait. */
static enum hl_err read_store(struct hl_auth *auth, char *why, size_t why_len)
{
    enum hl_err err = open_own_key(auth, why, why_len);
    return err || !hl_auth_is_asked(auth->config) ? err : load_accounts(auth, why, why_len);
}

static enum hl_err open_all(struct hl_auth *auth, char *why, size_t why_len)
{
    bool is_asked = hl_auth_is_asked(auth->config);
    bool is_shared = hl_store_is_shared(auth->store);
    enum hl_err err = is_asked && is_shared ? watch_accounts(auth, on_account) : HL_OK;
    if (!err && hl_store_standing(auth->store) == HL_STORE_OPEN) {
        err = read_store(auth, why, why_len);
        atomic_store(&auth->late.is_done, !err);
    }
    if (is_shared && err == HL_ERR_UNAVAILABLE)
        err = HL_OK;
    if (!err && is_asked)
        err = open_outside_keys(auth, why, why_len);
    if (err || !is_asked)
        return err;
    warn_of_settings(auth->config);
    auth->has_curl = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    err = hl_key_keeper_read_authorities(&auth->keeper, why, why_len);
    if (err)
        return err;
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
    auth->store = store;
    sem_init(&auth->late.wake, 0, 0);
    hl_random_fill(auth->identity_seed, sizeof(auth->identity_seed));
    auth->keeper.registry = &auth->registry;
    hl_trust_none(&auth->keeper.trust);
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
    auth->registry.lender = hl_store_get_lender(store);
    hl_outsiders_init(&auth->outsiders, auth->registry.lender);
    hl_store_heed_quotas(store, &auth->registry.quotas);
    if (!err)
        err = hl_claim_rules_limit(&auth->rules, config->jwt_limits, config->jwt_limit_claims);
    if (!err)
        err = open_all(auth, why, why_len);
    if (err) {
        hl_auth_stop(auth);
        hl_auth_free(auth);
        return err;
    }
    *out = auth;
    return HL_OK;
}

/* ---- a store that opens later ---- */

static void sleep_late(struct hl_auth_late *late)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LATE_PAUSE_S;
    while (!atomic_load(&late->stops) && sem_timedwait(&late->wake, &until) != 0 && errno == EINTR)
        continue;
}

static void late_main(void *arg)
{
    struct hl_auth *auth = arg;
    char why[256];
    bool is_said = false;
    while (read_store(auth, why, sizeof why) != HL_OK) {
        if (atomic_load(&auth->late.stops))
            return;
        if (!is_said)
            HL_LOG(WARN, "tokens of service accounts wait for the store", HL_LOG_TEXT("why", why));
        is_said = true;
        sleep_late(&auth->late);
    }
    atomic_store(&auth->late.is_done, true);
}

bool hl_auth_is_complete(struct hl_auth *auth)
{
    return atomic_load(&auth->late.is_done);
}

void hl_auth_catch_up(struct hl_auth *auth)
{
    struct hl_auth_late *late = &auth->late;
    if (!late->is_started)
        late->is_started = hl_thread_start(&late->thread, "auth-late", late_main, auth) == 0;
}

static void stop_late(struct hl_auth_late *late)
{
    atomic_store(&late->stops, true);
    sem_post(&late->wake);
    if (late->is_started)
        hl_thread_join(&late->thread);
    late->is_started = false;
}

static enum hl_err check_authorities(struct hl_key_keeper *keeper, char *why, size_t why_len)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    enum hl_err err = hl_key_keeper_read_authorities(keeper, why, why_len);
    if (!err)
        hl_trust_fini(&keeper->trust);
    curl_global_cleanup();
    return err;
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
    if (!err)
        err = check_authorities(&keeper, why, why_len);
    hl_registry_fini(&registry);
    return err;
}

void hl_auth_stop(struct hl_auth *auth)
{
    if (!auth)
        return;
    stop_late(&auth->late);
    hl_checker_stop(&auth->checker);
    hl_key_keeper_stop(&auth->keeper);
    if (auth->is_watching) {
        enum hl_err err = watch_accounts(auth, NULL);
        (void)err; /* a store that is closed calls nobody */
    }
}

void hl_auth_free(struct hl_auth *auth)
{
    if (!auth)
        return;
    hl_key_keeper_fini(&auth->keeper);
    hl_checker_fini(&auth->checker);
    hl_registry_fini(&auth->registry);
    hl_outsiders_fini(&auth->outsiders);
    hl_claim_rules_fini(&auth->rules);
    hl_issuer_free(hl_auth_issuer(auth));
    sem_destroy(&auth->late.wake);
    if (auth->has_curl)
        curl_global_cleanup();
    free(auth);
}

/* ---- accounts, while it runs ---- */

struct hl_issuer *hl_auth_issuer(struct hl_auth *auth)
{
    return atomic_load(&auth->issuer);
}

bool hl_auth_admit(struct hl_auth *auth, const struct hl_account *account)
{
    return hl_registry_admit(&auth->registry, &account->id, &account->limits) == HL_OK;
}

void hl_auth_limit(struct hl_auth *auth, const struct hl_account *account)
{
    hl_registry_limit(&auth->registry, &account->id, &account->limits);
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
