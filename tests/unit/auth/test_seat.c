/* test_seat.c - two threads' seats and what they are told: a token once checked is known, and what
 * takes it away counts in both at once; an account that is not known is looked up where others may
 * have made it. */
#include <criterion/criterion.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "auth/auth.h"
#include "auth/issuer.h"
#include "auth/outsider.h"
#include "auth/principal.h"
#include "base/buf.h"
#include "base/log.h"
#include "config/config.h"
#include "http/refusal.h"
#include "store/quota.h"
#include "auth/seat.h"
#include "base/clock.h"
#include "store/account.h"
#include "store/backend.h"
#include "token.h"

static struct hl_config *config;
static struct hl_store *store;
static struct hl_auth *auth;
static struct hl_str project;

static struct desk {
    struct hl_auth_seat *seat;
    struct hl_mailbox mail;
    sem_t wake;
} desks[2];

static void wake(void *arg)
{
    sem_post(&((struct desk *)arg)->wake);
}

static void open_auth(void)
{
    char why[256];
    cr_assert_eq(hl_auth_open(&auth, config, store, why, sizeof why), HL_OK, "%s", why);
    for (size_t i = 0; i < HL_ARRAY_LEN(desks); i++) {
        sem_init(&desks[i].wake, 0, 0);
        hl_mailbox_init(&desks[i].mail, wake, &desks[i]);
        desks[i].seat = hl_auth_seat_new(auth, &desks[i].mail);
        cr_assert(desks[i].seat);
    }
}

static void close_auth(void)
{
    hl_auth_stop(auth);
    for (size_t i = 0; i < HL_ARRAY_LEN(desks); i++) {
        hl_auth_seat_free(desks[i].seat);
        sem_destroy(&desks[i].wake);
    }
    hl_auth_free(auth);
}

#define VARIABLES                                                                                  \
    "HOOKLINE_STORE=memory", "HOOKLINE_DATA_DIR=/nonexistent", "HOOKLINE_LOG_LEVEL=error"

static void begin_with(char **variables)
{
    struct hl_buf problems, warnings;
    char why[256];
    hl_buf_init(&problems, 0);
    hl_buf_init(&warnings, 0);
    hl_log_setup(HL_LOG_ERROR, HL_LOG_PLAIN);
    cr_assert_eq(hl_config_load(&config, variables, &problems, &warnings), HL_OK);
    cr_assert_eq(config->auth, HL_AUTH_JWT, "the default");
    cr_assert_eq(hl_store_open(&store, config, why, sizeof why), HL_OK, "%s", why);
    project = HL_STR("p");
    open_auth();
}

static void begin(void)
{
    char *variables[] = {VARIABLES, NULL};
    begin_with(variables);
}

static void end(void)
{
    close_auth();
    hl_store_close(store);
    hl_config_free(config);
}

TestSuite(seat, .init = begin, .fini = end);

static struct signer elsewhere;

static void begin_outside(void)
{
    char secret[128];
    signer_init(&elsewhere, HL_ALG_HS256);
    snprintf(secret, sizeof secret, "HOOKLINE_JWT_SECRET=%s", elsewhere.secret);
    char *variables[] = {VARIABLES, secret, "HOOKLINE_JWT_LIMITS=max_running=1,max_priority=low",
        "HOOKLINE_JWT_LIMIT_CLAIMS=max_running=most", NULL};
    begin_with(variables);
}

static void end_outside(void)
{
    end();
    signer_fini(&elsewhere);
}

TestSuite(outside, .init = begin_outside, .fini = end_outside);

/* ---- a store that others share ---- */

/* One over the memory store: says what the test wants of a single account. */
static struct shared {
    struct hl_store base;
    struct hl_store *inner;
    enum hl_err rc; /* of a look-up */
    bool has_account;
    struct hl_account account;
    unsigned asked;
    struct hl_watch_accounts watch;
    struct hl_old_key old_key; /* n 0: none */
} shared;

static void list_keys(struct hl_list_keys *l)
{
    l->keys[0] = shared.old_key;
    l->count = shared.old_key.n > 0;
    hl_mailbox_post(l->m.reply_to, &l->m.msg);
}

static void look_up(struct hl_list_accounts *l)
{
    shared.asked++;
    l->m.rc = shared.rc;
    if (shared.rc == HL_OK && shared.has_account) {
        l->rows = calloc(1, sizeof(*l->rows));
        cr_assert(l->rows);
        l->rows[0] = shared.account;
        l->count = 1;
    }
    hl_mailbox_post(l->m.reply_to, &l->m.msg);
}

static enum hl_err post_shared(struct hl_store *self, struct hl_store_msg *m)
{
    (void)self;
    if (m->msg.type == HL_STORE_WATCH_ACCOUNTS) {
        shared.watch = *(struct hl_watch_accounts *)m;
        m->rc = HL_OK;
        hl_mailbox_post(m->reply_to, &m->msg);
    } else if (m->msg.type == HL_STORE_LIST_ACCOUNTS &&
               ((struct hl_list_accounts *)m)->limit == 1) {
        look_up((struct hl_list_accounts *)m);
    } else if (m->msg.type == HL_STORE_LIST_KEYS) {
        list_keys((struct hl_list_keys *)m);
    } else {
        return hl_store_post(shared.inner, m);
    }
    return HL_OK;
}

static void close_shared(struct hl_store *self)
{
    (void)self;
    hl_store_close(shared.inner);
}

static void begin_over(enum hl_store_standing standing)
{
    static const struct hl_store_vt vt = {.post = post_shared, .close = close_shared};
    begin();
    close_auth();
    shared = (struct shared){.base = *store, .inner = store};
    shared.base.vt = &vt;
    shared.base.is_shared = true;
    shared.base.standing = standing;
    store = &shared.base;
    open_auth();
}

static void begin_shared(void)
{
    begin_over(HL_STORE_OPEN);
}

TestSuite(lookup, .init = begin_shared, .fini = end);

static void begin_unopened(void)
{
    begin_over(HL_STORE_OPENING);
}

TestSuite(late, .init = begin_unopened, .fini = end);

/* ---- asking ---- */

struct question {
    struct hl_auth_wait wait;
    bool is_answered;
};

static void on_checked(struct hl_auth_wait *wait)
{
    HL_CONTAINER_OF(wait, struct question, wait)->is_answered = true;
}

static const struct hl_principal *who;
static struct hl_refusal why_not;
static unsigned waited; /* how often the last question had to wait */

static void read_mail(struct desk *desk)
{
    sem_wait(&desk->wake);
    struct hl_msg *next;
    for (struct hl_msg *msg = hl_mailbox_take(&desk->mail); msg; msg = next) {
        next = msg->next;
        hl_auth_seat_on_message(desk->seat, msg);
    }
}

/* 200, or the status of the refusal. */
static unsigned ask(struct desk *desk, const char *token)
{
    struct question q = {0};
    hl_auth_wait_init(&q.wait, on_checked);
    waited = 0;
    for (;;) {
        switch (hl_auth_check(desk->seat, hl_str_from(token), project, &who, &why_not, &q.wait)) {
        case HL_AUTH_GRANTED:
            return 200;
        case HL_AUTH_REFUSED:
            return why_not.status;
        case HL_AUTH_PENDING:
            waited++;
            q.is_answered = false;
            while (!q.is_answered)
                read_mail(desk);
        }
    }
}

static char *sign_token(
    const struct hl_issuer *issuer, const struct hl_account *account, int64_t expires_in_ms)
{
    struct hl_buf out;
    int64_t now_ms = hl_clock_wall_ms();
    hl_buf_init(&out, 0);
    struct hl_grant grant = {.account = account ? account->id : (struct hl_id){0},
        .project = HL_STR("p"),
        .role = account ? account->role : HL_ROLE_ADMIN,
        .issued_ms = now_ms,
        .expires_ms = now_ms + expires_in_ms};
    cr_assert_eq(hl_issuer_sign(issuer, &grant, &out), HL_OK);
    cr_assert_eq(hl_buf_append(&out, "", 1), HL_OK);
    return out.p;
}

static char *make_token(const struct hl_account *account, int64_t expires_in_ms)
{
    return sign_token(hl_auth_issuer(auth), account, expires_in_ms);
}

static struct hl_account make_account(uint8_t number)
{
    struct hl_account account = {
        .project = "p", .name = "ci", .role = HL_ROLE_INVOKE, .limits = HL_LIMITS_NONE};
    memset(account.id.b, number, sizeof account.id.b);
    account.expires_ms = hl_clock_wall_ms() + 3600 * 1000;
    return account;
}

#define HOUR_MS (3600 * 1000)

Test(seat, a_token_of_an_account_is_checked_once_for_each_seat)
{
    struct hl_account account = make_account(1);
    char *token = make_token(&account, HOUR_MS);
    cr_assert(hl_auth_admit(auth, &account));
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(ask(&desks[i], token), 200, "%s", why_not.detail);
        cr_assert_eq(waited, 1);
        cr_assert(hl_id_eq(&who->account, &account.id));
        cr_assert(hl_str_eq(who->project, HL_STR("p")) && who->role == HL_ROLE_INVOKE);
        cr_assert_eq(who->subject.n, HL_ID_TEXT);
        cr_assert_eq(ask(&desks[i], token), 200);
        cr_assert_eq(waited, 0);
    }
    free(token);
}

Test(seat, a_revocation_counts_at_once_in_every_seat)
{
    struct hl_account account = make_account(1), other = make_account(2);
    char *token = make_token(&account, HOUR_MS), *others = make_token(&other, HOUR_MS);
    cr_assert(hl_auth_admit(auth, &account) && hl_auth_admit(auth, &other));
    for (size_t i = 0; i < 2; i++)
        cr_assert(ask(&desks[i], token) == 200 && ask(&desks[i], others) == 200);
    hl_auth_revoke(auth, &account.id);
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(ask(&desks[i], token), 401);
        cr_expect_eq(waited, 0);
        cr_expect_eq(ask(&desks[i], others), 200);
    }
    free(token);
    free(others);
}

Test(seat, other_limits_hold_at_once_for_tokens_that_are_known_in_every_seat)
{
    struct hl_account account = make_account(1);
    char *token = make_token(&account, HOUR_MS);
    account.limits.max_running = 1;
    cr_assert(hl_auth_admit(auth, &account));
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(ask(&desks[i], token), 200);
    cr_assert(hl_quota_enter(who->quota));
    cr_assert_not(hl_quota_enter(who->quota));
    account.limits.max_running = 0;
    account.limits.max_priority = HL_PRIORITY_HIGH;
    account.limits.revision = 1;
    hl_auth_limit(auth, &account);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(ask(&desks[i], token), 200);
        cr_assert_eq(waited, 0);
        cr_assert_not(hl_quota_has_limits(who->quota));
        cr_assert_eq(hl_principal_max_priority(who), HL_PRIORITY_HIGH);
    }
    hl_quota_leave(who->quota);
    free(token);
}

Test(seat, the_most_that_may_be_asked_for_is_the_accounts_or_normal_or_anything)
{
    struct hl_quota quota = {.has_limits = false};
    struct hl_principal someone = {.quota = NULL};
    struct hl_limits limits = HL_LIMITS_NONE;
    cr_assert_eq(hl_principal_max_priority(NULL), HL_PRIORITY_HIGH, "nobody was asked");
    cr_assert_eq(hl_principal_max_priority(&someone), HL_PRIORITY_NORMAL, "from outside");
    someone.quota = &quota;
    hl_quota_set(&quota, &limits);
    cr_assert_eq(hl_principal_max_priority(&someone), HL_PRIORITY_NORMAL);
    limits.max_priority = HL_PRIORITY_LOW;
    hl_quota_set(&quota, &limits);
    cr_assert_eq(hl_principal_max_priority(&someone), HL_PRIORITY_LOW);
    cr_assert_not(hl_quota_has_limits(&quota), "a class limits no call");
}

Test(seat, a_revocation_while_the_signature_is_checked_counts)
{
    struct hl_account account = make_account(1);
    char *token = make_token(&account, HOUR_MS);
    struct question q = {0};
    cr_assert(hl_auth_admit(auth, &account));
    hl_auth_wait_init(&q.wait, on_checked);
    cr_assert_eq(hl_auth_check(desks[0].seat, hl_str_from(token), project, &who, &why_not, &q.wait),
        HL_AUTH_PENDING);
    hl_auth_revoke(auth, &account.id);
    read_mail(&desks[0]);
    cr_assert(q.is_answered);
    cr_assert_eq(ask(&desks[0], token), 401);
    free(token);
}

Test(seat, an_account_that_nobody_admitted_is_refused_though_the_signature_is_ours)
{
    struct hl_account account = make_account(1);
    char *token = make_token(&account, HOUR_MS);
    cr_assert_eq(ask(&desks[0], token), 401);
    cr_assert_eq(waited, 0);
    cr_assert(strstr(why_not.fields, "invalid_token"));
    cr_assert(hl_auth_admit(auth, &account));
    cr_assert_eq(ask(&desks[0], token), 200);
    free(token);
}

Test(seat, an_account_that_was_revoked_before_it_was_admitted_stays_so)
{
    struct hl_account account = make_account(1);
    char *token = make_token(&account, HOUR_MS);
    hl_auth_revoke(auth, &account.id);
    cr_assert(hl_auth_admit(auth, &account));
    cr_assert_eq(ask(&desks[0], token), 401);
    free(token);
}

Test(lookup, an_account_that_another_replica_made_is_asked_for_once)
{
    shared.account = make_account(1);
    shared.has_account = true;
    char *token = make_token(&shared.account, HOUR_MS);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(ask(&desks[i], token), 200, "%s", why_not.detail);
    cr_assert_eq(shared.asked, 1);
    free(token);
}

/* The store was not asked for the key at the start: it was brought there since. */
Test(lookup, a_token_that_an_imported_key_has_signed_is_good)
{
    struct hl_issuer *issuer;
    char why[256];
    shared.old_key = (struct hl_old_key){.n = 32};
    memset(shared.old_key.bytes, 7, shared.old_key.n);
    struct hl_store old = {.signing_key = shared.old_key.bytes, .signing_key_n = shared.old_key.n};
    cr_assert_eq(hl_issuer_open(&issuer, &old, why, sizeof why), HL_OK, "%s", why);
    shared.account = make_account(1);
    shared.has_account = true;
    char *imported = sign_token(issuer, &shared.account, HOUR_MS);
    char *fresh = make_token(&shared.account, HOUR_MS);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(ask(&desks[i], imported), 200, "%s", why_not.detail);
        cr_assert_eq(ask(&desks[i], fresh), 200, "%s", why_not.detail);
    }
    hl_issuer_free(issuer);
    free(imported);
    free(fresh);
}

Test(lookup, one_that_is_not_there_is_refused_and_not_asked_for_again)
{
    struct hl_account account = make_account(1);
    char *token = make_token(&account, HOUR_MS);
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(ask(&desks[i % 2], token), 401);
    cr_assert_eq(shared.asked, 1);
    shared.account = make_account(3); /* the list goes on with the one before it */
    shared.has_account = true;
    account = make_account(2);
    char *other = make_token(&account, HOUR_MS);
    cr_assert_eq(ask(&desks[0], other), 401);
    free(token);
    free(other);
}

Test(lookup, one_that_is_revoked_is_refused)
{
    shared.account = make_account(1);
    shared.account.revoked_ms = 1;
    shared.has_account = true;
    char *token = make_token(&shared.account, HOUR_MS);
    cr_assert_eq(ask(&desks[0], token), 401);
    free(token);
}

Test(lookup, a_token_is_503_while_nobody_can_say)
{
    shared.account = make_account(1);
    shared.has_account = true;
    shared.rc = HL_ERR_UNAVAILABLE;
    char *token = make_token(&shared.account, HOUR_MS);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(ask(&desks[i], token), 503);
    shared.rc = HL_OK;
    while (ask(&desks[0], token) == 503)
        usleep(1000);
    cr_assert_eq(ask(&desks[0], token), 200);
    free(token);
}

Test(lookup, a_token_whose_signature_is_wrong_costs_no_question)
{
    struct hl_account account = make_account(1);
    char *token = make_token(&account, HOUR_MS);
    char *last = token + strlen(token) - 5;
    *last = *last == 'A' ? 'B' : 'A';
    cr_assert_eq(ask(&desks[0], token), 401);
    cr_assert_eq(shared.asked, 0);
    free(token);
}

Test(lookup, what_the_store_tells_counts_in_every_seat)
{
    struct hl_account account = make_account(1);
    char *token = make_token(&account, HOUR_MS);
    shared.watch.watch(shared.watch.watcher, &account.id, false, &account.limits);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(ask(&desks[i], token), 200);
    cr_assert_eq(shared.asked, 0);
    account.limits.max_queued = 5;
    shared.watch.watch(shared.watch.watcher, &account.id, false, &account.limits);
    cr_assert_eq(ask(&desks[0], token), 200);
    cr_assert(hl_quota_has_limits(who->quota));
    shared.watch.watch(shared.watch.watcher, &account.id, true, &account.limits);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(ask(&desks[i], token), 401);
    free(token);
}

Test(seat, a_session_needs_no_account_and_lasts_an_hour_at_most)
{
    char *token = make_token(NULL, HOUR_MS);
    cr_assert_eq(ask(&desks[0], token), 200);
    cr_assert_eq(who->role, HL_ROLE_ADMIN);
    free(token);
    struct hl_buf out;
    hl_buf_init(&out, 0);
    struct hl_grant grant = {
        .project = HL_STR("p"), .role = HL_ROLE_ADMIN, .issued_ms = 0, .expires_ms = HOUR_MS + 1};
    cr_assert_eq(hl_issuer_sign(hl_auth_issuer(auth), &grant, &out), HL_ERR_INVALID);
}

Test(seat, a_token_of_one_project_is_known_and_403_for_another)
{
    char *token = make_token(NULL, HOUR_MS);
    cr_assert_eq(ask(&desks[0], token), 200);
    project = HL_STR("q");
    cr_assert_eq(ask(&desks[0], token), 403);
    cr_assert_eq(waited, 0);
    project = HL_STR("");
    cr_assert_eq(ask(&desks[0], token), 200, "where none is asked for");
    free(token);
}

Test(seat, a_bad_signature_is_looked_at_once)
{
    char *token = make_token(NULL, HOUR_MS);
    char *last = token + strlen(token) - 5;
    *last = *last == 'A' ? 'B' : 'A';
    cr_assert_eq(ask(&desks[0], token), 401);
    cr_assert_eq(waited, 1);
    cr_assert_eq(ask(&desks[0], token), 401);
    cr_assert_eq(waited, 0);
    free(token);
}

Test(seat, many_who_come_with_one_new_token_wait_for_one_check)
{
    char *token = make_token(NULL, HOUR_MS);
    struct question many[20] = {0};
    for (size_t i = 0; i < HL_ARRAY_LEN(many); i++) {
        hl_auth_wait_init(&many[i].wait, on_checked);
        cr_assert_eq(hl_auth_check(
                         desks[0].seat, hl_str_from(token), project, &who, &why_not, &many[i].wait),
            HL_AUTH_PENDING);
    }
    hl_auth_cancel(&many[7].wait);
    read_mail(&desks[0]);
    for (size_t i = 0; i < HL_ARRAY_LEN(many); i++)
        cr_expect_eq(many[i].is_answered, i != 7, "%zu", i);
    cr_assert_eq(hl_counter_get(&hl_auth_seat_counts(desks[0].seat)->checked), 1);
    free(token);
}

Test(seat, the_key_of_a_memory_store_dies_with_the_process)
{
    char *token = make_token(NULL, HOUR_MS);
    close_auth();
    open_auth();
    cr_assert_eq(ask(&desks[0], token), 401);
    free(token);
}

static void catch_up(void)
{
    shared.base.standing = HL_STORE_OPEN;
    hl_auth_catch_up(auth);
    while (!hl_auth_is_complete(auth))
        usleep(1000);
}

/* Signed by whom nobody knows yet, and says that it is ours. */
static char *make_foreign_token(struct hl_account *account)
{
    struct hl_auth *other;
    char why[256];
    shared.base.standing = HL_STORE_OPEN;
    cr_assert_eq(hl_auth_open(&other, config, store, why, sizeof why), HL_OK, "%s", why);
    struct hl_auth *ours = auth;
    auth = other;
    char *token = make_token(account, HOUR_MS);
    auth = ours;
    hl_auth_stop(other);
    hl_auth_free(other);
    shared.base.standing = HL_STORE_OPENING;
    return token;
}

Test(late, what_may_be_ours_is_503_until_our_key_is_read_and_then_judged)
{
    struct hl_account account = make_account(1);
    char *foreign = make_foreign_token(&account);
    cr_assert_not(hl_auth_is_complete(auth));
    cr_assert_null(hl_auth_issuer(auth));
    cr_assert_eq(ask(&desks[0], foreign), 503);
    cr_assert_gt(why_not.retry_s, 0);
    cr_assert_eq(ask(&desks[0], "no.token.atall"), 401);
    catch_up();
    cr_assert_eq(ask(&desks[0], foreign), 401);
    char *token = make_token(&account, HOUR_MS);
    cr_assert(hl_auth_admit(auth, &account));
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(ask(&desks[i], token), 200, "%s", why_not.detail);
    free(foreign);
    free(token);
}

Test(late, what_others_do_with_accounts_meanwhile_counts)
{
    struct hl_account account = make_account(1);
    shared.watch.watch(shared.watch.watcher, &account.id, true, &account.limits);
    catch_up();
    char *token = make_token(&account, HOUR_MS);
    cr_assert_eq(ask(&desks[0], token), 401);
    cr_assert_eq(shared.asked, 0);
    free(token);
}

/* ---- limits of tokens from outside ---- */

static unsigned ask_outside(struct desk *desk, const char *subject, const char *more)
{
    static char token[TOKEN_MAX];
    char claims[256];
    snprintf(claims, sizeof claims, "{\"exp\":4000000000,\"project_id\":\"p\",\"sub\":\"%s\"%s}",
        subject, more);
    token_make(&elsewhere, "{\"alg\":\"HS256\"}", claims, token);
    return ask(desk, token);
}

Test(outside, tokens_of_one_subject_share_its_limits_in_every_seat)
{
    cr_assert_eq(ask_outside(&desks[0], "me", ""), 200, "%s", why_not.detail);
    struct hl_quota *mine = who->quota;
    cr_assert(hl_quota_has_limits(mine) && hl_quota_enter(mine));
    cr_assert_eq(hl_principal_max_priority(who), HL_PRIORITY_LOW);
    cr_assert_eq(ask_outside(&desks[1], "me", ",\"n\":2"), 200);
    cr_assert_eq(who->quota, mine);
    cr_assert_not(hl_quota_enter(mine));
    cr_assert_eq(ask_outside(&desks[1], "you", ""), 200);
    cr_assert_neq(who->quota, mine);
    cr_assert_eq(ask_outside(&desks[1], "me", ",\"iat\":1,\"most\":2"), 200);
    cr_assert(hl_quota_enter(mine), "its later token says so");
}

Test(outside, a_claim_that_is_no_limit_is_refused)
{
    cr_assert_eq(ask_outside(&desks[0], "me", ",\"most\":\"2\""), 401);
    cr_assert_str_eq(why_not.cause, "TOKEN_MAX_RUNNING");
}

Test(outside, an_accounts_limits_are_its_own)
{
    struct hl_account account = make_account(1);
    char *token = make_token(&account, HOUR_MS);
    cr_assert(hl_auth_admit(auth, &account));
    cr_assert_eq(ask(&desks[0], token), 200);
    cr_assert_not(hl_quota_has_limits(who->quota));
    free(token);
    token = make_token(NULL, HOUR_MS);
    cr_assert_eq(ask(&desks[0], token), 200, "a session");
    cr_assert_null(who->quota);
    free(token);
}

Test(outside, a_token_is_checked_again_when_its_subject_was_forgotten)
{
    char subject[32];
    cr_assert_eq(ask_outside(&desks[0], "me", ""), 200);
    cr_assert_eq(ask_outside(&desks[0], "me", ""), 200);
    cr_assert_eq(waited, 0);
    for (unsigned i = 0; i < HL_OUTSIDERS_MAX; i++) {
        snprintf(subject, sizeof subject, "%u", i);
        cr_assert_eq(ask_outside(&desks[1], subject, ""), 200);
    }
    cr_assert_eq(ask_outside(&desks[0], "me", ""), 200);
    cr_assert_eq(waited, 1);
    cr_assert(hl_quota_enter(who->quota));
}
