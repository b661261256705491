/* test_secret.c - sealed values open only with their key, in their place, unchanged. */
#include <criterion/criterion.h>
#include <mbedtls/cipher.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/id.h"
#include "store/key.h"
#include "store/secret.h"

static struct hl_key key;
static struct hl_sealer sealer;
static struct hl_buf sealed;
static const struct hl_id row = {{1, 2, 3}}, other_row = {{1, 2, 4}};

static void init(void)
{
    hl_key_random(&key);
    cr_assert_eq(hl_sealer_init(&sealer, &key), HL_OK);
    hl_buf_init(&sealed, 0);
}

static void fini(void)
{
    hl_sealer_fini(&sealer);
    hl_buf_fini(&sealed);
}

TestSuite(secret, .init = init, .fini = fini);

static void takes_turns(void (*check)(void))
{
    check();
    hl_sealer_fini(&sealer);
    cr_assert_eq(hl_sealer_init_own(&sealer, &key), HL_OK);
    check();
}

static void check_opens(void)
{
    const struct hl_str plains[] = {HL_STR(""), HL_STR("x"), HL_STR("a secret \0 of any bytes")};
    char out[128];
    size_t n;
    for (size_t i = 0; i < HL_ARRAY_LEN(plains); i++) {
        cr_assert_eq(hl_seal(&sealer, "webhook.url", &row, plains[i], &sealed), HL_OK);
        cr_assert_eq(sealed.n, plains[i].n + HL_SEAL_OVERHEAD);
        cr_assert_eq(hl_unseal(&sealer, "webhook.url", &row, hl_buf_str(&sealed), out, &n), HL_OK);
        cr_assert(hl_str_eq((struct hl_str){out, n}, plains[i]));
    }
}

Test(secret, opens_what_it_sealed)
{
    takes_turns(check_opens);
}

Test(secret, of_one_way_to_seal_is_opened_by_a_sealer_of_the_other)
{
    struct hl_sealer own;
    char out[128];
    size_t n;
    cr_assert_eq(hl_sealer_init_own(&own, &key), HL_OK);
    for (int i = 0; i < 2; i++) {
        struct hl_sealer *from = i ? &own : &sealer, *to = i ? &sealer : &own;
        cr_assert_eq(hl_seal(from, "t.c", &row, HL_STR("value"), &sealed), HL_OK);
        cr_assert_eq(hl_unseal(to, "t.c", &row, hl_buf_str(&sealed), out, &n), HL_OK);
        cr_assert(hl_str_eq((struct hl_str){out, n}, HL_STR("value")));
        sealed.p[0] ^= 1; /* it names the other */
        cr_assert_eq(hl_unseal(to, "t.c", &row, hl_buf_str(&sealed), out, &n), HL_ERR_CORRUPT);
    }
    hl_sealer_fini(&own);
}

/* Values of two starts with each key, in turn: no key stays at hand for the next one. */
Test(secret, of_either_shared_key_is_opened_and_a_new_one_is_sealed_with_the_first)
{
    struct hl_shared_keys keys = {.key = key, .has_previous = true};
    struct hl_sealer first, before[2], shared;
    struct hl_buf values[3] = {{0}};
    char out[128];
    size_t n;
    hl_key_random(&keys.previous);
    cr_assert_eq(hl_sealer_init_shared(&shared, &keys), HL_OK);
    cr_assert_eq(hl_sealer_init(&first, &keys.key), HL_OK);
    cr_assert_eq(hl_seal(&first, "t.c", &row, HL_STR("new"), &values[0]), HL_OK);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(hl_sealer_init(&before[i], &keys.previous), HL_OK);
        cr_assert_eq(hl_seal(&before[i], "t.c", &row, HL_STR("old"), &values[i + 1]), HL_OK);
    }
    for (size_t i = 0; i < 9; i++) {
        cr_assert_eq(hl_unseal(&shared, "t.c", &row, hl_buf_str(&values[i % 3]), out, &n), HL_OK);
        cr_assert(hl_str_eq((struct hl_str){out, n}, i % 3 ? HL_STR("old") : HL_STR("new")));
    }
    cr_assert_eq(
        hl_unseal(&shared, "t.c", &other_row, hl_buf_str(&values[1]), out, &n), HL_ERR_CORRUPT);
    cr_assert_eq(hl_seal(&shared, "t.c", &row, HL_STR("now"), &sealed), HL_OK);
    cr_assert_eq(hl_unseal(&first, "t.c", &row, hl_buf_str(&sealed), out, &n), HL_OK);
    cr_assert_eq(hl_unseal(&before[0], "t.c", &row, hl_buf_str(&sealed), out, &n), HL_ERR_CORRUPT);
    for (size_t i = 0; i < 3; i++)
        hl_buf_fini(&values[i]);
    hl_sealer_fini(&first);
    hl_sealer_fini(&before[0]);
    hl_sealer_fini(&before[1]);
    hl_sealer_fini(&shared);
}

static void check_place(void)
{
    char out[128];
    size_t plain_n;
    cr_assert_eq(hl_seal(&sealer, "webhook.url", &row, HL_STR("secret"), &sealed), HL_OK);
    struct hl_str s = hl_buf_str(&sealed);
    cr_assert_eq(hl_unseal(&sealer, "webhook.secret", &row, s, out, &plain_n), HL_ERR_CORRUPT);
    cr_assert_eq(hl_unseal(&sealer, "webhook.url", &other_row, s, out, &plain_n), HL_ERR_CORRUPT);
    for (size_t i = 0; i < s.n; i++) {
        sealed.p[i] ^= 1;
        cr_assert_eq(hl_unseal(&sealer, "webhook.url", &row, s, out, &plain_n), HL_ERR_CORRUPT,
            "byte %zu", i);
        sealed.p[i] ^= 1;
    }
    for (size_t n = 0; n < s.n; n++)
        cr_assert_eq(
            hl_unseal(&sealer, "webhook.url", &row, (struct hl_str){s.p, n}, out, &plain_n),
            HL_ERR_CORRUPT);
}

Test(secret, opens_in_its_own_place_only)
{
    takes_turns(check_place);
}

Test(secret, nonces_do_not_come_twice)
{
    enum { N = 1000 };
    static char nonces[N][12];
    for (int i = 0; i < N; i++) {
        cr_assert_eq(hl_seal(&sealer, "t.c", &row, HL_STR("same"), &sealed), HL_OK);
        memcpy(nonces[i], sealed.p + 1 + HL_SEAL_SALT_SIZE, 12);
        for (int j = 0; j < i; j++)
            cr_assert_neq(memcmp(nonces[i], nonces[j], 12), 0);
    }
}

Test(secret, each_sealer_has_a_key_of_its_own_and_opens_those_of_others)
{
    struct hl_sealer next;
    char out[128], salt[HL_SEAL_SALT_SIZE];
    size_t n;
    cr_assert_eq(hl_seal(&sealer, "t.c", &row, HL_STR("before"), &sealed), HL_OK);
    memcpy(salt, sealed.p + 1, sizeof(salt));
    cr_assert_eq(hl_sealer_init(&next, &key), HL_OK);
    cr_assert_eq(hl_unseal(&next, "t.c", &row, hl_buf_str(&sealed), out, &n), HL_OK);
    cr_assert(hl_str_eq((struct hl_str){out, n}, HL_STR("before")));
    cr_assert_eq(hl_seal(&next, "t.c", &row, HL_STR("after"), &sealed), HL_OK);
    cr_assert_neq(memcmp(salt, sealed.p + 1, sizeof(salt)), 0);
    cr_assert_eq(hl_unseal(&next, "t.c", &row, hl_buf_str(&sealed), out, &n), HL_OK);
    cr_assert(hl_str_eq((struct hl_str){out, n}, HL_STR("after")));
    hl_sealer_fini(&next);
}

Test(secret, takes_another_key_before_nonces_may_come_twice)
{
    char out[128], salt[HL_SEAL_SALT_SIZE];
    size_t n;
    cr_assert_leq(sealer.seals_left, 1u << 24);
    sealer.seals_left = 1;
    for (int i = 0; i < 2; i++) {
        memcpy(salt, sealer.sealing.salt, sizeof(salt));
        cr_assert_eq(hl_seal(&sealer, "t.c", &row, HL_STR("plain"), &sealed), HL_OK);
        cr_assert_eq(memcmp(salt, sealer.sealing.salt, sizeof(salt)) == 0, i == 0);
        cr_assert_eq(hl_unseal(&sealer, "t.c", &row, hl_buf_str(&sealed), out, &n), HL_OK);
    }
}

/* AES-256-GCM as an earlier hookline sealed it: one key, no salt. */
static size_t seal_as_format_1(struct hl_str plain, uint8_t out[128])
{
    static const char place[] = "webhook.url";
    uint8_t aad[sizeof(place) + sizeof(row.b)];
    mbedtls_gcm_context gcm;
    memcpy(aad, place, sizeof(place));
    memcpy(aad + sizeof(place), row.b, sizeof(row.b));
    memset(out, 7, 13);
    out[0] = 1;
    mbedtls_gcm_init(&gcm);
    cr_assert_eq(mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key.seal, 256), 0);
    cr_assert_eq(mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, plain.n, out + 1, 12, aad,
                     sizeof(aad), (const uint8_t *)plain.p, out + 13, 16, out + 13 + plain.n),
        0);
    mbedtls_gcm_free(&gcm);
    return 13 + plain.n + 16;
}

Test(secret, opens_what_an_earlier_version_sealed)
{
    uint8_t old[128];
    char out[128];
    size_t n, old_n = seal_as_format_1(HL_STR("https://example.org/"), old);
    struct hl_str s = {(const char *)old, old_n};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(hl_unseal(&sealer, "webhook.url", &row, s, out, &n), HL_OK);
        cr_assert(hl_str_eq((struct hl_str){out, n}, HL_STR("https://example.org/")));
        cr_assert_eq(hl_seal(&sealer, "t.c", &row, HL_STR("new"), &sealed), HL_OK);
        cr_assert_eq(hl_unseal(&sealer, "t.c", &row, hl_buf_str(&sealed), out, &n), HL_OK);
    }
}

/* --- keys ------------------------------------------------------------------------------------ */

Test(key, lanes_are_scheme_host_and_port)
{
    static const struct {
        const char *a, *b;
        bool is_same;
    } cases[] = {
        {"https://example.org/a", "https://example.org/b?c#d", true},
        {"https://example.org/", "https://EXAMPLE.org:443", true},
        {"http://example.org/", "http://example.org:80/", true},
        {"https://example.org/", "http://example.org/", false},
        {"https://example.org/", "https://example.org:8443/", false},
        {"https://example.org/", "https://www.example.org/", false},
        {"https://[2001:db8::1]/", "https://[2001:db8::1]:443/x", true},
    };
    struct hl_key other;
    hl_key_random(&key);
    hl_key_random(&other);
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        uint64_t a = hl_key_lane(&key, hl_str_from(cases[i].a));
        uint64_t b = hl_key_lane(&key, hl_str_from(cases[i].b));
        cr_assert_eq(a == b, cases[i].is_same, "%s %s", cases[i].a, cases[i].b);
        cr_assert_neq(a, hl_key_lane(&other, hl_str_from(cases[i].a)), "the hash is keyed");
    }
}

/* Of more destinations, short and long, than a thread remembers, under two keys that take turns. */
Test(key, lanes_stay_the_same_whatever_else_was_asked)
{
    uint64_t first[2][64];
    struct hl_key keys[2];
    hl_key_random(&keys[0]);
    hl_key_random(&keys[1]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 64; i++) {
            char url[128];
            snprintf(url, sizeof(url), "https://%0*d.example/%d", i < 32 ? 3 : 60, i, round);
            for (int k = 0; k < 2; k++) {
                uint64_t lane = hl_key_lane(&keys[k], hl_str_from(url));
                if (round == 0)
                    first[k][i] = lane;
                cr_assert_eq(lane, first[k][i], "%s", url);
                cr_assert(i == 0 || lane != first[k][i - 1], "%s", url);
            }
            cr_assert_neq(first[0][i], first[1][i], "%s", url);
        }
    }
}

Test(key, file_holds_hex_or_raw_bytes)
{
    static const struct {
        const char *text;
        size_t n;
        enum hl_err err;
    } cases[] = {
        {"30313233343536373839616263646566303132333435363738396162636465660a", 66, HL_ERR_INVALID},
        {"3031323334353637383961626364656630313233343536373839616263646566", 64, HL_OK},
        {"3031323334353637383961626364656630313233343536373839616263646566\r\n", 66, HL_OK},
        {"3031323334353637383961626364656630313233343536373839616263646566 x", 66, HL_ERR_INVALID},
        {"303132333435363738396162636465663031323334353637383961626364656g", 64, HL_ERR_INVALID},
        {"0123456789abcdef0123456789abcdef", 32, HL_OK},
        {"0123456789abcdef0123456789abcde", 31, HL_ERR_INVALID},
        {"", 0, HL_ERR_INVALID},
    };
    char path[] = "/tmp/hookline-key-XXXXXX", why[256];
    struct hl_key raw, from_file;
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, "0123456789abcdef0123456789abcdef", 32), 32);
    cr_assert_eq(hl_key_load(&raw, path, HL_KEY_MISSED, why, sizeof(why)), HL_OK);
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert_eq(ftruncate(fd, 0), 0);
        cr_assert_eq(pwrite(fd, cases[i].text, cases[i].n, 0), (ssize_t)cases[i].n);
        cr_assert_eq(
            hl_key_load(&from_file, path, HL_KEY_MISSED, why, sizeof(why)), cases[i].err, "%zu", i);
        if (cases[i].err == HL_OK)
            cr_assert_arr_eq(&from_file, &raw, sizeof(raw), "%zu", i);
        else
            cr_assert(strstr(why, path));
    }
    close(fd);
    unlink(path);
}

Test(key, missing_file_is_made_only_when_asked)
{
    char dir[] = "/tmp/hookline-key-XXXXXX", path[64], why[256];
    struct hl_key made, again;
    struct stat st;
    cr_assert(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/key", dir);
    cr_assert_eq(hl_key_load(&made, path, HL_KEY_MISSED, why, sizeof(why)), HL_ERR_NOT_FOUND);
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert_eq(hl_key_load(&made, path, HL_KEY_MADE, why, sizeof(why)), HL_OK);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
    cr_assert_eq(hl_key_load(&again, path, HL_KEY_MADE, why, sizeof(why)), HL_OK);
    cr_assert_arr_eq(&made, &again, sizeof(made));
    unlink(path);
    rmdir(dir);
}
