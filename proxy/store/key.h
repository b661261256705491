/* key.h - the data key: 32 random bytes in a file of their own, or in HOOKLINE_KEY, from which
 * everything secret in the store is derived. Lost key, lost secrets: what was stored cannot be opened
 * without it. */
#ifndef HL_STORE_KEY_H
#define HL_STORE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_config;

#define HL_KEY_SIZE 32

/* Derived from the data key by HMAC-SHA256, one for each use. */
struct hl_key {
    uint8_t seal[HL_KEY_SIZE];   /* AES-256-GCM of format 1 (secret.h) */
    uint8_t salted[HL_KEY_SIZE]; /* what hl_key_derive derives from */
    uint8_t lane[HL_KEY_SIZE];   /* of webhook destinations */
    uint8_t check[HL_KEY_SIZE];  /* kept in the database: tells a wrong key at start */
    uint8_t relay[HL_KEY_SIZE];  /* of passes between replicas (relay_pass.h) */
};

/* What replicas share. */
struct hl_shared_keys {
    struct hl_key key;      /* HOOKLINE_KEY: what is new is sealed with it */
    struct hl_key previous; /* HOOKLINE_PREVIOUS_KEY: opens values too, while keys are changed */
    bool has_previous;
};

/* What a key file that is not there is. */
enum hl_key_absence {
    HL_KEY_MISSED,    /* something was encrypted with it */
    HL_KEY_SHARED,    /* others have it too: one made here would be another */
    HL_KEY_MADE,      /* new: a file of hexadecimal digits, 0600, durable */
    HL_KEY_LEFT_OPEN, /* as if made, if it may be; nothing is written */
};

/* Where a data directory's key is, into path[HL_PATH_MAX]: at HOOKLINE_KEY_FILE, or where that is empty in the
 * directory itself. INVALID when it does not fit. */
HL_MUST_CHECK enum hl_err hl_key_path(char *path, struct hl_str key_file, const char *data_dir);
/* Reads the file at `path`: 64 hexadecimal digits (white space after them is allowed) or exactly 32
 * raw bytes. On failure `why` has one line. Blocks. */
HL_MUST_CHECK enum hl_err hl_key_load(
    struct hl_key *key, const char *path, enum hl_key_absence absence, char *why, size_t why_len);
/* From HOOKLINE_KEY's text: the same 64 digits, nothing else but white space after them. INVALID. */
HL_MUST_CHECK enum hl_err hl_key_parse(struct hl_key *key, struct hl_str hex);
/* The keys that all replicas share: HOOKLINE_KEY, or the file at HOOKLINE_KEY_FILE, which is never
 * made; one of them is set; and HOOKLINE_PREVIOUS_KEY if it is set. On failure `why` has one line.
 * Blocks. */
HL_MUST_CHECK enum hl_err hl_shared_keys_open(
    struct hl_shared_keys *keys, const struct hl_config *config, char *why, size_t why_len);
void hl_shared_keys_wipe(struct hl_shared_keys *keys);
/* A key that nobody can ever have again: for stores that keep nothing. */
void hl_key_random(struct hl_key *key);
void hl_key_wipe(struct hl_key *key);
/* Says which key it is, and nothing of it. Borrowed. */
static inline struct hl_str hl_key_check(const struct hl_key *key)
{
    return (struct hl_str){(const char *)key->check, sizeof(key->check)};
}
/* What signs passes between replicas. */
void hl_key_sign_relay(const struct hl_key *key, struct hl_str text, uint8_t out[HL_KEY_SIZE]);
/* The key that goes with a salt. */
void hl_key_derive(
    const struct hl_key *key, const uint8_t *salt, size_t n, uint8_t out[HL_KEY_SIZE]);

/* The lane of a webhook URL: a keyed hash of scheme, host and port (contract 5), so that neither
 * the database nor its indexes say where deliveries go. */
uint64_t hl_key_lane(const struct hl_key *key, struct hl_str url);
/* Likewise of the whole of it: tells receivers of one host apart, and says nothing of their paths. */
uint64_t hl_key_receiver(const struct hl_key *key, struct hl_str url);
/* Who makes a call, for turns: likewise. 0: nobody is named. */
uint64_t hl_key_subject(const struct hl_key *key, struct hl_str identity);

#endif
