/* test_envelope.c - the webhook's body, byte for byte, from memory and from files. */
#include "store/lease.h"
#include "webhook/envelope.h"

#include <criterion/criterion.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/body_check.h"
#include "store/body_file.h"
#include "store/digest.h"
#include "base/base64.h"
#include "base/utf8.h"

#define RUN_ID   "0193b5a0-0000-7000-8000-000000000001"
#define FINISHED 1795248000123 /* 2026-11-21T08:00:00.123Z */
#define LARGE    (300 * 1024 + 1)

static struct hl_leased make_leased(void)
{
    struct hl_leased l = {.project = HL_STR("p"), .app = HL_STR("a")};
    cr_assert(hl_id_parse(HL_STR(RUN_ID), &l.run_id));
    l.outcome.state = HL_RUN_SUCCESS;
    l.outcome.http_status = 200;
    l.outcome.finished_ms = FINISHED;
    return l;
}

static uint64_t escaped_size(const char *p, size_t n)
{
    char *out = malloc(6 * n + 1);
    size_t size = hl_json_escape(out, p, n);
    free(out);
    return size;
}

/* Borrows `bytes`. */
static void set_body(
    struct hl_leased *l, enum hl_encoding encoding, const char *bytes, size_t n, const char *type)
{
    l->outcome.encoding = encoding;
    l->outcome.escaped_size = escaped_size(bytes, n);
    l->outcome.body = (struct hl_body){.where = HL_BODY_INLINE, .size = n, .bytes = (char *)bytes};
    mbedtls_sha256_ret((const unsigned char *)bytes, n, l->outcome.body.digest, 0);
    snprintf(l->outcome.content_type, sizeof l->outcome.content_type, "%s", type);
}

/* One whole reading in pieces of `cap`; checks the promised length. Returned owned, NUL-terminated;
 * NULL when the reading failed. */
static char *read_all(struct hl_envelope *e, size_t cap)
{
    char *all = malloc(e->size + cap + 1);
    size_t n = 0;
    cr_assert_eq(hl_envelope_rewind(e), HL_OK);
    for (;;) {
        ssize_t got = hl_envelope_read(e, all + n, cap);
        if (got < 0) {
            free(all);
            return NULL;
        }
        if (got == 0)
            break;
        cr_assert_leq((size_t)got, cap);
        n += (size_t)got;
        cr_assert_leq(n, e->size);
    }
    cr_assert_eq(n, e->size);
    all[n] = '\0';
    struct hl_json_check check;
    hl_json_check_init(&check);
    cr_assert(hl_json_check_feed(&check, all, n) && hl_json_check_end(&check), "no JSON: %s", all);
    return all;
}

static void expect_payload(
    const struct hl_leased *l, const struct hl_payload *payload, const char *text)
{
    struct hl_envelope e;
    cr_assert_eq(hl_envelope_init(&e, l, NULL, payload), HL_OK);
    for (size_t cap = 1; cap < 1200; cap = cap * 2 + 1) {
        char *all = read_all(&e, cap);
        cr_assert_str_eq(all, text);
        free(all);
    }
    hl_envelope_fini(&e);
}

static void expect_text(const struct hl_leased *l, const char *text)
{
    expect_payload(l, NULL, text);
}

#define HEAD(state)                                                                                \
    "{\"type\":\"run." state "\",\"run_id\":\"" RUN_ID "\",\"timestamp\":"                         \
    "\"2026-11-21T08:00:00.123Z\",\"project_id\":\"p\",\"app_name\":\"a\",\"status\":\"" state     \
    "\""

Test(envelope, of_an_alert_is_what_it_says_and_thin_settings_leave_it_alone)
{
    struct hl_leased l = make_leased();
    static const char body[] = "{\"type\":\"hookline.alert.queue_age\"}\n";
    struct hl_payload thin = {
        .is_thin = true, .max_body = 1, .public_url = HL_STR("https://x.example")};
    l.app = HL_STR("hookline.alerts");
    set_body(&l, HL_ENCODING_JSON, body, strlen(body), "application/json");
    expect_text(&l, body);
    expect_payload(&l, &thin, body);
    l.outcome.body = (struct hl_body){.where = HL_BODY_DROPPED, .size = 5};
    expect_text(&l, "{\"type\":\"hookline.alert.unknown\",\"event_id\":\"" RUN_ID "\"}");
}

Test(envelope, embeds_json_byte_for_byte)
{
    struct hl_leased l = make_leased();
    static const char body[] = " {\"any\" :\t\"json\",\"n\":1e400}\n";
    set_body(&l, HL_ENCODING_JSON, body, strlen(body), "application/json");
    expect_text(&l, HEAD("success") ",\"status_code\":200,\"content_type\":\"application/json\","
                                    "\"content_encoding\":null,\"encoding\":\"json\",\"response\":"
                                    " {\"any\" :\t\"json\",\"n\":1e400}\n}");
}

Test(envelope, has_the_tags_of_a_run_that_has_some)
{
    struct hl_leased l = make_leased();
    static const char body[] = "1";
    set_body(&l, HL_ENCODING_JSON, body, strlen(body), "");
    l.tags = HL_STR("tier=gold,order=17=a b");
    expect_text(&l, "{\"type\":\"run.success\",\"run_id\":\"" RUN_ID "\",\"timestamp\":"
                    "\"2026-11-21T08:00:00.123Z\",\"project_id\":\"p\",\"app_name\":\"a\","
                    "\"tags\":{\"tier\":\"gold\",\"order\":\"17=a b\"},\"status\":\"success\","
                    "\"status_code\":200,\"content_type\":null,\"content_encoding\":null,"
                    "\"encoding\":\"json\",\"response\":1}");
}

Test(envelope, has_room_for_the_longest_of_everything)
{
    struct hl_leased l = make_leased();
    char name[128], type[HL_CONTENT_FIELD_MAX], tags[HL_TAGS_TEXT + 1], url[1024];
    struct hl_payload thin = {.is_thin = true, .public_url = {url, sizeof(url)}};
    size_t n = 0;
    memset(name, 'p', sizeof(name));
    memset(type, '"', sizeof(type));
    memset(url, 'u', sizeof(url));
    for (int i = 0; i < HL_TAGS_MAX; i++)
        n += (size_t)sprintf(
            tags + n, "%s%c%0*d=%0*d", i ? "," : "", 'a' + i, HL_TAG_MAX - 1, i, HL_TAG_MAX, i);
    cr_assert_eq(n, HL_TAGS_TEXT);
    l.project = l.app = (struct hl_str){name, sizeof(name)};
    l.tags = (struct hl_str){tags, n};
    set_body(&l, HL_ENCODING_JSON, "1", 1, "");
    memcpy(l.outcome.content_type, type, sizeof(type));
    memcpy(l.outcome.content_encoding, type, sizeof(type));
    struct hl_envelope e;
    cr_assert_eq(hl_envelope_init(&e, &l, NULL, &thin), HL_OK);
    free(read_all(&e, 1000));
    hl_envelope_fini(&e);
}

Test(envelope, escapes_text)
{
    struct hl_leased l = make_leased();
    static const char body[] = "data: \"x\"\\\n\n\x01\x7f w\xc3\xb6rld";
    set_body(&l, HL_ENCODING_TEXT, body, strlen(body), "text/event-stream; a=\"b\"");
    expect_text(&l, HEAD("success") ",\"status_code\":200,"
                                    "\"content_type\":\"text/event-stream; a=\\\"b\\\"\","
                                    "\"content_encoding\":null,\"encoding\":\"text\",\"response\":"
                                    "\"data: \\\"x\\\"\\\\\\n\\n\\u0001\x7f w\xc3\xb6rld\"}");
}

Test(envelope, encodes_bytes_as_base64)
{
    struct hl_leased l = make_leased();
    static const char *const ends[] = {"\"AAEC\"}", "\"AAECAw==\"}", "\"AAECAwQ=\"}"};
    for (size_t n = 3; n <= 5; n++) {
        char text[512];
        set_body(&l, HL_ENCODING_BASE64, "\0\1\2\3\4", n, "image/png");
        snprintf(l.outcome.content_encoding, sizeof l.outcome.content_encoding, "gzip");
        snprintf(text, sizeof text, "%s%s%s",
            HEAD("success") ",\"status_code\":200,\"content_type\":\"image/png\",",
            "\"content_encoding\":\"gzip\",\"encoding\":\"base64\",\"response\":", ends[n - 3]);
        expect_text(&l, text);
    }
}

Test(envelope, says_null_for_no_body)
{
    struct hl_leased l = make_leased();
    l.outcome.http_status = 204;
    l.outcome.encoding = HL_ENCODING_JSON;
    expect_text(&l, HEAD("success") ",\"status_code\":204,\"content_type\":null,"
                                    "\"content_encoding\":null,\"encoding\":\"none\","
                                    "\"response\":null}");
}

Test(envelope, says_an_empty_string_for_an_empty_body)
{
    struct hl_leased l = make_leased();
    set_body(&l, HL_ENCODING_JSON, "", 0, "application/json");
    expect_text(&l, HEAD("success") ",\"status_code\":200,\"content_type\":\"application/json\","
                                    "\"content_encoding\":null,\"encoding\":\"text\","
                                    "\"response\":\"\"}");
}

Test(envelope, says_why_a_run_failed_and_that_the_app_never_answered)
{
    struct hl_leased l = make_leased();
    l.outcome.state = HL_RUN_FAILURE;
    l.outcome.reason = HL_REASON_UPSTREAM_UNREACHABLE;
    l.outcome.http_status = 0;
    expect_text(&l, HEAD("failure") ",\"reason\":\"upstream_unreachable\",\"status_code\":null,"
                                    "\"content_type\":null,\"content_encoding\":null,"
                                    "\"encoding\":\"none\",\"response\":null}");
}

Test(envelope, carries_the_apps_error_body)
{
    struct hl_leased l = make_leased();
    l.outcome.state = HL_RUN_FAILURE;
    l.outcome.reason = HL_REASON_APP_ERROR;
    l.outcome.http_status = 500;
    set_body(&l, HL_ENCODING_TEXT, "boom", 4, "text/plain");
    expect_text(&l, HEAD("failure") ",\"reason\":\"app_error\",\"status_code\":500,"
                                    "\"content_type\":\"text/plain\",\"content_encoding\":null,"
                                    "\"encoding\":\"text\",\"response\":\"boom\"}");
}

Test(envelope, says_that_a_body_was_too_large)
{
    struct hl_leased l = make_leased();
    l.outcome.body = (struct hl_body){.where = HL_BODY_DROPPED, .size = 1 << 30};
    l.outcome.encoding = HL_ENCODING_TEXT;
    expect_text(&l, HEAD("success") ",\"reason\":\"response_too_large\",\"status_code\":200,"
                                    "\"content_type\":null,\"content_encoding\":null,"
                                    "\"encoding\":\"none\",\"response\":null}");
}

Test(envelope, keeps_a_reason_that_stands_nowhere_else_when_the_body_was_dropped)
{
    static const struct {
        enum hl_run_reason reason;
        const char *text;
    } rows[] = {{HL_REASON_APP_ERROR, "\"reason\":\"response_too_large\""},
        {HL_REASON_TIMEOUT, "\"reason\":\"timeout\""},
        {HL_REASON_UPSTREAM_RESET, "\"reason\":\"upstream_reset\""}};
    for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
        struct hl_leased l = make_leased();
        struct hl_envelope e;
        l.outcome.state = HL_RUN_FAILURE;
        l.outcome.reason = rows[i].reason;
        l.outcome.body.where = HL_BODY_DROPPED;
        cr_assert_eq(hl_envelope_init(&e, &l, NULL, NULL), HL_OK);
        char *all = read_all(&e, 500);
        cr_assert_not_null(strstr(all, rows[i].text));
        free(all);
        hl_envelope_fini(&e);
    }
}

Test(envelope, says_cancelled)
{
    struct hl_leased l = make_leased();
    l.outcome.state = HL_RUN_CANCELLED;
    l.outcome.http_status = 0;
    expect_text(&l, HEAD("cancelled") ",\"status_code\":null,\"content_type\":null,"
                                      "\"content_encoding\":null,\"encoding\":\"none\","
                                      "\"response\":null}");
}

Test(envelope, refuses_a_kept_body_without_encoding)
{
    struct hl_leased l = make_leased();
    struct hl_envelope e;
    set_body(&l, HL_ENCODING_NONE, "x", 1, "");
    cr_assert_eq(hl_envelope_init(&e, &l, NULL, NULL), HL_ERR_INVALID);
}

/* --- files
 * ------------------------------------------------------------------------------------------- */

static char data_dir[] = "/tmp/hl-envelope-XXXXXX";
static char *large;

static void make_dir(void)
{
    char path[64];
    cr_assert_not_null(mkdtemp(data_dir));
    snprintf(path, sizeof path, "%s/tmp", data_dir);
    cr_assert_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/bodies", data_dir);
    cr_assert_eq(mkdir(path, 0700), 0);
    large = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i % 96 + 32 - (i % 11 == 0 ? 22 : 0));
}

static void remove_dir(void)
{
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", data_dir);
    cr_assert_eq(system(command), 0);
    free(large);
}

TestSuite(envelope_file, .init = make_dir, .fini = remove_dir);

/* `written` bytes of the `n` that the record speaks of. */
static struct hl_leased leased_file(enum hl_encoding encoding, size_t n, size_t written)
{
    struct hl_leased l = make_leased();
    int fd;
    set_body(&l, encoding, large, n, "text/plain");
    l.outcome.body.where = HL_BODY_FILE;
    l.outcome.body.bytes = NULL;
    cr_assert(hl_id_parse(HL_STR("0193b5a0-0000-7000-8000-0000000000ff"), &l.outcome.body.file));
    cr_assert_eq(hl_body_file_create(data_dir, &l.outcome.body.file, &fd), HL_OK);
    cr_assert_eq(write(fd, large, written), (ssize_t)written);
    cr_assert_eq(hl_body_file_commit(data_dir, &l.outcome.body.file, fd), HL_OK);
    close(fd);
    return l;
}

Test(envelope_file, streams_a_large_body_in_every_encoding)
{
    static const enum hl_encoding encodings[] = {
        HL_ENCODING_JSON, HL_ENCODING_TEXT, HL_ENCODING_BASE64};
    char *expected = malloc(6 * LARGE);
    large[0] = '"'; /* the whole is a JSON string */
    for (size_t i = 1; i < LARGE - 1; i++)
        if (large[i] < ' ' || large[i] == '"' || large[i] == '\\')
            large[i] = '.';
    large[LARGE - 1] = '"';
    for (size_t i = 0; i < HL_ARRAY_LEN(encodings); i++) {
        struct hl_leased l = leased_file(encodings[i], LARGE, LARGE);
        struct hl_envelope e;
        size_t n = 0;
        if (encodings[i] == HL_ENCODING_JSON)
            memcpy(expected, large, n = LARGE);
        else if (encodings[i] == HL_ENCODING_TEXT)
            n = hl_json_escape(expected, large, LARGE);
        else
            n = hl_base64_encode(expected, large, LARGE);
        cr_assert_eq(hl_envelope_init(&e, &l, data_dir, NULL), HL_OK);
        for (size_t cap = 1021; cap < 200000; cap *= 13) {
            char *all = read_all(&e, cap);
            cr_assert_not_null(all);
            char *response = strstr(all, "\"response\":") + strlen("\"response\":");
            response += encodings[i] != HL_ENCODING_JSON;
            cr_assert_arr_eq(response, expected, n);
            free(all);
            hl_envelope_rest(&e);
        }
        hl_envelope_fini(&e);
    }
    free(expected);
}

Test(envelope_file, escapes_a_large_body_as_if_it_were_in_memory)
{
    struct hl_leased in_file = leased_file(HL_ENCODING_TEXT, LARGE, LARGE);
    struct hl_leased in_memory = make_leased();
    struct hl_envelope a, b;
    set_body(&in_memory, HL_ENCODING_TEXT, large, LARGE, "text/plain");
    cr_assert_eq(hl_envelope_init(&a, &in_file, data_dir, NULL), HL_OK);
    cr_assert_eq(hl_envelope_init(&b, &in_memory, NULL, NULL), HL_OK);
    char *x = read_all(&a, 16384), *y = read_all(&b, 777);
    cr_assert_str_eq(x, y);
    free(x);
    free(y);
    hl_envelope_fini(&a);
    hl_envelope_fini(&b);
}

Test(envelope_file, refuses_a_file_of_another_size_or_none)
{
    struct hl_leased l = leased_file(HL_ENCODING_TEXT, LARGE, LARGE - 1);
    struct hl_envelope e;
    cr_assert_eq(hl_envelope_init(&e, &l, data_dir, NULL), HL_OK);
    cr_assert_eq(hl_envelope_rewind(&e), HL_ERR_CORRUPT);
    hl_envelope_rest(&e);
    hl_body_file_remove(data_dir, &l.outcome.body.file);
    cr_assert_eq(hl_envelope_rewind(&e), HL_ERR_NOT_FOUND);
    hl_envelope_fini(&e);
}

Test(envelope_file, never_gives_out_the_end_of_a_damaged_body)
{
    struct hl_leased l = leased_file(HL_ENCODING_BASE64, LARGE, LARGE);
    struct hl_envelope e;
    l.outcome.body.digest[7] ^= 1; /* as if a bit of the file had flipped */
    cr_assert_eq(hl_envelope_init(&e, &l, data_dir, NULL), HL_OK);
    cr_assert_null(read_all(&e, 50000));
    cr_assert_null(read_all(&e, 70000));
    hl_envelope_fini(&e);
}

Test(envelope_file, never_gives_out_the_end_of_a_damaged_body_in_memory)
{
    struct hl_leased l = make_leased();
    struct hl_envelope e;
    set_body(&l, HL_ENCODING_TEXT, "as it was written", 17, "text/plain");
    cr_assert_eq(hl_envelope_init(&e, &l, data_dir, NULL), HL_OK);
    free(read_all(&e, 100));
    cr_assert(e.is_verified);
    hl_envelope_fini(&e);
    l.outcome.body.digest[7] ^= 1;
    cr_assert_eq(hl_envelope_init(&e, &l, data_dir, NULL), HL_OK);
    cr_assert_null(read_all(&e, 100));
    hl_envelope_fini(&e);
}

/* SQLite's digest of bytes in a row. */
Test(envelope_file, takes_a_short_digest_and_never_gives_out_the_end_of_what_does_not_fit_it)
{
    struct hl_leased l = make_leased();
    struct hl_envelope e;
    char text[] = "as it was written";
    set_body(&l, HL_ENCODING_TEXT, text, strlen(text), "text/plain");
    hl_digest_short((struct hl_str){text, strlen(text)}, l.outcome.body.digest);
    cr_assert_eq(hl_envelope_init(&e, &l, data_dir, NULL), HL_OK);
    char *all = read_all(&e, 100);
    cr_assert(all && strstr(all, text));
    free(all);
    cr_assert(e.is_verified);
    hl_envelope_fini(&e);
    text[3] ^= 1;
    cr_assert_eq(hl_envelope_init(&e, &l, data_dir, NULL), HL_OK);
    cr_assert_null(read_all(&e, 100));
    hl_envelope_fini(&e);
}

Test(envelope_file, never_gives_out_text_of_another_length_than_promised)
{
    struct hl_leased l = leased_file(HL_ENCODING_TEXT, LARGE, LARGE);
    struct hl_envelope e;
    l.outcome.escaped_size++;
    cr_assert_eq(hl_envelope_init(&e, &l, data_dir, NULL), HL_OK);
    cr_assert_null(read_all(&e, 50000));
    hl_envelope_fini(&e);
}

static const struct hl_payload thin = {.is_thin = true, .public_url = {"https://h.example/x/", 20}};
#define RESULT_URL                                                                                 \
    ",\"result_url\":\"https://h.example/x/v2/projects/p/apps/a/runs/" RUN_ID "/result\"}"

Test(envelope, a_thin_one_says_where_the_response_is)
{
    struct hl_leased l = make_leased();
    struct hl_envelope e;
    l.outcome.encoding = HL_ENCODING_JSON;
    l.outcome.body = (struct hl_body){.where = HL_BODY_INLINE, .size = 2, .bytes = (char[]){"{}"}};
    cr_assert_eq(hl_envelope_init(&e, &l, NULL, &thin), HL_OK);
    char *all = read_all(&e, 500);
    cr_expect_not_null(
        strstr(all, "\"encoding\":\"none\",\"response\":null" RESULT_URL), "%s", all);
    free(all);
    hl_envelope_fini(&e);
}

Test(envelope, a_response_over_the_limit_is_left_out_and_one_at_it_is_not)
{
    struct hl_leased l = make_leased();
    l.outcome.encoding = HL_ENCODING_JSON;
    l.outcome.body = (struct hl_body){.where = HL_BODY_INLINE, .size = 2, .bytes = (char[]){"{}"}};
    for (uint64_t max = 1; max <= 2; max++) {
        const struct hl_payload payload = {.max_body = max, .public_url = thin.public_url};
        struct hl_envelope e;
        cr_assert_eq(hl_envelope_init(&e, &l, NULL, &payload), HL_OK);
        char *all = read_all(&e, 500);
        cr_expect_eq(strstr(all, "result_url") != NULL, max == 1, "%s", all);
        cr_expect_eq(strstr(all, "\"response\":{}}") != NULL, max == 2, "%s", all);
        free(all);
        hl_envelope_fini(&e);
    }
}

Test(envelope, a_thin_one_has_no_url_where_no_response_is_kept)
{
    struct hl_leased l = make_leased();
    l.outcome.state = HL_RUN_CANCELLED;
    l.outcome.http_status = 0;
    expect_payload(&l, &thin,
        HEAD("cancelled") ",\"status_code\":null,\"content_type\":null,\"content_encoding\":null,"
                          "\"encoding\":\"none\",\"response\":null,\"result_url\":null}");
}

/* What is made of the first `n` bytes is how the whole begins, and all of it once they are all. */
static void expect_previews(const struct hl_leased *l, const char *bytes, size_t n)
{
    struct hl_envelope e;
    cr_assert_eq(hl_envelope_init(&e, l, NULL, NULL), HL_OK);
    char *whole = read_all(&e, 1000);
    for (size_t i = 0; i <= n; i++) {
        struct hl_buf out = {0};
        bool is_whole;
        struct hl_str first = {bytes, i};
        cr_assert_eq(hl_envelope_preview(&e, first, &out, &is_whole), HL_OK);
        cr_assert_eq(is_whole, i == n, "%zu", i);
        cr_assert_eq(memcmp(out.p, whole, out.n), 0, "%zu", i);
        cr_assert(i < n ? out.n < e.size : out.n == e.size, "%zu", i);
        cr_assert(hl_utf8_is_valid(hl_buf_str(&out)), "no character is cut at %zu", i);
        hl_buf_fini(&out);
    }
    free(whole);
    hl_envelope_fini(&e);
}

Test(envelope, begins_with_what_the_first_of_the_response_says_in_each_encoding)
{
    static const char json[] = "{\"a\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\",\"b\":[1,2]}";
    static const char text[] = "\"\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 end\t";
    static const char bytes[] = "\xff\x00\x01\x02\x80\x81\x82\x83";
    struct hl_leased l = make_leased();
    set_body(&l, HL_ENCODING_JSON, json, sizeof(json) - 1, "application/json");
    expect_previews(&l, json, sizeof(json) - 1);
    set_body(&l, HL_ENCODING_TEXT, text, sizeof(text) - 1, "text/plain");
    expect_previews(&l, text, sizeof(text) - 1);
    set_body(&l, HL_ENCODING_BASE64, bytes, sizeof(bytes) - 1, "image/png");
    expect_previews(&l, bytes, sizeof(bytes) - 1);
}
