/* seat.c - one thread's access to auth: it answers who is calling.
 * Owns: the tokens that it has seen, good and bad, and those whose signature is being checked.
 * Thread: the one that asks.
 * Promise: a token that is known costs no lock and no signature; what is looked at here before the
 * signature is cheap, and a flood of bad tokens meets it first. What cannot be decided is refused.
 * Not here: signatures (checker.c), fetching keys (key_keeper.c). */
#include "auth/seat.h"

#include <stdlib.h>

#include "auth/checker.h"
#include "auth/principal.h"
#include "auth/state.h"
#include "auth/token_cache.h"
#include "auth/verify_key.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"

#define BAD_PLACES   1024
#define USE_NOTED_MS (60 * 1000)
#define UNSURE_MS    500

/* A token whose signature is being checked, and all who wait for it. */
struct pending {
    struct hl_list node; /* in seat->pending */
    struct hl_slot_name name;
    uint64_t print;
    uint64_t keys_version; /* of the set that its keys are from */
    struct hl_list waits;
};

struct hl_auth_seat {
    struct hl_auth *auth;
    struct hl_mailbox *mailbox;
    struct hl_token_cache good;
    struct hl_key_set *keys; /* a reference to the set of `keys_version` */
    uint64_t keys_version;
    uint64_t secret[2]; /* of the prints */
    uint64_t unsure;    /* print of the last token whose account nobody could tell; 0: none */
    uint64_t unsure_ms; /* CLOCK_MONOTONIC: until when it is not asked for again */
    /* prints of tokens whose signature was wrong by these keys; 0: none */
    uint64_t bad[BAD_PLACES];
    struct hl_list pending;
    struct hl_slot_table slots;
    struct hl_auth_counts counts;
};

struct hl_auth_seat *hl_auth_seat_new(struct hl_auth *auth, struct hl_mailbox *mailbox)
{
    struct hl_auth_seat *seat = calloc(1, sizeof(*seat));
    if (!seat)
        return NULL;
    seat->auth = auth;
    seat->mailbox = mailbox;
    hl_token_cache_init(&seat->good);
    hl_random_fill(seat->secret, sizeof seat->secret);
    hl_list_init(&seat->pending);
    hl_slot_table_init(&seat->slots);
    seat->keys = hl_registry_keys(&auth->registry, &seat->keys_version);
    return seat;
}

void hl_auth_seat_free(struct hl_auth_seat *seat)
{
    if (!seat)
        return;
    struct hl_list *node;
    while ((node = hl_list_pop_front(&seat->pending)) != NULL)
        free(HL_CONTAINER_OF(node, struct pending, node));
    hl_slot_table_fini(&seat->slots);
    hl_token_cache_fini(&seat->good);
    hl_key_set_release(seat->keys);
    free(seat);
}

const struct hl_auth_counts *hl_auth_seat_counts(const struct hl_auth_seat *seat)
{
    return &seat->counts;
}

void hl_auth_wait_init(struct hl_auth_wait *wait, void (*on_checked)(struct hl_auth_wait *wait))
{
    hl_list_init(&wait->node);
    wait->on_checked = on_checked;
}

void hl_auth_cancel(struct hl_auth_wait *wait)
{
    hl_list_remove(&wait->node);
}

static enum hl_auth_verdict refuse(
    struct hl_auth_seat *seat, struct hl_refusal *why, enum hl_refusal_cause cause)
{
    hl_counter_add(&seat->counts.refused, 1);
    hl_refuse(why, cause);
    return HL_AUTH_REFUSED;
}

/* ---- a token that is known ---- */

/* Seldom enough that a shared line is not fought over. */
static void note_use(struct hl_good_token *good, int64_t now_ms)
{
    if (now_ms - good->use_noted_ms < USE_NOTED_MS)
        return;
    good->use_noted_ms = now_ms;
    if (good->account)
        atomic_store_explicit(&good->account->used_ms, now_ms, memory_order_relaxed);
    else if (good->outsider)
        hl_outsider_note_use(good->outsider);
}

/* Its account is not revoked; from outside: what its limits are counted by is its subject's still. */
static bool is_counted_for(const struct hl_good_token *good)
{
    if (good->account)
        return !atomic_load(&good->account->is_revoked);
    return !good->outsider || atomic_load(&good->outsider->generation) == good->generation;
}

static bool is_still_good(const struct hl_good_token *good, int64_t now_ms)
{
    return now_ms < good->refused_from_ms && !atomic_load(&good->key->is_retired) &&
           is_counted_for(good);
}

static enum hl_auth_verdict grant(struct hl_auth_seat *seat, struct hl_good_token *good,
    struct hl_str project, int64_t now_ms, const struct hl_principal **who, struct hl_refusal *why)
{
    bool reaches =
        project.n == 0 || good->who.has_all_projects || hl_str_eq(good->who.project, project);
    note_use(good, now_ms);
    if (!reaches && good->who.project.n == 0)
        return refuse(seat, why, HL_REFUSAL_TOKEN_NO_PROJECT);
    if (!reaches)
        return refuse(seat, why, HL_REFUSAL_TOKEN_OTHER_PROJECT);
    hl_counter_add(&seat->counts.cached, 1);
    *who = &good->who;
    return HL_AUTH_GRANTED;
}

static enum hl_auth_verdict judge_new(struct hl_auth_seat *seat, struct hl_str token,
    int64_t now_ms, struct hl_refusal *why, struct hl_auth_wait *wait);

enum hl_auth_verdict hl_auth_check(struct hl_auth_seat *seat, struct hl_str token,
    struct hl_str project, const struct hl_principal **who, struct hl_refusal *why,
    struct hl_auth_wait *wait)
{
    struct hl_good_token *good = hl_token_cache_find(&seat->good, token);
    int64_t now_ms = hl_clock_wall_ms();
    if (good && is_still_good(good, now_ms))
        return grant(seat, good, project, now_ms, who, why);
    if (good)
        hl_token_cache_drop(&seat->good, good);
    return judge_new(seat, token, now_ms, why, wait);
}

/* ---- one that is not: what can be told before its signature ---- */

/* Other keys may make another judgement. */
static void take_keys(struct hl_auth_seat *seat)
{
    struct hl_registry *registry = &seat->auth->registry;
    if (atomic_load(&registry->version) == seat->keys_version)
        return;
    hl_key_set_release(seat->keys);
    seat->keys = hl_registry_keys(registry, &seat->keys_version);
    memset(seat->bad, 0, sizeof seat->bad);
}

/* Of a token, never 0. */
static uint64_t print_of(const struct hl_auth_seat *seat, struct hl_str token)
{
    return hl_siphash(seat->secret, token) | 1;
}

static struct pending *find_pending(struct hl_auth_seat *seat, uint64_t print)
{
    HL_LIST_EACH_SAFE (node, &seat->pending) {
        struct pending *pending = HL_CONTAINER_OF(node, struct pending, node);
        if (pending->print == print)
            return pending;
    }
    return NULL;
}

/* What the claims of a token say that this key would have signed. NONE, or why they are refused. */
static enum hl_refusal_cause read_claims(const struct hl_auth *auth,
    const struct hl_verify_key *key, const json_t *json, struct hl_claims *claims)
{
    return key->is_own ? hl_claims_read_own(json, claims)
                       : hl_claims_read_outside(json, &auth->rules, claims);
}

/* One that is not known may be in a store that others share: that is looked up behind the signature. */
static enum hl_refusal_cause judge_account(struct hl_auth *auth, const struct hl_id *account)
{
    enum hl_account_standing standing = hl_registry_standing(&auth->registry, account);
    bool may_be_found = standing == HL_ACCOUNT_UNKNOWN && auth->checker.store;
    return standing == HL_ACCOUNT_GOOD || may_be_found ? HL_REFUSAL_NONE : HL_REFUSAL_TOKEN_ACCOUNT;
}

/* Everything but the signature. NONE, or why it is refused. */
static enum hl_refusal_cause judge_claims(
    struct hl_auth *auth, const struct hl_verify_key *key, const struct hl_jwt *jwt, int64_t now_ms)
{
    struct hl_claims claims;
    if (key->alg != jwt->alg)
        return HL_REFUSAL_TOKEN_KEY_ALG;
    enum hl_refusal_cause fault = read_claims(auth, key, jwt->claims, &claims);
    if (!fault)
        fault = hl_claims_judge_time(&claims, now_ms);
    if (!fault && !hl_id_is_nil(&claims.account))
        fault = judge_account(auth, &claims.account);
    return fault;
}

/* The keys that may have signed a token. */
struct choice {
    struct hl_verify_key *keys[HL_KEYS_TRIED_MAX];
    size_t n;
};

/* Posts the check to whoever can make it; without a key: to the keeper of keys. False: it was not
 * taken. */
static bool post(struct hl_auth_seat *seat, struct hl_str token, struct hl_jwt *jwt,
    const struct choice *choice, struct hl_slot_name from)
{
    struct hl_auth *auth = seat->auth;
    struct hl_check *check = hl_check_new(token, jwt, choice->keys, choice->n);
    if (!check)
        return false;
    check->reply_to = seat->mailbox;
    check->from = from;
    bool is_taken = choice->n > 0 ? hl_checker_submit(&auth->checker, check)
                                  : hl_key_keeper_park(&auth->keeper, check, seat->keys_version);
    if (!is_taken)
        hl_check_free(check);
    return is_taken;
}

static bool send_away(struct hl_auth_seat *seat, struct hl_str token, uint64_t print,
    struct hl_jwt *jwt, const struct choice *choice, struct hl_auth_wait *wait)
{
    struct pending *pending = calloc(1, sizeof(*pending));
    if (!pending)
        return false;
    pending->name = hl_slot_add(&seat->slots, pending);
    if (pending->name.generation == 0 || !post(seat, token, jwt, choice, pending->name)) {
        hl_slot_remove(&seat->slots, pending->name);
        free(pending);
        return false;
    }
    pending->print = print;
    pending->keys_version = seat->keys_version;
    hl_list_init(&pending->waits);
    hl_list_push_back(&pending->waits, &wait->node);
    hl_list_push_back(&seat->pending, &pending->node);
    return true;
}

/* As it says of itself; and our own key is in a store that has not been read yet. */
static bool may_be_ours(const struct hl_auth_seat *seat, const struct hl_jwt *jwt)
{
    struct hl_claims claims;
    return seat->keys->sources[HL_KEYS_OWN].n == 0 && jwt->has_kid && jwt->alg == HL_ALG_ES256 &&
           hl_claims_read_own(jwt->claims, &claims) == HL_REFUSAL_NONE;
}

static enum hl_auth_verdict refuse_unknown(struct hl_auth_seat *seat, struct hl_refusal *why)
{
    const struct hl_auth *auth = seat->auth;
    if (hl_key_keeper_fetches(&auth->keeper) && !atomic_load(&auth->keeper.has_url_keys))
        return refuse(seat, why, HL_REFUSAL_KEYS_NOT_HAD);
    return refuse(seat, why, HL_REFUSAL_TOKEN_KEY);
}

/* It is well-formed. Does not take what `jwt` owns, unless it is on its way. */
static enum hl_auth_verdict judge_formed(struct hl_auth_seat *seat, struct hl_str token,
    uint64_t print, struct hl_jwt *jwt, int64_t now_ms, struct hl_refusal *why,
    struct hl_auth_wait *wait)
{
    struct choice choice;
    choice.n = hl_key_set_find(seat->keys, jwt, choice.keys);
    enum hl_refusal_cause fault = HL_REFUSAL_NONE;
    if (choice.n > 0) /* the claims mean the same with each of them */
        fault = judge_claims(seat->auth, choice.keys[0], jwt, now_ms);
    if (fault)
        return refuse(seat, why, fault);
    if (choice.n == 0 && may_be_ours(seat, jwt))
        return refuse(seat, why, HL_REFUSAL_ACCOUNT_UNREAD);
    if (send_away(seat, token, print, jwt, &choice, wait))
        return HL_AUTH_PENDING;
    if (choice.n == 0)
        return refuse_unknown(seat, why);
    hl_counter_add(&seat->counts.overflowed, 1);
    return refuse(seat, why, HL_REFUSAL_TOO_MANY_TOKENS);
}

static enum hl_auth_verdict judge_new(struct hl_auth_seat *seat, struct hl_str token,
    int64_t now_ms, struct hl_refusal *why, struct hl_auth_wait *wait)
{
    struct hl_jwt jwt;
    take_keys(seat);
    uint64_t print = print_of(seat, token);
    if (seat->bad[print / 2 % BAD_PLACES] == print)
        return refuse(seat, why, HL_REFUSAL_TOKEN_SIGNATURE);
    if (seat->unsure == print && hl_clock_mono_ms() < seat->unsure_ms)
        return refuse(seat, why, HL_REFUSAL_ACCOUNT_UNREAD);
    struct pending *pending = find_pending(seat, print);
    if (pending) {
        hl_list_push_back(&pending->waits, &wait->node);
        return HL_AUTH_PENDING;
    }
    enum hl_refusal_cause fault = hl_jwt_read(token, &jwt);
    if (fault)
        return refuse(seat, why, fault);
    enum hl_auth_verdict verdict = judge_formed(seat, token, print, &jwt, now_ms, why, wait);
    hl_jwt_fini(&jwt);
    return verdict;
}

/* ---- the answer ---- */

/* Out of memory: it will be checked again. */
static void remember_good(struct hl_auth_seat *seat, const struct hl_check *check)
{
    struct hl_auth *auth = seat->auth;
    struct hl_claims claims;
    struct hl_str token = {check->token, check->token_n};
    if (read_claims(auth, check->key, check->jwt.claims, &claims))
        return;
    struct hl_known_account *account = NULL;
    if (!hl_id_is_nil(&claims.account)) {
        account = hl_registry_account(&auth->registry, &claims.account);
        if (!account)
            return; /* revoked meanwhile */
    }
    char room[HL_IDENTITY_MAX];
    struct hl_str identity = hl_identity_write(&claims, room);
    struct hl_outsider *outsider = NULL;
    uint32_t generation = 0;
    if (auth->rules.has_limits && !claims.is_own) {
        outsider = hl_outsiders_meet(&auth->outsiders, identity, &claims.limits, &generation);
        if (!outsider)
            return;
    }
    struct hl_principal who = {.role = claims.role,
        .has_all_projects = claims.has_all_projects,
        .project = claims.project,
        .subject = claims.subject,
        .identity = identity,
        .identity_hash = hl_siphash(auth->identity_seed, identity),
        .account = claims.account,
        .quota = account    ? &account->quota
                 : outsider ? &outsider->quota
                            : NULL,
        .expires_ms = claims.expires_ms,
        .key = check->key->serial};
    struct hl_good_token *good = hl_good_token_new(token, &who, check->key);
    if (!good)
        return;
    good->account = account;
    good->outsider = outsider;
    good->generation = generation;
    good->refused_from_ms = claims.expires_ms + HL_CLAIM_LEEWAY_MS;
    hl_token_cache_put(&seat->good, good);
}

/* Not what keys that are no longer the set's had to say. */
static void remember_bad(struct hl_auth_seat *seat, const struct pending *pending)
{
    if (pending->keys_version == atomic_load(&seat->auth->registry.version))
        seat->bad[pending->print / 2 % BAD_PLACES] = pending->print;
}

static void remember_unsure(struct hl_auth_seat *seat, uint64_t print)
{
    seat->unsure = print;
    seat->unsure_ms = hl_clock_mono_ms() + UNSURE_MS;
}

/* It comes back when the keys have been fetched anew. */
static bool is_doubted(struct hl_auth_seat *seat, struct hl_check *check)
{
    return check->result == HL_CHECK_BAD && !check->keys[0]->is_own &&
           hl_key_keeper_doubt(&seat->auth->keeper, check);
}

void hl_auth_seat_on_message(struct hl_auth_seat *seat, struct hl_msg *msg)
{
    struct hl_check *check = HL_CONTAINER_OF(msg, struct hl_check, msg);
    struct pending *pending = hl_slot_find(&seat->slots, check->from);
    HL_ASSERT(pending); /* it stays until its answer is here */
    if (is_doubted(seat, check))
        return;
    if (check->result != HL_CHECK_OPEN)
        hl_counter_add(&seat->counts.checked, 1);
    if (check->result == HL_CHECK_GOOD)
        remember_good(seat, check);
    else if (check->result == HL_CHECK_BAD)
        remember_bad(seat, pending);
    else if (check->result == HL_CHECK_UNSURE)
        remember_unsure(seat, pending->print);
    hl_check_free(check);

    hl_slot_remove(&seat->slots, pending->name);
    hl_list_remove(&pending->node);
    struct hl_list *node;
    while ((node = hl_list_pop_front(&pending->waits)) != NULL) {
        struct hl_auth_wait *wait = HL_CONTAINER_OF(node, struct hl_auth_wait, node);
        wait->on_checked(wait);
    }
    free(pending);
}
