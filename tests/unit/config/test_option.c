#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/buf.h"
#include "config/config.h"
#include "config/option.h"
#include "config/option_value.h"

Test(option, has_a_default_that_is_allowed)
{
    for (size_t i = 0; i < hl_option_count; i++) {
        struct hl_config *config = calloc(1, sizeof(*config));
        cr_assert_eq(hl_option_parse(&hl_options[i], hl_str_from(hl_options[i].initial), config),
            HL_OK, "%s", hl_options[i].name);
        hl_option_clear(&hl_options[i], config);
        free(config);
    }
}

Test(option, has_a_name_of_its_own_a_help_line_and_a_description)
{
    for (size_t i = 0; i < hl_option_count; i++) {
        const struct hl_option *option = &hl_options[i];
        struct hl_buf b;
        hl_buf_init(&b, 0);
        cr_assert_eq(hl_option_find(hl_str_from(option->name)), option, "%s", option->name);
        cr_assert_eq(strncmp(option->name, "HOOKLINE_", 9), 0);
        cr_assert(option->help && !strpbrk(option->help, "\n|"), "%s", option->name);
        cr_assert_eq(hl_option_describe(option, &b), HL_OK);
        cr_assert_gt(b.n, 0);
        hl_buf_fini(&b);
    }
}

Test(option, lies_in_a_field_of_its_own)
{
    for (size_t i = 0; i < hl_option_count; i++) {
        for (size_t j = 0; j < i; j++)
            cr_assert_neq(hl_options[i].offset, hl_options[j].offset, "%s", hl_options[i].name);
    }
}

/* Values at the bounds and just beyond, for each kind of rule. */
Test(option, keeps_to_its_bounds)
{
    static const struct {
        const char *name, *text;
        bool is_allowed;
    } cases[] = {
        {"HOOKLINE_MAX_HEAD", "4KiB", true},
        {"HOOKLINE_MAX_HEAD", "4095", false},
        {"HOOKLINE_MAX_HEAD", "1MiB", true},
        {"HOOKLINE_MAX_HEAD", "1048577", false},
        {"HOOKLINE_RESPONSE_GRACE_PERIOD", "12h", true},
        {"HOOKLINE_RESPONSE_GRACE_PERIOD", "43200001ms", false},
        {"HOOKLINE_RESPONSE_GRACE_PERIOD", "0", false},
        {"HOOKLINE_SSE_HEARTBEAT", "0", true},
        {"HOOKLINE_MAX_SYNC_BODY", "0", true},
        {"HOOKLINE_MAX_REQUEST_BODY", "0", false},
        {"HOOKLINE_WEBHOOK_ATTEMPTS", "0", true},
        {"HOOKLINE_WEBHOOK_ATTEMPTS", "1", true},
        {"HOOKLINE_WORKERS", "256", true},
        {"HOOKLINE_WORKERS", "257", false},
        {"HOOKLINE_WORKERS", "4294967296", false},
        {"HOOKLINE_STORE", "memory", true},
        {"HOOKLINE_STORE", "postgres", true},
        {"HOOKLINE_STORE", "postgresql", false},
        {"HOOKLINE_POSTGRES_URL", "postgres://me:word@db/hookline", true},
        {"HOOKLINE_POSTGRES_URL", "host=db", true},
        {"HOOKLINE_POSTGRES_URL", "db.example", false},
        {"HOOKLINE_POSTGRES_SCHEMA", "_hookline_2", true},
        {"HOOKLINE_POSTGRES_SCHEMA",
            "a23456789012345678901234567890123456789012345678901234567890123", true},
        {"HOOKLINE_POSTGRES_SCHEMA",
            "a234567890123456789012345678901234567890123456789012345678901234", false},
        {"HOOKLINE_POSTGRES_SCHEMA", "2hookline", false},
        {"HOOKLINE_POSTGRES_SCHEMA", "pg_hookline", false},
        {"HOOKLINE_POSTGRES_SCHEMA", "pgx", true},
        {"HOOKLINE_POSTGRES_SCHEMA", "Hookline", false},
        {"HOOKLINE_POSTGRES_SCHEMA", "a-b", false},
        {"HOOKLINE_KEY", "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF", true},
        {"HOOKLINE_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeef", false},
        {"HOOKLINE_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeefg", false},
        {"HOOKLINE_PREVIOUS_KEY", "0011", false},
        {"HOOKLINE_REPLICA", "words-0", true},
        {"HOOKLINE_REPLICA", "two words", false},
        {"HOOKLINE_REPLICA_TTL", "3s", true},
        {"HOOKLINE_REPLICA_TTL", "2999ms", false},
        {"HOOKLINE_REPLICA_TTL", "1h", true},
        {"HOOKLINE_REPLICA_TTL", "3601s", false},
        {"HOOKLINE_AUTH", "jwt", true},
        {"HOOKLINE_AUTH", "basic", false},
        {"HOOKLINE_JWT_SECRET", "0123456789abcdef0123456789abcde", false},
        {"HOOKLINE_JWT_SECRET", "0123456789abcdef0123456789abcdef", true},
        {"HOOKLINE_JWT_JWKS_URL", "https://id.example/keys?v=1", true},
        {"HOOKLINE_JWT_JWKS_URL", "https://user:word@id.example/keys", false},
        {"HOOKLINE_JWT_JWKS_URL", "file:///etc/passwd", false},
        {"HOOKLINE_JWT_PROJECT_CLAIM", "https://id.example/project", true},
        {"HOOKLINE_JWT_PROJECT_CLAIM", "a\nb", false},
        {"HOOKLINE_JWT_LIMITS", "max_running=4,max_queued=100,rate=100/m,max_priority=low", true},
        {"HOOKLINE_JWT_LIMITS", "rate=100", false},
        {"HOOKLINE_JWT_LIMITS", "100/m", false},
        {"HOOKLINE_JWT_LIMIT_CLAIMS", "rate=https://id.example/rate?a=b", true},
        {"HOOKLINE_JWT_LIMIT_CLAIMS", "speed=a", false},
        {"HOOKLINE_JWT_LIMIT_CLAIMS", "rate", false},
        {"HOOKLINE_CORS_ORIGINS", "https://app.example, http://localhost:3000", true},
        {"HOOKLINE_CORS_ORIGINS", "*", true},
        {"HOOKLINE_CORS_ORIGINS", "*,https://app.example", false},
        {"HOOKLINE_CORS_ORIGINS", "null", false},
        {"HOOKLINE_CORS_ORIGINS", "https://app.example/", false},
        {"HOOKLINE_CORS_ORIGINS", "https://App.example", false},
        {"HOOKLINE_LOG_LEVEL", "WARN", true},
        {"HOOKLINE_PROJECT_ID", "my-project_1.x", true},
        {"HOOKLINE_PROJECT_ID", "..", false},
        {"HOOKLINE_PROJECT_ID", "a/b", false},
        {"HOOKLINE_SERVICE_NAME", "Acme-1", true},
        {"HOOKLINE_SERVICE_NAME", "Ac me", false},
        {"HOOKLINE_SERVICE_NAME", "Acme:", false},
        {"HOOKLINE_APP_RUN_PATH", "/predict", true},
        {"HOOKLINE_APP_RUN_PATH", "predict", false},
        {"HOOKLINE_APP_RUN_PATH", "/predict?x=1", false},
        {"HOOKLINE_APP_HEALTH_PATH", "/health?deep=1", true},
        {"HOOKLINE_APP_HEALTH_PATH", "/hea lth", false},
        {"HOOKLINE_APP_HEALTH_PATH", "/a\r\nHost: b", false},
        {"HOOKLINE_WEBHOOK_SECRET", "any thing \xc3\xbc", true},
        {"HOOKLINE_WEBHOOK_SECRET", "a\nb", false},
        {"HOOKLINE_WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", true},
        {"HOOKLINE_WEBHOOK_SECRET", "whsec_YQ==", true},
        {"HOOKLINE_WEBHOOK_SECRET", "whsec_Y", false},
        {"HOOKLINE_WEBHOOK_SECRET", "whsec_", false},
        {"HOOKLINE_WEBHOOK_SECRET", "whsec_YQ=a", false},
        {"HOOKLINE_WEBHOOK_ALLOW", "10.0.0.0/8, fd00::/8", true},
        {"HOOKLINE_WEBHOOK_ALLOW", "10.0.0.1/8", false},
        {"HOOKLINE_TRUSTED_PROXIES", "localhost", false},
        {"HOOKLINE_STORE_MAX_BYTES", "80%", true},
        {"HOOKLINE_STORE_MAX_BYTES", "20GiB", true},
        {"HOOKLINE_STORE_MAX_BYTES", "0", false},
        {"HOOKLINE_STORE_MAX_BYTES", "120%", false},
        {"HOOKLINE_STREAM_KEEP", "ask", true},
        {"HOOKLINE_STREAM_KEEP", "all", true},
        {"HOOKLINE_STREAM_KEEP", "off", true},
        {"HOOKLINE_STREAM_KEEP", "none", false},
        {"HOOKLINE_STREAM_KEEP_MAX_BYTES", "10%", true},
        {"HOOKLINE_STREAM_KEEP_MAX_BYTES", "1GiB", true},
        {"HOOKLINE_STREAM_KEEP_MAX_BYTES", "0", false},
        {"HOOKLINE_STREAM_KEEP_MAX_BYTES", "101%", false},
        {"HOOKLINE_STREAM_RETENTION", "1s", true},
        {"HOOKLINE_STREAM_RETENTION", "999ms", false},
        {"HOOKLINE_STREAM_RETENTION", "3650d", true},
        {"HOOKLINE_STREAM_RETENTION", "3651d", false},
        {"HOOKLINE_MAX_FOLLOWERS", "0", true},
        {"HOOKLINE_MAX_FOLLOWERS", "1000000", true},
        {"HOOKLINE_MAX_FOLLOWERS", "1000001", false},
        {"HOOKLINE_REPLICA_URL", "http://10.1.2.3:8080", true},
        {"HOOKLINE_REPLICA_URL", "http://[fd00::1]:8080/", true},
        {"HOOKLINE_REPLICA_URL", "http://words-0.words", true},
        {"HOOKLINE_REPLICA_URL", "https://10.1.2.3:8080", true},
        {"HOOKLINE_REPLICA_URL", "http://10.1.2.3:0", false},
        {"HOOKLINE_REPLICA_URL", "http://10.1.2.3:8080/x", false},
        {"HOOKLINE_REPLICA_URL", "http://10.1.2.3:8080?x", false},
        {"HOOKLINE_REPLICA_URL", "http://10.1.2.3:8080#x", false},
        {"HOOKLINE_REPLICA_URL", "http://me@10.1.2.3:8080", false},
        {"HOOKLINE_REPLICA_URL", "10.1.2.3:8080", false},
        {"HOOKLINE_PASSTHROUGH", "off", true},
        {"HOOKLINE_PASSTHROUGH", "maybe", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_config *config = calloc(1, sizeof(*config));
        const struct hl_option *option = hl_option_find(hl_str_from(cases[i].name));
        cr_assert_not_null(option, "%s", cases[i].name);
        enum hl_err err = hl_option_parse(option, hl_str_from(cases[i].text), config);
        cr_assert_eq(err, cases[i].is_allowed ? HL_OK : HL_ERR_INVALID, "%s=%s", cases[i].name,
            cases[i].text);
        hl_option_clear(option, config);
        free(config);
    }
}

Test(option, takes_secrets_of_1024_bytes_and_no_more)
{
    static char secret[1025];
    const struct hl_option *option = hl_option_find(HL_STR("HOOKLINE_WEBHOOK_SECRET"));
    memset(secret, 's', sizeof(secret));
    cr_assert(option->is_valid((struct hl_str){secret, 1024}));
    cr_assert_not(option->is_valid((struct hl_str){secret, 1025}));
}

Test(option, finds_the_nearest_name)
{
    static const struct {
        const char *name, *nearest;
    } cases[] = {
        {"HOOKLINE_WEBHOK_SECRET", "HOOKLINE_WEBHOOK_SECRET"},
        {"HOOKLINE_RETENTIONS", "HOOKLINE_RETENTION"},
        {"HOOKLINE_LOGLEVEL", "HOOKLINE_LOG_LEVEL"},
        {"HOOKLINE_APP_ULR", "HOOKLINE_APP_URL"},
        {"HOOKLINE_WORKER", "HOOKLINE_WORKERS"},
        {"HOOKLINE_RETRIES", "HOOKLINE_RUN_ATTEMPTS"},
        {"HOOKLINE_WEBHOOK_RETRIES", "HOOKLINE_WEBHOOK_ATTEMPTS"},
        {"HOOKLINE_RUN_MAX_RETRIES", "HOOKLINE_RUN_ATTEMPTS"},
        {"HOOKLINE_UPSTREAM", "HOOKLINE_APP_URL"},
        {"HOOKLINE_PORT", "HOOKLINE_LISTEN"},
        {"HOOKLINE_ADMIN_PORT", "HOOKLINE_ADMIN_LISTEN"},
        {"HOOKLINE_DATABASE_URL", "HOOKLINE_POSTGRES_URL"},
        {"HOOKLINE_HOOK_TIMEOUT", "HOOKLINE_WEBHOOK_TIMEOUT"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_str_eq(hl_nearest_option(hl_str_from(cases[i].name))->name, cases[i].nearest);
    static char longest[5000];
    memset(longest, 'X', sizeof(longest));
    cr_assert_not_null(hl_nearest_option((struct hl_str){longest, sizeof(longest)}));
}

Test(option, describes_bounds_in_the_units_one_writes)
{
    struct hl_buf b;
    hl_buf_init(&b, 0);
    cr_assert_eq(hl_option_describe(hl_option_find(HL_STR("HOOKLINE_MAX_HEAD")), &b), HL_OK);
    cr_assert(hl_str_starts_with(hl_buf_str(&b), HL_STR("a size from 4KiB to 1MiB")));
    hl_buf_drop(&b, b.n);
    cr_assert_eq(hl_option_describe(hl_option_find(HL_STR("HOOKLINE_LOG_FORMAT")), &b), HL_OK);
    cr_assert(hl_str_eq(hl_buf_str(&b), HL_STR("json, text or auto")));
    hl_buf_drop(&b, b.n);
    cr_assert_eq(hl_option_describe(hl_option_find(HL_STR("HOOKLINE_SSE_HEARTBEAT")), &b), HL_OK);
    cr_assert(hl_str_starts_with(hl_buf_str(&b), HL_STR("0 or a duration from 10ms to 1h")));
    hl_buf_fini(&b);
}

/* What a longer one is refused for stands in what is allowed, as does what a share is of. */
Test(option, says_how_long_a_text_may_be_and_what_a_share_is_of)
{
    static const struct {
        const char *name, *start;
        size_t most; /* 0: nothing is as long as that */
        const char *says;
    } cases[] = {
        {"HOOKLINE_APP_RUN_PATH", "/", 1024, "1024 bytes"},
        {"HOOKLINE_APP_HEALTH_PATH", "/", 1024, "1024 bytes"},
        {"HOOKLINE_APP_WARMUP", "POST /", 5 + 1024, "1024 bytes"},
        {"HOOKLINE_APP_SLEEP_CALL", "PUT /", 4 + 1024, "1024 bytes"},
        {"HOOKLINE_APP_WAKE_CALL", "DELETE /", 0, "POST, GET, PUT or PATCH"},
        {"HOOKLINE_APP_URL", "unix:/", 5 + 107, "107 bytes"},
        {"HOOKLINE_JWT_JWKS_URL", "https://a/", 2048, "2048 bytes"},
        {"HOOKLINE_STREAM_KEEP_MAX_BYTES", "101%", 0, "of HOOKLINE_STORE_MAX_BYTES"},
        {"HOOKLINE_STORE_MAX_BYTES", "101%", 0, "of the volume"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        const struct hl_option *option = hl_option_find(hl_str_from(cases[i].name));
        char text[2100];
        struct hl_config *config = calloc(1, sizeof(*config));
        memset(text, 'x', sizeof(text));
        memcpy(text, cases[i].start, strlen(cases[i].start));
        if (cases[i].most > 0) {
            cr_expect_eq(hl_option_parse(option, (struct hl_str){text, cases[i].most}, config),
                HL_OK, "%s", cases[i].name);
            hl_option_clear(option, config);
            cr_expect_eq(hl_option_parse(option, (struct hl_str){text, cases[i].most + 1}, config),
                HL_ERR_INVALID, "%s", cases[i].name);
        } else {
            cr_expect_eq(hl_option_parse(option, hl_str_from(cases[i].start), config),
                HL_ERR_INVALID, "%s", cases[i].name);
        }
        struct hl_buf allowed;
        hl_buf_init(&allowed, 0);
        cr_assert_eq(hl_option_describe(option, &allowed), HL_OK);
        cr_assert_eq(hl_buf_printf(&allowed, "%c", '\0'), HL_OK);
        cr_expect(strstr(allowed.p, cases[i].says), "%s: %s", cases[i].name, allowed.p);
        hl_buf_fini(&allowed);
        free(config);
    }
}
