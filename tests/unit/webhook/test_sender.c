/* test_sender.c - the delivery thread between a store that the test plays and a receiver on
 * loopback. */
#include "config/config.h"
#include "store/claim.h"
#include "store/lease.h"
#include "store/store.h"
#include "webhook/sender.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "receiver.h"
#include "store/attempt.h"
#include "store/body_file.h"
#include "store/question.h"
#include "webhook/direct.h"
#include "webhook/health.h"
#include "webhook/news.h"
#include "webhook/signature.h"

#define OUTCOMES_MAX 1024
#define PATIENCE_MS  60000

/* The store that the test plays: answers at once, on the sender's own thread, and keeps what it was
 * told. */
struct hl_store {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct hl_mailbox *sender;
    uint32_t credit, most_credit, leased;
    unsigned asked;
    unsigned told; /* outcomes */
    struct hl_attempt_outcome outcomes[OUTCOMES_MAX];
    enum hl_err ask_rc;                   /* of the next ATTEMPTs */
    struct hl_leased *kept[OUTCOMES_MAX]; /* what was given out */
    bool parks;                           /* RETRY gives its place away */
    unsigned failing_records;             /* so many final outcomes are refused first */
    unsigned questions;                   /* of a destination's deliveries */
    const struct hl_attempt_row *past;    /* the answer: a delivery for each of them */
    size_t n_past;
    const char *data_dir;
};

static char data_dir[] = "/tmp/hl-sender-XXXXXX"; /* made by the tests that need it */
static struct hl_store store = {.data_dir = data_dir};
static struct hl_config config;
static struct hl_sender *sender;
static struct receiver receiver;

static void on_credit(struct hl_store *s, struct hl_credit *credit)
{
    s->sender = credit->m.reply_to;
    s->credit = credit->n == 0 ? 0 : s->credit + credit->n;
    s->most_credit = s->credit > s->most_credit ? s->credit : s->most_credit;
    free(credit);
}

static void on_outcome(struct hl_store *s, struct hl_attempt_outcome *outcome)
{
    outcome->m.rc = HL_OK;
    if (outcome->verdict != HL_ATTEMPT_RETRY && s->failing_records > 0) {
        s->failing_records--;
        outcome->m.rc = HL_ERR_IO;
        return;
    }
    if (outcome->verdict == HL_ATTEMPT_RETRY && outcome->parks)
        outcome->is_parked |= s->parks;
    cr_assert_lt(s->told, OUTCOMES_MAX);
    struct hl_attempt_outcome *told = &s->outcomes[s->told++];
    *told = *outcome;
    if (outcome->report) {
        told->report = malloc(sizeof(*told->report));
        *told->report = *outcome->report;
    }
}

static struct hl_leased *copy_of(const struct hl_leased *l)
{
    struct hl_leased *copy = calloc(1, sizeof *copy + l->url.n + l->secret.n);
    char *room = (char *)(copy + 1);
    *copy = *l;
    copy->url.p = memcpy(room, l->url.p, l->url.n);
    copy->secret.p = memcpy(room + l->url.n, l->secret.p, l->secret.n);
    if (l->outcome.body.where == HL_BODY_INLINE) {
        copy->outcome.body.bytes = malloc(l->outcome.body.size + 1);
        memcpy(copy->outcome.body.bytes, l->outcome.body.bytes, l->outcome.body.size);
    }
    return copy;
}

static void on_ask(struct hl_store *s, struct hl_attempt *ask)
{
    s->asked++;
    ask->m.rc = s->ask_rc;
    for (size_t i = 0; ask->m.rc == HL_OK && i < s->leased; i++)
        if (hl_id_eq(&s->kept[i]->delivery_id, &ask->delivery_id))
            ask->leased = copy_of(s->kept[i]);
}

static void on_question(struct hl_store *s, struct hl_list_deliveries *l)
{
    s->questions++;
    cr_assert_str_eq(l->project, "p");
    cr_assert(l->with_attempts);
    l->m.rc = HL_OK;
    l->rows = calloc(s->n_past + 1, sizeof *l->rows);
    for (l->count = 0; l->count < s->n_past; l->count++) {
        struct hl_delivery_row *row = &l->rows[l->count];
        row->attempts = malloc(sizeof *row->attempts);
        row->attempts[row->n_attempts++] = s->past[l->count];
    }
}

enum hl_err hl_store_post(struct hl_store *s, struct hl_store_msg *m)
{
    struct hl_mailbox *reply_to = m->reply_to;
    pthread_mutex_lock(&s->lock);
    if (m->msg.type == HL_STORE_LEASE_CREDIT) {
        on_credit(s, (struct hl_credit *)m);
        m = NULL;
    } else if (m->msg.type == HL_STORE_ATTEMPT) {
        on_ask(s, (struct hl_attempt *)m);
    } else if (m->msg.type == HL_STORE_LIST_DELIVERIES) {
        on_question(s, (struct hl_list_deliveries *)m);
    } else {
        cr_assert_eq(m->msg.type, HL_STORE_OUTCOME);
        on_outcome(s, (struct hl_attempt_outcome *)m);
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (m)
        hl_mailbox_post(reply_to, &m->msg);
    return HL_OK;
}

const char *hl_store_data_dir(const struct hl_store *s)
{
    return s->data_dir;
}

/* --- the test's side
 * --------------------------------------------------------------------------------- */

/* Who hears of destinations, and what became of what is sent without the store; the test's thread looks. */
static struct hl_mailbox ear;

static void no_wake(void *arg)
{
    (void)arg;
}

static enum hl_err try_start(char *why, size_t why_len)
{
    hl_mailbox_init(&ear, no_wake, NULL);
    return hl_sender_start(&sender,
        &(struct hl_sender_parts){.config = &config, .store = &store, .news = &ear}, why, why_len);
}

static void start(void)
{
    char why[200];
    struct hl_str bad;
    pthread_mutex_init(&store.lock, NULL);
    pthread_cond_init(&store.changed, NULL);
    receiver_start(&receiver);
    cr_assert_eq(hl_cidr_list_parse(HL_STR("127.0.0.0/8"), &config.webhook_allow, &bad), HL_OK);
    config.webhook_timeout_ms = config.webhook_timeout_ms ? config.webhook_timeout_ms : 5000;
    config.webhook_concurrency = config.webhook_concurrency ? config.webhook_concurrency : 32;
    config.webhook_per_host = config.webhook_per_host ? config.webhook_per_host : 16;
    if (config.schedule.n == 0)
        cr_assert(hl_schedule_parse(HL_STR("1s,4s"), &config.schedule));
    cr_assert(hl_webhook_retry_on_parse(HL_STR("network,404,other"), &config.retried));
    config.service_name = HL_STR("Service");
    cr_assert_eq(try_start(why, sizeof(why)), HL_OK, "%s", why);
}

static void stop(void)
{
    if (sender) {
        hl_sender_stop(sender, 2000, NULL, NULL);
        hl_sender_join(sender);
        hl_sender_free(sender);
    }
    hl_cidr_list_fini(&config.webhook_allow);
    for (struct hl_msg *msg = hl_mailbox_take(&ear), *next; msg; msg = next) {
        next = msg->next;
        if (msg->type == HL_NEWS)
            free(msg);
    }
    for (unsigned i = 0; i < store.leased; i++)
        hl_leased_free(store.kept[i]);
    for (unsigned i = 0; i < store.told; i++)
        free(store.outcomes[i].report);
    for (unsigned i = 0; i < receiver.count; i++)
        free(receiver.got[i].body);
}

/* Waits for a claim about the store to hold; fails the test when it does not come true. Called with
 * the lock. */
#define WAIT_UNTIL(claim)                                                                          \
    do {                                                                                           \
        uint64_t give_up = hl_clock_mono_ms() + PATIENCE_MS;                                       \
        while (!(claim)) {                                                                         \
            if (hl_clock_mono_ms() > give_up) {                                                    \
                pthread_mutex_unlock(&store.lock); /* stop() needs it */                           \
                cr_assert_fail("never came true: " #claim);                                        \
            }                                                                                      \
            struct timespec soon;                                                                  \
            clock_gettime(CLOCK_REALTIME, &soon);                                                  \
            soon.tv_nsec += 20 * 1000 * 1000;                                                      \
            soon.tv_sec += soon.tv_nsec / 1000000000;                                              \
            soon.tv_nsec %= 1000000000;                                                            \
            pthread_cond_timedwait(&store.changed, &store.lock, &soon);                            \
        }                                                                                          \
    } while (0)

static void wait_for_outcomes(unsigned n)
{
    pthread_mutex_lock(&store.lock);
    WAIT_UNTIL(store.told >= n);
    pthread_mutex_unlock(&store.lock);
}

static struct hl_id id_of(unsigned i)
{
    struct hl_id id;
    char text[HL_ID_TEXT + 1];
    snprintf(text, sizeof text, "0193b5a0-0000-7000-8000-%012u", i);
    cr_assert(hl_id_parse(hl_str_from(text), &id));
    return id;
}

/* Takes `bytes`. */
static void set_inline(struct hl_leased *l, char *bytes, size_t n)
{
    l->outcome.body = (struct hl_body){.where = HL_BODY_INLINE, .size = n, .bytes = bytes};
    mbedtls_sha256_ret((const unsigned char *)bytes, n, l->outcome.body.digest, 0);
}

/* A delivery with a small JSON body; struct and strings are one allocation, as the store makes
 * them. */
static struct hl_leased *make_leased(unsigned i, const char *url, const char *secret)
{
    static const char body[] = "{\"answer\":42}";
    struct hl_leased *l = calloc(1, sizeof *l + strlen(url) + strlen(secret));
    char *room = (char *)(l + 1);
    l->msg.type = HL_STORE_LEASED;
    l->delivery_id = id_of(i);
    l->run_id = id_of(i + 500000);
    l->round = 1;
    l->n = 1;
    l->max_attempts = 3;
    l->url = (struct hl_str){room, strlen(url)};
    l->secret = (struct hl_str){room + l->url.n, strlen(secret)};
    memcpy(room, url, l->url.n);
    memcpy(room + l->url.n, secret, l->secret.n);
    l->traceparent = HL_STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    l->project = HL_STR("p");
    l->app = HL_STR("a");
    l->outcome.state = HL_RUN_SUCCESS;
    l->outcome.http_status = 200;
    l->outcome.finished_ms = 1795248000123;
    l->outcome.encoding = HL_ENCODING_JSON;
    set_inline(l, strdup(body), strlen(body));
    return l;
}

static void give(struct hl_leased *l)
{
    pthread_mutex_lock(&store.lock);
    WAIT_UNTIL(store.credit > 0);
    store.credit--;
    store.kept[store.leased++] = copy_of(l);
    pthread_mutex_unlock(&store.lock);
    hl_mailbox_post(store.sender, &l->msg);
}

static void deliver(unsigned i, const char *path, const char *secret)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", receiver.port, path);
    give(make_leased(i, url, secret));
}

/* The i-th delivery's outcome of attempt n, or NULL. */
static const struct hl_attempt_outcome *find(unsigned i, uint32_t n)
{
    struct hl_id id = id_of(i);
    for (unsigned at = 0; at < store.told; at++)
        if (hl_id_eq(&store.outcomes[at].delivery_id, &id) && store.outcomes[at].n == n)
            return &store.outcomes[at];
    return NULL;
}

TestSuite(sender, .fini = stop);

/* --- outcomes
 * ---------------------------------------------------------------------------------------- */

Test(sender, treats_each_outcome_as_the_contract_says)
{
    static const struct {
        const char *url; /* %u: the receiver's port */
        uint32_t attempts;
        enum hl_attempt_verdict last;
        uint16_t status;
        const char *error;
    } rows[] = {
        {"http://127.0.0.1:%u/status/200", 1, HL_ATTEMPT_OK, 200, ""},
        {"http://127.0.0.1:%u/status/204", 1, HL_ATTEMPT_OK, 204, ""},
        {"http://127.0.0.1:%u/status/404", 3, HL_ATTEMPT_DEAD, 404, ""},
        {"http://127.0.0.1:%u/status/302", 3, HL_ATTEMPT_DEAD, 302, ""},
        {"http://127.0.0.1:%u/status/304", 3, HL_ATTEMPT_DEAD, 304, ""},
        {"http://127.0.0.1:%u/status/403", 1, HL_ATTEMPT_DEAD, 403, ""},
        {"http://127.0.0.1:%u/status/429", 1, HL_ATTEMPT_DEAD, 429, ""},
        {"http://127.0.0.1:%u/status/500", 1, HL_ATTEMPT_DEAD, 500, ""},
        {"http://127.0.0.1:%u/status/503", 1, HL_ATTEMPT_DEAD, 503, ""},
        {"http://127.0.0.1:%u/then/404", 2, HL_ATTEMPT_OK, 200, ""},
        {"http://127.0.0.1:%u/drop", 3, HL_ATTEMPT_DEAD, 0, "no_response"},
        {"http://127.0.0.1:%u/cut", 3, HL_ATTEMPT_DEAD, 0, "bad_response"},
        {"http://127.0.0.1:%u/stall", 3, HL_ATTEMPT_DEAD, 0, "timeout"},
        {"http://127.0.0.1:%u/stall-body", 1, HL_ATTEMPT_OK, 200, ""},
        {"http://127.0.0.1:%u/endless", 1, HL_ATTEMPT_OK, 200, ""},
        {"http://127.0.0.1:%u/large-head", 3, HL_ATTEMPT_DEAD, 0,
            "bad_response: the head is too large"},
        {"http://localhost:%u/status/201", 1, HL_ATTEMPT_OK, 201, ""}, /* its ::1 is refused */
        {"http://127.0.0.1:1/", 3, HL_ATTEMPT_DEAD, 0, "connect_failed: Connection refused"},
        {"http://name.invalid/", 3, HL_ATTEMPT_DEAD, 0, "dns_failed"},
        {"http://10.0.0.1/", 1, HL_ATTEMPT_DEAD, 0, "blocked_address"},
        {"http://[::1]:%u/", 1, HL_ATTEMPT_DEAD, 0, "blocked_address"},
        {"http://169.254.169.254/latest", 1, HL_ATTEMPT_DEAD, 0, "blocked_address"},
    };
    unsigned expected = 0;
    config.webhook_timeout_ms = 700;
    start();
    for (unsigned i = 0; i < HL_ARRAY_LEN(rows); i++) {
        char url[128];
        snprintf(url, sizeof url, rows[i].url, receiver.port);
        give(make_leased(i, url, ""));
        expected += rows[i].attempts;
    }
    wait_for_outcomes(expected);
    for (unsigned i = 0; i < HL_ARRAY_LEN(rows); i++) {
        for (uint32_t n = 1; n <= rows[i].attempts; n++) {
            const struct hl_attempt_outcome *o = find(i, n);
            bool is_last = n == rows[i].attempts;
            cr_assert_not_null(o, "%s: no attempt %u", rows[i].url, n);
            cr_assert_eq(o->verdict, is_last ? rows[i].last : HL_ATTEMPT_RETRY, "%s: %u of %u: %d",
                rows[i].url, n, rows[i].attempts, o->verdict);
        }
        const struct hl_attempt_outcome *last = find(i, rows[i].attempts);
        cr_assert_eq(last->http_status, rows[i].status, "%s: %u", rows[i].url, last->http_status);
        cr_assert_eq(strncmp(last->error, rows[i].error, strlen(rows[i].error)), 0, "%s: %s",
            rows[i].url, last->error);
        cr_assert(rows[i].error[0] || !last->error[0], "%s: %s", rows[i].url, last->error);
        cr_assert_null(strstr(last->error, "://"));
    }
    cr_assert_eq(store.told, expected);
    cr_assert_eq(receiver_count(&receiver, "/elsewhere"), 0, "a redirect was followed");
}

Test(sender, takes_the_head_for_the_answer_when_the_body_does_not_end)
{
    config.webhook_timeout_ms = 60000; /* longer than the test waits */
    start();
    deliver(1, "/drip", "");
    deliver(2, "/stall-body", "");
    wait_for_outcomes(2);
    for (unsigned i = 1; i <= 2; i++)
        cr_assert_eq(find(i, 1)->verdict, HL_ATTEMPT_OK, "%s", find(i, 1)->error);
}

Test(sender, waits_between_attempts_as_long_as_the_contract_says)
{
    start();
    deliver(1, "/status/404", "");
    wait_for_outcomes(3);
    int64_t first = find(1, 2)->started_ms - find(1, 1)->ended_ms;
    int64_t second = find(1, 3)->started_ms - find(1, 2)->ended_ms;
    cr_assert(first >= 790 && first <= 1500, "%lld", (long long)first);
    cr_assert(second >= 3190 && second <= 5000, "%lld", (long long)second);
    cr_assert_eq(store.asked, 2, "each attempt after the first is asked for");
}

Test(sender, names_the_option_that_allows_a_blocked_address)
{
    start();
    give(make_leased(1, "http://10.0.0.1/", ""));
    wait_for_outcomes(1);
    cr_assert_not_null(strstr(find(1, 1)->error, "HOOKLINE_WEBHOOK_ALLOW"));
}

Test(sender, takes_an_early_answer_to_a_body_that_is_still_being_sent)
{
    char url[64];
    start();
    snprintf(url, sizeof url, "http://127.0.0.1:%u/early", receiver.port);
    struct hl_leased *l = make_leased(1, url, "");
    hl_body_fini(&l->outcome.body);
    size_t n = 8 * 1024 * 1024;
    l->outcome.encoding = HL_ENCODING_BASE64;
    set_inline(l, calloc(1, n), n);
    give(l);
    wait_for_outcomes(1);
    cr_assert_eq(find(1, 1)->http_status, 413, "%s", find(1, 1)->error);
}

/* --- what is sent
 * ------------------------------------------------------------------------------------ */

static void expect_signed(const struct received *got, struct hl_str secret, const struct hl_id *id)
{
    struct hl_signature s;
    struct hl_signature_text text;
    char value[128];
    const char *timestamp = received_field(got, "X-Service-Webhook-Timestamp");
    cr_assert_not_null(timestamp);
    int64_t seconds = strtoll(timestamp, NULL, 10);
    cr_assert_leq(llabs(seconds - hl_clock_wall_ms() / 1000), 20);
    cr_assert_eq(hl_signature_init(&s, secret), HL_OK);
    hl_signature_begin(&s, id, seconds);
    hl_signature_feed(&s, got->body, got->body_n);
    hl_signature_end(&s, &text);
    hl_signature_fini(&s);
    snprintf(value, sizeof value, "v1,%s", text.hex);
    cr_assert_str_eq(received_field(got, "X-Service-Webhook-Signature"), value);
    snprintf(value, sizeof value, "v1,%s", text.base64);
    cr_assert_str_eq(received_field(got, "webhook-signature"), value);
}

Test(sender, sends_the_envelope_with_its_fields)
{
    setenv("http_proxy", "http://127.0.0.1:1", 1); /* must not be used */
    start();
    deliver(1, "/status/200?a=1&b=%2F", "s3cret");
    wait_for_outcomes(1);
    const struct received *got = receiver_got(&receiver, 0);
    struct hl_id run_id = id_of(500001);
    cr_assert_str_eq(got->path, "/status/200?a=1&b=%2F");
    cr_assert_str_eq(received_field(got, "Content-Type"), "application/json");
    cr_assert_str_eq(received_field(got, "User-Agent"), "hookline/" HL_VERSION);
    cr_assert_str_eq(received_field(got, "X-Request-Id"), "0193b5a0-0000-7000-8000-000000500001");
    cr_assert_str_eq(received_field(got, "webhook-id"), "0193b5a0-0000-7000-8000-000000500001");
    cr_assert_str_eq(received_field(got, "traceparent"),
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    cr_assert_null(received_field(got, "Expect"));
    cr_assert_null(received_field(got, "Transfer-Encoding"));
    cr_assert_str_eq(got->body,
        "{\"type\":\"run.success\",\"run_id\":\"0193b5a0-0000-7000-8000-000000500001\","
        "\"timestamp\":\"2026-11-21T08:00:00.123Z\",\"project_id\":\"p\",\"app_name\":\"a\","
        "\"status\":\"success\",\"status_code\":200,\"content_type\":null,"
        "\"content_encoding\":null,\"encoding\":\"json\",\"response\":{\"answer\":42}}");
    expect_signed(got, HL_STR("s3cret"), &run_id);
}

Test(sender, signs_nothing_without_a_secret)
{
    start();
    deliver(1, "/status/200", "");
    wait_for_outcomes(1);
    const struct received *got = receiver_got(&receiver, 0);
    cr_assert_not_null(received_field(got, "X-Request-Id"));
    cr_assert_null(received_field(got, "X-Service-Webhook-Timestamp"));
    cr_assert_null(received_field(got, "X-Service-Webhook-Signature"));
    cr_assert_null(received_field(got, "webhook-signature"));
}

Test(sender, sends_the_same_bytes_again_with_a_new_signature)
{
    start();
    deliver(1, "/then/404", "whsec_c2VjcmV0");
    wait_for_outcomes(2);
    const struct received *a = receiver_got(&receiver, 0), *b = receiver_got(&receiver, 1);
    struct hl_id run_id = id_of(500001);
    cr_assert_eq(a->body_n, b->body_n);
    cr_assert_arr_eq(a->body, b->body, a->body_n);
    expect_signed(a, HL_STR("whsec_c2VjcmV0"), &run_id);
    expect_signed(b, HL_STR("whsec_c2VjcmV0"), &run_id);
}

Test(sender, uses_a_connection_again)
{
    start();
    for (unsigned i = 0; i < 5; i++) {
        deliver(i, "/status/200", "");
        wait_for_outcomes(i + 1);
    }
    cr_assert_eq(receiver.connections, 1);
}

/* --- bodies in files
 * --------------------------------------------------------------------------------- */

static struct hl_leased *make_leased_file(unsigned i, const char *path, size_t n)
{
    char url[128], dir[64];
    int fd;
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", receiver.port, path);
    struct hl_leased *l = make_leased(i, url, "s3cret");
    unsigned char *bytes = malloc(n);
    memset(bytes, 'x', n);
    hl_body_fini(&l->outcome.body);
    l->outcome.encoding = HL_ENCODING_TEXT;
    l->outcome.escaped_size = n;
    l->outcome.body = (struct hl_body){.where = HL_BODY_FILE, .size = n, .file = id_of(i + 900000)};
    mbedtls_sha256_ret(bytes, n, l->outcome.body.digest, 0);
    cr_assert_not_null(mkdtemp(data_dir));
    snprintf(dir, sizeof dir, "%s/tmp", data_dir);
    cr_assert_eq(mkdir(dir, 0700), 0);
    snprintf(dir, sizeof dir, "%s/bodies", data_dir);
    cr_assert_eq(mkdir(dir, 0700), 0);
    cr_assert_eq(hl_body_file_create(data_dir, &l->outcome.body.file, &fd), HL_OK);
    cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
    cr_assert_eq(hl_body_file_commit(data_dir, &l->outcome.body.file, fd), HL_OK);
    close(fd);
    free(bytes);
    return l;
}

static void remove_data_dir(void)
{
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", data_dir);
    cr_assert_eq(system(command), 0);
}

Test(sender, streams_and_signs_a_body_from_its_file, .fini = remove_data_dir)
{
    start();
    size_t n = 5 * 1024 * 1024 + 1;
    give(make_leased_file(1, "/then/404", n));
    wait_for_outcomes(2);
    cr_assert_eq(find(1, 2)->verdict, HL_ATTEMPT_OK);
    struct hl_id run_id = id_of(500001);
    for (unsigned i = 0; i < 2; i++) {
        const struct received *got = receiver_got(&receiver, i);
        cr_assert_gt(got->body_n, n);
        cr_assert_str_eq(got->body + got->body_n - 4, "xx\"}");
        expect_signed(got, HL_STR("s3cret"), &run_id);
    }
}

Test(sender, keeps_a_damaged_file_to_itself, .fini = remove_data_dir)
{
    start();
    struct hl_leased *l = make_leased_file(1, "/status/200", 1024 * 1024);
    l->outcome.body.digest[0] ^= 1;
    give(l);
    wait_for_outcomes(1);
    cr_assert_eq(find(1, 1)->verdict, HL_ATTEMPT_DEAD);
    cr_assert_eq(strncmp(find(1, 1)->error, "body_unreadable", 15), 0, "%s", find(1, 1)->error);
    cr_assert_eq(receiver.count, 0);
}

Test(sender, gives_up_when_the_file_is_missing, .fini = remove_data_dir)
{
    start();
    struct hl_leased *l = make_leased_file(1, "/status/200", 1024 * 1024);
    hl_body_file_remove(data_dir, &l->outcome.body.file);
    give(l);
    wait_for_outcomes(1);
    cr_assert_eq(find(1, 1)->verdict, HL_ATTEMPT_DEAD);
    cr_assert_eq(find(1, 1)->http_status, 0);
}

/* --- with the store
 * ---------------------------------------------------------------------------------- */

Test(sender, never_sends_more_at_once_than_it_may)
{
    config.webhook_concurrency = 3;
    start();
    for (unsigned i = 0; i < 12; i++)
        deliver(i, "/slow", "");
    wait_for_outcomes(12);
    cr_assert_leq(receiver.most_in, 3);
    cr_assert_geq(receiver.most_in, 2);
    cr_assert_leq(store.most_credit, 3);
}

Test(sender, lets_nobody_wait_for_a_delivery_that_waits_for_its_retry)
{
    config.webhook_concurrency = 1;
    start();
    deliver(1, "/then/404", "");
    for (unsigned i = 2; i < 6; i++)
        deliver(i, "/status/200", "");
    wait_for_outcomes(6);
    for (unsigned i = 2; i < 6; i++)
        cr_assert_lt(find(i, 1)->ended_ms, find(1, 2)->started_ms);
    cr_assert_eq(find(1, 2)->verdict, HL_ATTEMPT_OK);
}

Test(sender, lets_retries_go_on_while_first_attempts_hang)
{
    config.webhook_concurrency = 2;
    config.webhook_timeout_ms = 60000; /* longer than the test waits */
    start();
    deliver(1, "/then/404", "");
    wait_for_outcomes(1);
    deliver(2, "/stall", "");
    deliver(3, "/stall", "");
    wait_for_outcomes(2);
    cr_assert_eq(find(1, 2)->verdict, HL_ATTEMPT_OK);
}

Test(sender, asks_for_no_retry_while_its_destination_has_as_many_as_it_may)
{
    static const char *const paths[] = {"/then/404?slow-1", "/then/404?slow-2", "/then/404?slow-3",
        "/then/404?slow-4", "/then/404?slow-5", "/then/404?slow-6"};
    config.webhook_timeout_ms = 60000;
    config.webhook_per_host = 2;
    store.parks = true;
    start();
    for (unsigned i = 0; i < 6; i++)
        deliver(i, paths[i], "");
    wait_for_outcomes(6);
    pthread_mutex_lock(&receiver.lock);
    receiver.most_in = 0; /* of first attempts */
    pthread_mutex_unlock(&receiver.lock);
    wait_for_outcomes(12);
    cr_assert_leq(receiver.most_in, 2);
    cr_assert_eq(store.asked, 6, "each was asked for once");
    for (unsigned i = 0; i < 6; i++)
        cr_assert_eq(find(i, 2)->verdict, HL_ATTEMPT_OK);
}

Test(sender, goes_on_leasing_whatever_the_bodies_of_those_that_wait)
{
    enum { MANY = 250, SIZE = 450 * 1024 };
    char url[64];
    store.ask_rc = HL_ERR_FULL; /* all of them stay waiting */
    start();
    snprintf(url, sizeof url, "http://127.0.0.1:%u/status/404", receiver.port);
    for (unsigned i = 0; i < MANY; i++) {
        struct hl_leased *l = make_leased(i, url, "");
        hl_body_fini(&l->outcome.body);
        l->outcome.encoding = HL_ENCODING_BASE64;
        set_inline(l, calloc(1, SIZE), SIZE);
        give(l);
    }
    wait_for_outcomes(MANY);
    deliver(MANY, "/status/200", "");
    wait_for_outcomes(MANY + 1);
    cr_assert_eq(find(MANY, 1)->verdict, HL_ATTEMPT_OK);
}

Test(sender, sends_no_retry_that_the_store_does_not_want)
{
    start();
    store.ask_rc = HL_ERR_STALE;
    deliver(1, "/status/404", "");
    pthread_mutex_lock(&store.lock);
    WAIT_UNTIL(store.asked == 1);
    pthread_mutex_unlock(&store.lock);
    deliver(2, "/status/200", "");
    wait_for_outcomes(2);
    cr_assert_eq(receiver_count(&receiver, "/status/404"), 1);
}

Test(sender, asks_again_while_the_store_fails)
{
    start();
    store.ask_rc = HL_ERR_FULL;
    deliver(1, "/then/404", "");
    pthread_mutex_lock(&store.lock);
    WAIT_UNTIL(store.asked >= 1);
    cr_assert_eq(receiver_count(&receiver, "/then/404"), 1);
    store.ask_rc = HL_OK;
    pthread_mutex_unlock(&store.lock);
    wait_for_outcomes(2);
    cr_assert_eq(find(1, 2)->verdict, HL_ATTEMPT_OK);
}

Test(sender, offers_an_outcome_again_until_the_store_keeps_it)
{
    start();
    store.failing_records = 2;
    deliver(1, "/status/200", "");
    wait_for_outcomes(1);
    cr_assert_eq(find(1, 1)->verdict, HL_ATTEMPT_OK);
    cr_assert_eq(receiver.count, 1);
}

Test(sender, counts_verdicts)
{
    start();
    deliver(1, "/status/200", "");
    deliver(2, "/status/500", "");
    deliver(3, "/then/404", "");
    wait_for_outcomes(4);
    const struct hl_sender_gauges *g = hl_sender_get_gauges(sender);
    cr_assert_eq(hl_counter_get(&g->attempts_ok), 2);
    cr_assert_eq(hl_counter_get(&g->attempts_dead), 1);
    cr_assert_eq(hl_counter_get(&g->attempts_retry), 1);
    cr_assert_eq(hl_counter_get(&g->in_flight), 0);
    cr_assert_eq(hl_counter_get(&g->waiting_retry), 0);
}

/* --- the end
 * ----------------------------------------------------------------------------------------- */

static void stop_now(uint64_t grace_ms)
{
    hl_sender_stop(sender, grace_ms, NULL, NULL);
    hl_sender_join(sender);
    hl_sender_free(sender);
    sender = NULL;
}

Test(sender, gives_back_what_it_could_not_end)
{
    start();
    deliver(1, "/stall", "");
    deliver(2, "/status/404", "");
    pthread_mutex_lock(&store.lock);
    WAIT_UNTIL(store.told >= 1 && receiver_count(&receiver, "/stall") == 1);
    pthread_mutex_unlock(&store.lock);
    uint64_t began = hl_clock_mono_ms();
    stop_now(300);
    uint64_t took = hl_clock_mono_ms() - began;
    cr_assert(took >= 300 && took < 2000, "%lu", took);
    cr_assert_eq(store.told, 3);
    cr_assert_eq(find(1, 1)->verdict, HL_ATTEMPT_ABANDONED);
    cr_assert_gt(find(1, 1)->started_ms, 0);
    const struct hl_attempt_outcome *waiting = &store.outcomes[1];
    cr_assert_eq(waiting->verdict, HL_ATTEMPT_ABANDONED);
    cr_assert_eq(waiting->started_ms, 0, "nothing of it was sent");
}

/* --- long waits, and what is said of destinations ------------------------------------------------- */

#define HOUR_MS (3600 * 1000)

Test(sender, leaves_a_long_wait_to_the_store_and_forgets_the_delivery)
{
    cr_assert(hl_schedule_parse(HL_STR("1h"), &config.schedule));
    start();
    deliver(1, "/status/404", "");
    wait_for_outcomes(1);
    const struct hl_attempt_outcome *o = find(1, 1);
    cr_assert_eq(o->verdict, HL_ATTEMPT_RETRY);
    cr_assert(o->puts_off);
    cr_assert_not(o->parks, "it has a place no more");
    cr_assert_geq(o->next_ms - o->ended_ms, HOUR_MS * 8 / 10);
    cr_assert_leq(o->next_ms - hl_clock_wall_ms(), HOUR_MS * 12 / 10);
    stop_now(10000);
    cr_assert_eq(store.told, 1, "there is nothing to be given back");
    cr_assert_eq(store.asked, 0);
}

Test(sender, keeps_a_short_wait_and_says_until_when_it_is)
{
    start();
    deliver(1, "/status/404", "");
    wait_for_outcomes(1);
    const struct hl_attempt_outcome *o = find(1, 1);
    cr_assert_not(o->puts_off);
    cr_assert_geq(o->next_ms - o->ended_ms, 800);
    cr_assert_leq(o->next_ms - hl_clock_wall_ms(), 1000);
}

Test(sender, waits_as_long_as_the_receiver_asks_for_up_to_the_longest_delay)
{
    cr_assert(hl_schedule_parse(HL_STR("1s,3h"), &config.schedule));
    start();
    deliver(1, "/later/404/7200", "");
    deliver(2, "/later/404/72000", "");
    wait_for_outcomes(2);
    for (unsigned i = 1; i <= 2; i++) {
        const struct hl_attempt_outcome *o = find(i, 1);
        cr_assert(o->puts_off);
        cr_assert_geq(o->next_ms - o->ended_ms, (i + 1) * HOUR_MS);
        cr_assert_leq(o->next_ms - hl_clock_wall_ms(), (i + 1) * HOUR_MS);
    }
}

/* One attempt, to lane 7. */
static void deliver_once(unsigned i, const char *url, int64_t failing_since_ms)
{
    char text[128];
    snprintf(text, sizeof text, url, receiver.port);
    struct hl_leased *l = make_leased(i, text, "");
    l->lane = 7;
    l->max_attempts = 1;
    l->failing_since_ms = failing_since_ms;
    give(l);
}

Test(sender, says_how_a_destination_stands_with_each_outcome)
{
    unsigned at = 0, failing = 0;
    start();
    deliver_once(at++, "http://127.0.0.1:%u/status/500", 0);
    wait_for_outcomes(at);
    cr_assert_eq(find(0, 1)->health, HL_LANE_PROVEN, "a refusal is an answer");
    for (int i = 0; i < HL_FAILING_AFTER; i++)
        deliver_once(at++, "http://127.0.0.1:%u/drop", 0);
    wait_for_outcomes(at);
    for (unsigned i = 1; i < at; i++) {
        const struct hl_attempt_outcome *o = find(i, 1);
        cr_assert_neq(o->health, HL_LANE_PROVEN);
        failing += o->health == HL_LANE_FAILING;
        cr_assert_eq(o->failing_since_ms > 0, o->health == HL_LANE_FAILING);
        cr_assert_leq(o->failing_since_ms, o->started_ms);
    }
    cr_assert_eq(failing, 1, "the last one that ended");
    cr_assert_eq(hl_counter_get(&hl_sender_get_gauges(sender)->failing), 1);
    deliver_once(at++, "http://127.0.0.1:%u/slow", 0);
    wait_for_outcomes(at);
    cr_assert_neq(find(at - 1, 1)->health, HL_LANE_FAILING);
    cr_assert_eq(find(at - 1, 1)->failing_since_ms, 0);
    cr_assert_eq(hl_counter_get(&hl_sender_get_gauges(sender)->failing), 0);
}

Test(sender, goes_by_what_the_store_knows_of_a_destination)
{
    start();
    deliver_once(1, "http://127.0.0.1:%u/drop", 5000);
    wait_for_outcomes(1);
    cr_assert_eq(find(1, 1)->health, HL_LANE_FAILING);
    cr_assert_eq(find(1, 1)->failing_since_ms, 5000);
}

/* An attempt that ended at `ended_ms`, a second after it began. */
static struct hl_attempt_row past(int64_t ended_ms, uint16_t http_status, const char *error)
{
    struct hl_attempt_row a = {.started_ms = ended_ms - 1000,
        .ended_ms = ended_ms,
        .verdict = http_status == 200 ? HL_ATTEMPT_OK : HL_ATTEMPT_DEAD,
        .http_status = http_status};
    snprintf(a.error, sizeof a.error, "%s", error);
    return a;
}

Test(sender, counts_what_had_no_answer_before_it_began)
{
    struct hl_attempt_row before[40];
    size_t n = 0;
    before[n++] = past(hl_clock_wall_ms() + 3600000, 0, "timeout"); /* is counted here */
    for (int i = 0; i < HL_FAILING_AFTER - 2; i++)
        before[n++] = past(60000 + i, 0, "timeout");
    before[n++] = past(61000, 0, "blocked_address: every address of the host is refused");
    before[n++] = past(61000, 0, "");
    before[n - 1].verdict = HL_ATTEMPT_ABANDONED;
    before[n++] = past(0, 0, ""); /* not ended */
    before[n++] = past(50000, 503, "");
    before[n++] = past(40000, 0, "timeout");
    store.past = before;
    store.n_past = n;
    start();
    deliver_once(1, "http://127.0.0.1:%u/drop", 0);
    wait_for_outcomes(1);
    cr_assert_eq(find(1, 1)->health, HL_LANE_UNPROVEN);
    deliver_once(2, "http://127.0.0.1:%u/drop", 0);
    wait_for_outcomes(2);
    cr_assert_eq(find(2, 1)->health, HL_LANE_FAILING, "18 before and two");
    cr_assert_eq(find(2, 1)->failing_since_ms, 59000);
    cr_assert_eq(store.questions, 1, "it is asked once");
}

Test(sender, finds_at_the_first_attempt_that_a_destination_has_failed_before)
{
    struct hl_attempt_row before[HL_FAILING_AFTER];
    for (size_t i = 0; i < HL_FAILING_AFTER; i++)
        before[i] = past(60000 + (int64_t)i, 0, "timeout");
    store.past = before;
    store.n_past = HL_FAILING_AFTER;
    start();
    deliver_once(1, "http://127.0.0.1:%u/status/500", 0);
    wait_for_outcomes(1);
    cr_assert_eq(store.questions, 0, "who answers is not asked about");
    struct hl_leased *l = make_leased(2, "http://127.0.0.1:1/", "");
    l->lane = 8;
    l->max_attempts = 1;
    give(l);
    wait_for_outcomes(2);
    pthread_mutex_lock(&store.lock);
    WAIT_UNTIL(hl_counter_get(&hl_sender_get_gauges(sender)->failing) == 1);
    pthread_mutex_unlock(&store.lock);
    cr_assert_eq(store.questions, 1);
}

Test(sender, leaves_every_wait_for_a_destination_that_fails_to_the_store)
{
    char url[64];
    start();
    snprintf(url, sizeof url, "http://127.0.0.1:%u/drop", receiver.port);
    struct hl_leased *l = make_leased(1, url, "");
    l->failing_since_ms = 5000;
    give(l);
    wait_for_outcomes(1);
    cr_assert_eq(find(1, 1)->verdict, HL_ATTEMPT_RETRY);
    cr_assert(find(1, 1)->puts_off);
    cr_assert_leq(find(1, 1)->next_ms - find(1, 1)->ended_ms, 1000);
    stop_now(10000);
    cr_assert_eq(store.told, 1, "there is nothing to be given back");
}

Test(sender, says_nothing_of_a_destination_that_was_not_asked)
{
    start();
    deliver_once(1, "http://127.0.0.1:%u/status/200", 0);
    wait_for_outcomes(1);
    deliver_once(2, "http://10.0.0.1:%u/", 0);
    wait_for_outcomes(2);
    cr_assert_eq(find(2, 1)->verdict, HL_ATTEMPT_DEAD);
    cr_assert_eq(find(2, 1)->health, HL_LANE_PROVEN);
}

Test(sender, reports_what_came_back)
{
    char address[40];
    start();
    deliver_once(1, "http://127.0.0.1:%u/later/503/1", 0);
    wait_for_outcomes(1);
    deliver_once(2, "http://127.0.0.1:%u/drop", 0);
    wait_for_outcomes(2);
    const struct hl_attempt_report *r = find(1, 1)->report, *none = find(2, 1)->report;
    snprintf(address, sizeof address, "127.0.0.1:%u", receiver.port);
    cr_assert_not_null(r);
    cr_assert_str_eq(r->address, address);
    cr_assert_str_eq(r->content_type, "text/plain");
    cr_assert(hl_str_eq((struct hl_str){r->body, r->body_n}, HL_STR("not now")));
    cr_assert(r->connect_us >= 0 && r->first_byte_us >= 0);
    cr_assert(r->name_us == -1 && r->tls_us == -1, "there was neither");
    cr_assert_not_null(none);
    cr_assert_str_eq(none->address, address);
    cr_assert(none->body_n == 0 && none->first_byte_us == -1);
}

static void count_end(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
}

Test(sender, gives_back_all_at_once_when_its_grace_is_cut_short)
{
    _Atomic int ends = 0;
    start();
    deliver(1, "/stall", "");
    pthread_mutex_lock(&store.lock);
    WAIT_UNTIL(receiver_count(&receiver, "/stall") == 1);
    pthread_mutex_unlock(&store.lock);
    hl_sender_stop(sender, 3600 * 1000, count_end, &ends);
    hl_sender_cut(sender);
    hl_sender_cut(sender);
    hl_sender_join(sender);
    hl_sender_free(sender);
    sender = NULL;
    cr_assert_eq(ends, 1);
    cr_assert_eq(find(1, 1)->verdict, HL_ATTEMPT_ABANDONED);
}

Test(sender, ends_what_is_under_way_and_then_at_once)
{
    start();
    deliver(1, "/slow", "");
    pthread_mutex_lock(&store.lock);
    WAIT_UNTIL(receiver_count(&receiver, "/slow") == 1);
    pthread_mutex_unlock(&store.lock);
    uint64_t began = hl_clock_mono_ms();
    stop_now(10000);
    cr_assert_lt(hl_clock_mono_ms() - began, 3000);
    cr_assert_eq(find(1, 1)->verdict, HL_ATTEMPT_OK);
    cr_assert_eq(store.credit, 0, "it must take its credit back");
}

Test(sender, frees_a_lease_that_came_too_late)
{
    start();
    pthread_mutex_lock(&store.lock);
    WAIT_UNTIL(store.credit > 0);
    pthread_mutex_unlock(&store.lock);
    hl_sender_stop(sender, 0, NULL, NULL);
    hl_sender_join(sender);
    hl_mailbox_post(store.sender, &make_leased(1, "http://127.0.0.1/", "")->msg);
    hl_sender_free(sender);
    sender = NULL;
    cr_assert_eq(store.told, 0);
}

/* ---- for alerts ---- */

static struct hl_msg *wait_for_ear(void)
{
    uint64_t give_up = hl_clock_mono_ms() + PATIENCE_MS;
    struct hl_msg *msg;
    while (!(msg = hl_mailbox_take(&ear))) {
        cr_assert_lt(hl_clock_mono_ms(), give_up, "nothing is heard");
        usleep(5000);
    }
    return msg;
}

static void assert_news(enum hl_news_kind kind, const char *destination, const char *error)
{
    struct hl_msg *msg = wait_for_ear();
    cr_assert_eq(msg->type, HL_NEWS);
    cr_assert_null(msg->next);
    const struct hl_news *news = (const struct hl_news *)msg;
    cr_assert_eq(news->kind, kind);
    cr_assert_str_eq(news->destination, destination);
    cr_assert_eq(strncmp(news->error, error, strlen(error)), 0, "%s", news->error);
    free(msg);
}

Test(sender, tells_of_first_answers_dead_letters_and_destinations_that_fail_but_not_of_alerts)
{
    char url[128], origin[64];
    config.webhook_concurrency = 1;
    start();
    snprintf(origin, sizeof(origin), "http://127.0.0.1:%u", receiver.port);
    snprintf(url, sizeof(url), "%s/status/200?secret", origin);
    give(make_leased(1, url, ""));
    assert_news(HL_NEWS_ANSWERS, origin, "");
    snprintf(url, sizeof(url), "%s/status/500", origin);
    struct hl_leased *alert = make_leased(2, url, "");
    alert->app = HL_STR("hookline.alerts");
    give(alert);
    wait_for_outcomes(2);
    give(make_leased(3, url, ""));
    assert_news(HL_NEWS_DEAD, origin, "status 500");
    for (unsigned i = 0; i < HL_FAILING_AFTER; i++) {
        struct hl_leased *l = make_leased(10 + i, "http://127.0.0.1:1/gone", "");
        l->max_attempts = 2;
        give(l);
    }
    wait_for_outcomes(3 + HL_FAILING_AFTER);
    assert_news(HL_NEWS_FAILING, "http://127.0.0.1:1", "");
}

static struct hl_direct direct_to(const char *url)
{
    return (struct hl_direct){.reply_to = &ear,
        .run_id = id_of(7),
        .url = hl_str_from(url),
        .body = HL_STR("{\"type\":\"hookline.alert.store_failing\"}")};
}

Test(sender, sends_an_alert_without_the_store_signed_and_as_it_stands)
{
    char url[64];
    config.webhook_secret = HL_STR("shared");
    start();
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/status/200", receiver.port);
    struct hl_direct direct = direct_to(url);
    hl_sender_send(sender, &direct);
    while (wait_for_ear()->type != HL_DIRECT)
        ;
    cr_assert(direct.is_delivered);
    const struct received *got = receiver_got(&receiver, 0);
    cr_assert_eq(got->body_n, direct.body.n);
    cr_assert_eq(memcmp(got->body, direct.body.p, direct.body.n), 0);
    cr_assert_not_null(received_field(got, "webhook-signature"));
    cr_assert_eq(store.told, 0, "the store hears nothing of it");
    cr_assert_eq(direct.http_status, 200);
    cr_assert(direct.was_tried && !direct.error[0]);
    cr_assert_eq(direct.report->sent_size, direct.body.n);
    cr_assert_leq(direct.started_ms, direct.ended_ms);
    free(direct.report);
}

Test(sender, signs_what_is_sent_without_the_store_with_a_secret_of_its_own)
{
    char url[64], first[HL_SIGNATURE_HEX + 16];
    config.webhook_secret = HL_STR("shared");
    start();
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/status/200", receiver.port);
    for (size_t i = 0; i < 2; i++) {
        struct hl_direct direct = direct_to(url);
        struct hl_signature signature;
        struct hl_signature_text text;
        direct.secret = i == 0 ? HL_STR("own") : HL_STR("");
        hl_sender_send(sender, &direct);
        while (wait_for_ear()->type != HL_DIRECT)
            ;
        free(direct.report);
        const struct received *got = receiver_got(&receiver, i);
        const char *seconds = received_field(got, "webhook-timestamp");
        cr_assert_eq(
            hl_signature_init(&signature, i == 0 ? HL_STR("own") : HL_STR("shared")), HL_OK);
        hl_signature_begin(&signature, &direct.run_id, atoll(seconds));
        hl_signature_feed(&signature, got->body, got->body_n);
        hl_signature_end(&signature, &text);
        hl_signature_fini(&signature);
        snprintf(first, sizeof(first), "v1,%s", text.hex);
        cr_assert_str_eq(received_field(got, "x-service-webhook-signature"), first);
    }
}

Test(sender, says_that_an_alert_was_refused_or_that_its_address_is)
{
    char refused[64];
    const char *urls[] = {refused, "http://10.0.0.1/", "http://127.0.0.1:1/"};
    start();
    snprintf(refused, sizeof(refused), "http://127.0.0.1:%u/status/503", receiver.port);
    for (size_t i = 0; i < HL_ARRAY_LEN(urls); i++) {
        struct hl_direct direct = direct_to(urls[i]);
        hl_sender_send(sender, &direct);
        cr_assert_eq(wait_for_ear()->type, HL_DIRECT);
        cr_assert_not(direct.is_delivered);
        cr_assert(direct.was_tried);
        cr_assert_eq(direct.http_status, i == 0 ? 503 : 0);
        cr_assert_eq(direct.error[0] != '\0', i > 0);
        free(direct.report);
    }
}

Test(sender, that_stops_gives_up_an_alert_that_hangs)
{
    char url[64];
    start();
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/stall", receiver.port);
    struct hl_direct direct = direct_to(url);
    hl_sender_send(sender, &direct);
    while (receiver_count(&receiver, "/stall") == 0)
        usleep(5000);
    hl_sender_stop(sender, 0, NULL, NULL);
    hl_sender_join(sender);
    cr_assert_eq(wait_for_ear()->type, HL_DIRECT);
    cr_assert_not(direct.is_delivered);
    cr_assert_not(direct.was_tried);
    hl_sender_free(sender);
    sender = NULL;
}

Test(sender, does_not_start_with_a_setting_that_cannot_work)
{
    char why[200];
    config.webhook_concurrency = 1;
    config.service_name = HL_STR("not a token");
    cr_assert_neq(try_start(why, sizeof(why)), HL_OK);
    cr_assert_not_null(strstr(why, "HOOKLINE_SERVICE_NAME"));
    config.service_name = HL_STR("Service");
    config.webhook_ca_file = HL_STR("/nonexistent/ca.pem");
    cr_assert_neq(try_start(why, sizeof(why)), HL_OK);
    cr_assert_not_null(strstr(why, "HOOKLINE_WEBHOOK_CA_FILE"));
    cr_assert_null(sender);
}
