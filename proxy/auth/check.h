/* check.h - one token on its way to a thread that looks at its signature, and back. */
#ifndef HL_AUTH_CHECK_H
#define HL_AUTH_CHECK_H

#include "auth/jwt.h"
#include "auth/key_set.h"
#include "loop/mailbox.h"
#include "loop/slot.h"

struct hl_str;
struct hl_verify_key;

enum hl_check_result {
    HL_CHECK_OPEN, /* not looked at; the keys may be others now */
    HL_CHECK_GOOD,
    HL_CHECK_BAD,
    HL_CHECK_UNSURE, /* the signature is right; nobody could say whether its account is good */
};

/* One allocation. A message: who has it owns it. */
struct hl_check {
    struct hl_msg msg; /* HL_AUTH_CHECKED */
    struct hl_mailbox *reply_to;
    struct hl_slot_name from;
    enum hl_check_result result;
    struct hl_verify_key
        *keys[HL_KEYS_TRIED_MAX]; /* a reference each: any of them may have signed it */
    size_t keys_n;                /* 0: no such key is known */
    struct hl_verify_key *key;    /* of `keys`, the one that did: HL_CHECK_GOOD, HL_CHECK_UNSURE */
    struct hl_jwt jwt;            /* owned; read from `token` below */
    size_t token_n;
    char token[];
};

/* Copies the token, takes what `jwt` owns, takes a reference to each of the `n` keys. NULL: out of
 * memory, and `jwt` is still the caller's. */
struct hl_check *hl_check_new(
    struct hl_str token, struct hl_jwt *jwt, struct hl_verify_key *const *keys, size_t n);
void hl_check_free(struct hl_check *check); /* NULL-safe */
/* Sends it back; it is gone. */
void hl_check_answer(struct hl_check *check, enum hl_check_result result);

#endif
