/* key.c - reads or makes the data key, and derives from it. At start, except hl_key_lane, which workers and the
 * store's thread call for each webhook, hl_key_sign_relay and hl_key_derive. The raw key is wiped as soon as
 * the derived ones are there. */
#include "store/key.h"

#include <ctype.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/base64.h"
#include "base/random.h"
#include "config/config.h"
#include "http/byte.h"
#include "http/url.h"
#include "http/writer.h"
#include "store/path.h"

#define SHA256_BLOCK 64

/* SHA-256 of the key with each byte flipped by `pad`, filled up to a block (RFC 2104), and a text. */
static void digest(
    const uint8_t *key, uint8_t pad, const void *text, size_t n, uint8_t out[HL_KEY_SIZE])
{
    uint8_t block[SHA256_BLOCK];
    mbedtls_sha256_context sha;
    memset(block, pad, sizeof(block));
    for (size_t i = 0; i < HL_KEY_SIZE; i++)
        block[i] ^= key[i];
    mbedtls_sha256_init(&sha);
    mbedtls_sha256_starts_ret(&sha, 0);
    mbedtls_sha256_update_ret(&sha, block, sizeof(block));
    mbedtls_sha256_update_ret(&sha, text, n);
    mbedtls_sha256_finish_ret(&sha, out);
    mbedtls_sha256_free(&sha);
    explicit_bzero(block, sizeof(block));
}

/* HMAC-SHA256. Not mbedtls_md_hmac, which needs memory that there may not be. */
static void hmac(const uint8_t *key, struct hl_str text, uint8_t out[HL_KEY_SIZE])
{
    uint8_t inner[HL_KEY_SIZE];
    digest(key, 0x36, text.p, text.n, inner);
    digest(key, 0x5c, inner, sizeof(inner), out);
}

static void derive(struct hl_key *key, uint8_t raw[HL_KEY_SIZE])
{
    hmac(raw, HL_STR("hookline seal"), key->seal);
    hmac(raw, HL_STR("hookline seal with a salt"), key->salted);
    hmac(raw, HL_STR("hookline lane"), key->lane);
    hmac(raw, HL_STR("hookline check"), key->check);
    hmac(raw, HL_STR("hookline relay"), key->relay);
    explicit_bzero(raw, HL_KEY_SIZE);
}

static bool parse_hex(const char *text, size_t n, uint8_t raw[HL_KEY_SIZE])
{
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    if (n != 2 * HL_KEY_SIZE)
        return false;
    for (size_t i = 0; i < 2 * HL_KEY_SIZE; i++) {
        int digit = hl_byte_hex(text[i]);
        if (digit < 0)
            return false;
        raw[i / 2] = (uint8_t)(i % 2 ? raw[i / 2] | digit : digit << 4);
    }
    return true;
}

static bool parse(const char *text, size_t n, uint8_t raw[HL_KEY_SIZE])
{
    if (n == HL_KEY_SIZE) {
        memcpy(raw, text, HL_KEY_SIZE);
        return true;
    }
    struct hl_str hex = hl_str_unframe((struct hl_str){text, n});
    return parse_hex(hex.p, hex.n, raw);
}

static enum hl_err write_key(const char *path, const uint8_t raw[HL_KEY_SIZE])
{
    char text[2 * HL_KEY_SIZE + 1];
    hl_hex_write(text, raw, HL_KEY_SIZE);
    text[2 * HL_KEY_SIZE] = '\n';
    enum hl_err err = hl_path_write(path, text, sizeof(text));
    explicit_bzero(text, sizeof(text));
    return err;
}

/* Where there is none. */
static enum hl_err make_key(const char *path, enum hl_key_absence absence, uint8_t raw[HL_KEY_SIZE],
    char *why, size_t why_len)
{
    if (absence == HL_KEY_MISSED) {
        snprintf(why, why_len,
            "HOOKLINE_KEY_FILE: the key file %s is missing, but the store was made with one: put "
            "it back",
            path);
        return HL_ERR_NOT_FOUND;
    }
    if (absence == HL_KEY_SHARED) {
        snprintf(why, why_len,
            "HOOKLINE_KEY_FILE: the key file %s is missing: it must hold the key that all replicas "
            "share; hookline key create prints a new one",
            path);
        return HL_ERR_NOT_FOUND;
    }
    hl_random_fill(raw, HL_KEY_SIZE);
    enum hl_err err = absence == HL_KEY_MADE ? write_key(path, raw) : hl_path_may_make(path);
    if (err)
        snprintf(why, why_len,
            "HOOKLINE_KEY_FILE: cannot write the key file %s: %s; its directory must be there and "
            "writable",
            path, hl_err_text(err));
    return err;
}

enum hl_err hl_key_path(char *path, struct hl_str key_file, const char *data_dir)
{
    return key_file.n > 0 ? hl_path(path, "%.*s", HL_STR_ARG(key_file))
                          : hl_path(path, "%s/key", data_dir);
}

enum hl_err hl_key_load(
    struct hl_key *key, const char *path, enum hl_key_absence absence, char *why, size_t why_len)
{
    uint8_t raw[HL_KEY_SIZE];
    char text[256];
    size_t n;
    enum hl_err err = hl_path_read(path, text, sizeof(text), &n);
    if (err == HL_ERR_NOT_FOUND) {
        err = make_key(path, absence, raw, why, why_len);
    } else if (err && err != HL_ERR_TOO_LARGE) {
        snprintf(why, why_len, "HOOKLINE_KEY_FILE: cannot read the key file %s: %s", path,
            hl_err_text(err));
    } else if (err || !parse(text, n, raw)) {
        snprintf(why, why_len,
            "HOOKLINE_KEY_FILE: the key file %s does not hold a key: 64 hexadecimal digits or 32 "
            "raw bytes",
            path);
        err = HL_ERR_INVALID;
    }
    explicit_bzero(text, sizeof(text));
    if (err)
        return err;
    hl_path_warn_if_shared(path, "the key file");
    derive(key, raw);
    return HL_OK;
}

enum hl_err hl_key_parse(struct hl_key *key, struct hl_str hex)
{
    uint8_t raw[HL_KEY_SIZE];
    bool is_key = parse_hex(hex.p, hex.n, raw);
    if (is_key)
        derive(key, raw);
    explicit_bzero(raw, sizeof(raw));
    return is_key ? HL_OK : HL_ERR_INVALID;
}

static enum hl_err parse_setting(
    struct hl_key *key, const char *name, struct hl_str text, char *why, size_t why_len)
{
    enum hl_err err = hl_key_parse(key, text);
    if (err)
        snprintf(why, why_len, "%s: **** is not a key, which has 64 hexadecimal digits", name);
    return err;
}

enum hl_err hl_shared_keys_open(
    struct hl_shared_keys *keys, const struct hl_config *config, char *why, size_t why_len)
{
    *keys = (struct hl_shared_keys){.has_previous = config->previous_key.n > 0};
    enum hl_err err =
        config->key.n > 0
            ? parse_setting(&keys->key, "HOOKLINE_KEY", config->key, why, why_len)
            : hl_key_load(&keys->key, config->key_file.p, HL_KEY_SHARED, why, why_len);
    if (!err && keys->has_previous)
        err = parse_setting(
            &keys->previous, "HOOKLINE_PREVIOUS_KEY", config->previous_key, why, why_len);
    return err;
}

void hl_shared_keys_wipe(struct hl_shared_keys *keys)
{
    hl_key_wipe(&keys->key);
    hl_key_wipe(&keys->previous);
}

void hl_key_random(struct hl_key *key)
{
    uint8_t raw[HL_KEY_SIZE];
    hl_random_fill(raw, sizeof(raw));
    derive(key, raw);
}

void hl_key_wipe(struct hl_key *key)
{
    explicit_bzero(key, sizeof(*key));
}

void hl_key_sign_relay(const struct hl_key *key, struct hl_str text, uint8_t out[HL_KEY_SIZE])
{
    hmac(key->relay, text, out);
}

void hl_key_derive(
    const struct hl_key *key, const uint8_t *salt, size_t n, uint8_t out[HL_KEY_SIZE])
{
    hmac(key->salted, (struct hl_str){(const char *)salt, n}, out);
}

#define LANE_NAME_MAX  64 /* a longer one is hashed each time */
#define LANES_RECALLED 16

/* A destination's lane is asked for three times a call, by two threads, and an HMAC costs four blocks of SHA-256. So each
 * thread remembers a few; under which key, too. */
struct recalled_lane {
    uint8_t check[HL_KEY_SIZE]; /* of its key, which names it and is no secret */
    uint64_t lane;
    size_t n; /* 0: none */
    char name[LANE_NAME_MAX];
};
static _Thread_local struct recalled_lane recalled[LANES_RECALLED];

static uint64_t hash_lane(const struct hl_key *key, struct hl_str name)
{
    uint8_t digest[HL_KEY_SIZE];
    uint64_t lane;
    hmac(key->lane, name, digest);
    memcpy(&lane, digest, sizeof(lane));
    return lane;
}

static uint64_t recall_lane(const struct hl_key *key, struct hl_str name)
{
    struct recalled_lane *place = &recalled[hl_key_subject(key, name) % LANES_RECALLED];
    bool is_there = place->n == name.n && memcmp(place->name, name.p, name.n) == 0 &&
                    memcmp(place->check, key->check, sizeof(place->check)) == 0;
    if (!is_there) {
        place->lane = hash_lane(key, name);
        place->n = name.n;
        memcpy(place->name, name.p, name.n);
        memcpy(place->check, key->check, sizeof(place->check));
    }
    return place->lane;
}

uint64_t hl_key_lane(const struct hl_key *key, struct hl_str text)
{
    char name[2300];
    struct hl_url url;
    size_t n = text.n < sizeof(name) ? text.n : sizeof(name);
    if (hl_url_parse(text, &url) && url.host.n < sizeof(name) - 16) {
        struct hl_writer w = hl_writer_on(name, sizeof(name));
        hl_write(&w, url.is_https ? "1:" : "0:", 2);
        hl_write_u64(&w, url.port);
        HL_WRITE(&w, ":");
        n = hl_writer_end(&w);
        for (size_t i = 0; i < url.host.n; i++)
            name[n++] = (char)tolower((unsigned char)url.host.p[i]);
    } else {
        memcpy(name, text.p, n);
    }
    struct hl_str whole = {name, n};
    return n > 0 && n <= LANE_NAME_MAX ? recall_lane(key, whole) : hash_lane(key, whole);
}

uint64_t hl_key_receiver(const struct hl_key *key, struct hl_str url)
{
    uint64_t half[2];
    memcpy(half, key->lane + sizeof(half), sizeof(half));
    return hl_siphash(half, url);
}

uint64_t hl_key_subject(const struct hl_key *key, struct hl_str identity)
{
    uint64_t half[2];
    memcpy(half, key->lane, sizeof(half));
    return identity.n > 0 ? hl_siphash(half, identity) : 0;
}
