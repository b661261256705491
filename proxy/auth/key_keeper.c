/* key_keeper.c - the thread that keeps keys from outside up to date.
 * Owns: one thread; the checks that wait for a fetch.
 * Promise: keys that were good stay while a source fails; strangers' names of keys cause at most one
 * fetch in 30 s, whoever sends how many.
 * Not here: the requests (key_fetch.c, discovery.c), what a key set is (jwks.c). */
#include "auth/key_keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "auth/checker.h"
#include "auth/discovery.h"
#include "auth/key_set.h"
#include "auth/registry.h"
#include "auth/seat.h"
#include "auth/jwks.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "config/config.h"
#include "http/url.h"
#include "store/account.h"

#define ASK_AGAIN_MS  (30 * 1000)
#define URL_EVERY_MS  (5 * 60 * 1000)
#define URL_FAILED_MS (30 * 1000)
#define FILE_EVERY_MS (5 * 1000) /* one stat(2) */
#define USES_EVERY_MS (20 * 1000)
#define NEVER         UINT64_MAX

bool hl_key_keeper_fetches(const struct hl_key_keeper *keeper)
{
    return keeper->config->jwt_jwks_url.n > 0 || keeper->config->jwt_finds_keys;
}

static const char *fetched_by(const struct hl_key_keeper *keeper)
{
    return keeper->config->jwt_finds_keys ? "HOOKLINE_JWT_ISSUER" : "HOOKLINE_JWT_JWKS_URL";
}

/* ---- a source's keys ---- */

/* NULL, or why these cannot be used as keys. An issuer that has none at all, or none that we can use,
 * is at fault or on the way between two states: nobody means by that that all its tokens are void. A
 * file is the operator's own, who may mean it. */
static const char *take_keys(
    struct hl_key_keeper *keeper, enum hl_key_source source, struct hl_str text)
{
    struct hl_key_list list;
    unsigned ignored;
    enum hl_err err = hl_jwks_read(text, &list, &ignored);
    if (err == HL_ERR_INVALID)
        return "it is not a JSON Web Key Set";
    size_t n = list.n;
    if (err == HL_OK && n == 0 && source == HL_KEYS_URL)
        return "it has no usable key (ES256 or RS256)";
    if (err == HL_OK)
        err = hl_registry_set_keys(keeper->registry, source, &list);
    if (err)
        return hl_err_text(err);
    if (n == 0)
        HL_LOG(WARN, "HOOKLINE_JWT_JWKS_FILE: it has no usable key (ES256 or RS256): no token can "
                     "be checked with it");
    HL_LOG(INFO, "keys for tokens from outside",
        HL_LOG_TEXT("from", source == HL_KEYS_FILE ? "HOOKLINE_JWT_JWKS_FILE" : fetched_by(keeper)),
        HL_LOG_INT("keys", n), HL_LOG_INT("ignored", ignored));
    return NULL;
}

static const char *read_whole(const char *path, struct hl_buf *out, struct stat *seen)
{
    int fd;
    enum hl_err err = hl_file_open(path, &fd);
    if (err || fstat(fd, seen) != 0) {
        if (fd >= 0)
            close(fd);
        return err == HL_ERR_NO_FILE ? "it is not a regular file" : "it cannot be read";
    }
    char chunk[16 * 1024];
    const char *fault = NULL;
    ssize_t n;
    while (!fault && (n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0)
            fault = "it cannot be read";
        else if (hl_buf_append(out, chunk, (size_t)n) != HL_OK)
            fault = "it is larger than allowed";
    }
    close(fd);
    return fault;
}

static const char *load_file(struct hl_key_keeper *keeper)
{
    struct hl_buf text;
    hl_buf_init(&text, HL_JWKS_MAX);
    const char *fault = read_whole(keeper->config->jwt_jwks_file.p, &text, &keeper->file_seen);
    if (!fault)
        fault = take_keys(keeper, HL_KEYS_FILE, hl_buf_str(&text));
    hl_buf_fini(&text);
    return fault;
}

enum hl_err hl_key_keeper_read_file(struct hl_key_keeper *keeper, char *why, size_t why_len)
{
    const char *path = keeper->config->jwt_jwks_file.p;
    const char *fault = keeper->config->jwt_jwks_file.n > 0 ? load_file(keeper) : NULL;
    if (fault)
        snprintf(why, why_len,
            "HOOKLINE_JWT_JWKS_FILE: '%s': %s; a file like {\"keys\":[...]} is expected", path,
            fault);
    return fault ? HL_ERR_INVALID : HL_OK;
}

static void count_fetch(struct hl_key_keeper *keeper, const char *fault)
{
    hl_counter_add(fault ? &keeper->fetches_failed : &keeper->fetches_ok, 1);
}

static void look_at_file(struct hl_key_keeper *keeper)
{
    struct stat now;
    const char *path = keeper->config->jwt_jwks_file.p;
    if (stat(path, &now) == 0 && !hl_file_has_changed(&keeper->file_seen, &now))
        return;
    const char *fault = load_file(keeper);
    count_fetch(keeper, fault);
    if (fault && !keeper->is_file_bad)
        HL_LOG(WARN, "HOOKLINE_JWT_JWKS_FILE: the previous keys stay valid",
            HL_LOG_TEXT("error", fault));
    keeper->is_file_bad = fault != NULL;
}

#define AUTHORITIES "HOOKLINE_JWT_CA_FILE"

enum hl_err hl_key_keeper_read_authorities(struct hl_key_keeper *keeper, char *why, size_t why_len)
{
    return hl_trust_init(&keeper->trust, AUTHORITIES, keeper->config->jwt_ca_file, why, why_len);
}

/* Nobody needs them but a fetch. */
static void look_at_authorities(struct hl_key_keeper *keeper)
{
    hl_trust_look(&keeper->trust, AUTHORITIES, keeper->config->jwt_ca_file);
    keeper->fetcher.ca_file = keeper->trust.fd >= 0 ? keeper->trust.file : NULL;
}

/* An issuer is asked anew each time: it may move its keys. */
static const char *fetch_set(struct hl_key_keeper *keeper, struct hl_buf *text)
{
    const struct hl_config *config = keeper->config;
    char found[HL_DISCOVERY_URL_MAX];
    struct hl_str url = config->jwt_jwks_url;
    look_at_authorities(keeper);
    if (config->jwt_finds_keys) {
        const char *fault = hl_discover(
            &keeper->fetcher, config->jwt_issuer, hl_clock_mono_ms() + HL_KEY_FETCH_MS, found);
        if (fault)
            return fault;
        url = hl_str_from(found);
    }
    return hl_key_fetch(&keeper->fetcher, url, hl_clock_mono_ms() + HL_KEY_FETCH_MS, text);
}

static void warn_of_fetch(const struct hl_key_keeper *keeper, const char *fault)
{
    const struct hl_config *config = keeper->config;
    struct hl_url url;
    char msg[128];
    if (!hl_url_parse(config->jwt_finds_keys ? config->jwt_issuer : config->jwt_jwks_url, &url))
        return;
    snprintf(msg, sizeof(msg), "%s: no keys could be fetched; the previous ones stay valid",
        fetched_by(keeper));
    HL_LOG(WARN, msg, HL_LOG_STR("host", url.host), HL_LOG_TEXT("error", fault));
}

static void fetch_url(struct hl_key_keeper *keeper)
{
    struct hl_buf text;
    hl_buf_init(&text, HL_JWKS_MAX);
    const char *fault = fetch_set(keeper, &text);
    if (!fault)
        fault = take_keys(keeper, HL_KEYS_URL, hl_buf_str(&text));
    hl_buf_fini(&text);
    uint64_t now = hl_clock_mono_ms();
    keeper->url_due_ms = now + (fault ? URL_FAILED_MS : URL_EVERY_MS);
    if (atomic_load(&keeper->stops))
        return;
    count_fetch(keeper, fault);
    if (!fault) {
        atomic_store(&keeper->has_url_keys, true);
        atomic_store(&keeper->url_read_ms.v, (uint64_t)hl_clock_wall_ms());
    } else {
        warn_of_fetch(keeper, fault);
    }
}

/* ---- the thread ---- */

static void wake(void *arg)
{
    struct hl_key_keeper *keeper = arg;
    curl_multi_wakeup(keeper->fetcher.http.multi);
}

static void take_mail(struct hl_key_keeper *keeper)
{
    struct hl_msg *next;
    for (struct hl_msg *msg = hl_mailbox_take(&keeper->mail); msg; msg = next) {
        next = msg->next;
        if (msg->type == HL_AUTH_CHECKED)
            keeper->held[keeper->held_n++] = HL_CONTAINER_OF(msg, struct hl_check, msg);
        else {
            free(msg); /* the store's word on what it was told: it may be lost */
            keeper->untold--;
        }
    }
}

static void answer_held(struct hl_key_keeper *keeper)
{
    for (size_t i = 0; i < keeper->held_n; i++) {
        atomic_fetch_sub(&keeper->parked, 1);
        hl_check_answer(keeper->held[i], HL_CHECK_OPEN);
    }
    keeper->held_n = 0;
}

/* Some wait whose signature nobody known has made. */
static bool holds_doubted(const struct hl_key_keeper *keeper)
{
    for (size_t i = 0; i < keeper->held_n; i++)
        if (keeper->held[i]->result == HL_CHECK_BAD)
            return true;
    return false;
}

/* Some wait whose name is not known. What was looked for among older keys may be here by now: it is no
 * reason to ask, which the next name that is new could not do for a while. */
static bool holds_unknown(const struct hl_key_keeper *keeper)
{
    uint64_t version = atomic_load(&keeper->registry->version);
    for (size_t i = 0; i < keeper->held_n; i++)
        if (keeper->held[i]->result != HL_CHECK_BAD && keeper->held[i]->looked_at == version)
            return true;
    return false;
}

/* All sources, now. A fetch that is due anyway is nobody's: the next name that is new has one of its own. */
static bool is_asked(struct hl_key_keeper *keeper, uint64_t now, bool is_url_due)
{
    bool is_unknown = holds_unknown(keeper) && now >= atomic_load(&keeper->asked_again_ms);
    if (is_unknown) {
        atomic_store(&keeper->is_fetching, true); /* first: who comes now waits for this one */
        if (!is_url_due)
            atomic_store(&keeper->asked_again_ms, now + ASK_AGAIN_MS);
    }
    return is_unknown || holds_doubted(keeper);
}

/* Nothing is lost when it cannot answer: the next unknown name asks it again. */
static void look_at_store(struct hl_key_keeper *keeper)
{
    enum hl_err err = keeper->read_own_keys(keeper->self);
    if (err)
        HL_LOG(WARN, "auth: the store cannot say which keys were imported",
            HL_LOG_TEXT("error", hl_err_text(err)));
}

static void refresh(struct hl_key_keeper *keeper)
{
    const struct hl_config *config = keeper->config;
    uint64_t now = hl_clock_mono_ms();
    bool is_url_due = hl_key_keeper_fetches(keeper) && now >= keeper->url_due_ms;
    bool asked = is_asked(keeper, now, is_url_due);
    bool wants_url = is_url_due || (asked && hl_key_keeper_fetches(keeper));
    atomic_store(&keeper->is_fetching, asked || wants_url);
    if (config->jwt_jwks_file.n > 0 && (asked || now >= keeper->file_due_ms)) {
        look_at_file(keeper);
        keeper->file_due_ms = now + FILE_EVERY_MS;
    }
    if (asked && keeper->read_own_keys)
        look_at_store(keeper);
    if (wants_url)
        fetch_url(keeper);
    atomic_store(&keeper->is_fetching, false);
}

static void report_uses(struct hl_key_keeper *keeper)
{
    size_t n = HL_TOUCH_MAX;
    while (n == HL_TOUCH_MAX) {
        struct hl_touch_accounts *touch = calloc(1, sizeof(*touch));
        n = touch ? hl_registry_take_uses(keeper->registry, touch->uses) : 0;
        if (n == 0) {
            free(touch);
            return;
        }
        touch->n = n;
        touch->m.msg.type = HL_STORE_TOUCH_ACCOUNTS;
        touch->m.reply_to = &keeper->mail;
        if (hl_store_post(keeper->store, &touch->m) == HL_OK)
            keeper->untold++;
        else
            free(touch);
    }
}

static uint64_t earliest(const struct hl_key_keeper *keeper)
{
    uint64_t due = keeper->uses_due_ms;
    if (keeper->config->jwt_jwks_file.n > 0 && keeper->file_due_ms < due)
        due = keeper->file_due_ms;
    if (hl_key_keeper_fetches(keeper) && keeper->url_due_ms < due)
        due = keeper->url_due_ms;
    return due;
}

static void keeper_main(void *arg)
{
    struct hl_key_keeper *keeper = arg;
    while (!atomic_load(&keeper->stops)) {
        take_mail(keeper);
        refresh(keeper);
        take_mail(keeper); /* whoever came during the fetch looks again too */
        answer_held(keeper);
        uint64_t now = hl_clock_mono_ms();
        if (now >= keeper->uses_due_ms) {
            report_uses(keeper);
            keeper->uses_due_ms = now + USES_EVERY_MS;
        }
        uint64_t due = earliest(keeper);
        if (due > now && !atomic_load(&keeper->stops))
            curl_multi_poll(keeper->fetcher.http.multi, NULL, 0, (int)(due - now), NULL);
    }
    report_uses(keeper);
    for (take_mail(keeper); keeper->untold > 0; take_mail(keeper))
        curl_multi_poll(keeper->fetcher.http.multi, NULL, 0, 1000, NULL);
    answer_held(keeper);
}

int hl_key_keeper_start(struct hl_key_keeper *keeper)
{
    uint64_t now = hl_clock_mono_ms();
    if (!hl_fetcher_init(&keeper->fetcher.http))
        return ENOMEM;
    keeper->fetcher.http.stops = &keeper->stops;
    if (keeper->config->jwt_keys_token_file.n > 0)
        keeper->fetcher.token_file = keeper->config->jwt_keys_token_file.p;
    hl_mailbox_init(&keeper->mail, wake, keeper);
    keeper->file_due_ms = now + FILE_EVERY_MS;
    keeper->url_due_ms = now;
    keeper->uses_due_ms = now + USES_EVERY_MS;
    /* Before the first answer every name waits for it. */
    atomic_store(&keeper->is_fetching, hl_key_keeper_fetches(keeper));
    int err = hl_thread_start(&keeper->thread, "auth-keys", keeper_main, keeper);
    keeper->is_started = err == 0;
    return err;
}

void hl_key_keeper_stop(struct hl_key_keeper *keeper)
{
    atomic_store(&keeper->stops, true);
    if (!keeper->is_started)
        return;
    curl_multi_wakeup(keeper->fetcher.http.multi);
    hl_thread_join(&keeper->thread);
    keeper->is_started = false;
}

void hl_key_keeper_fini(struct hl_key_keeper *keeper)
{
    hl_trust_fini(&keeper->trust);
    if (!keeper->fetcher.http.multi)
        return;
    take_mail(keeper);
    for (size_t i = 0; i < keeper->held_n; i++)
        hl_check_free(keeper->held[i]);
    hl_fetcher_fini(&keeper->fetcher.http);
}

static bool has_outside_source(const struct hl_key_keeper *keeper)
{
    return keeper->config->jwt_jwks_file.n > 0 || hl_key_keeper_fetches(keeper);
}

static bool hold(struct hl_key_keeper *keeper, struct hl_check *check)
{
    if (atomic_fetch_add(&keeper->parked, 1) >= HL_KEEPER_PARKED_MAX) {
        atomic_fetch_sub(&keeper->parked, 1);
        return false;
    }
    hl_mailbox_post(&keeper->mail, &check->msg);
    return true;
}

bool hl_key_keeper_park(struct hl_key_keeper *keeper, struct hl_check *check, uint64_t looked_at)
{
    bool has_source = has_outside_source(keeper) || keeper->read_own_keys;
    bool may_park = atomic_load(&keeper->is_fetching) ||
                    hl_clock_mono_ms() >= atomic_load(&keeper->asked_again_ms) ||
                    atomic_load(&keeper->registry->version) != looked_at;
    check->looked_at = looked_at;
    return has_source && may_park && hold(keeper, check);
}

bool hl_key_keeper_doubt(struct hl_key_keeper *keeper, struct hl_check *check)
{
    uint64_t now = hl_clock_mono_ms(), again = atomic_load(&keeper->doubted_again_ms);
    if (!has_outside_source(keeper) || now < again ||
        !atomic_compare_exchange_strong(&keeper->doubted_again_ms, &again, now + ASK_AGAIN_MS))
        return false;
    return hold(keeper, check);
}
