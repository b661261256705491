/* check.c - one token on its way. Any thread; who has it owns it. */
#include "auth/check.h"

#include <stdlib.h>

#include "auth/seat.h"
#include "auth/verify_key.h"

struct hl_check *hl_check_new(
    struct hl_str token, struct hl_jwt *jwt, struct hl_verify_key *const *keys, size_t n)
{
    struct hl_check *check = calloc(1, sizeof(*check) + token.n);
    if (!check)
        return NULL;
    check->msg.type = HL_AUTH_CHECKED;
    for (size_t i = 0; i < n; i++)
        check->keys[check->keys_n++] = hl_verify_key_hold(keys[i]);
    check->jwt = *jwt;
    check->token_n = token.n;
    memcpy(check->token, token.p, token.n);
    check->jwt.signed_part.p = check->token; /* a token begins with what is signed */
    jwt->claims = NULL;
    return check;
}

void hl_check_free(struct hl_check *check)
{
    if (!check)
        return;
    hl_jwt_fini(&check->jwt);
    for (size_t i = 0; i < check->keys_n; i++)
        hl_verify_key_release(check->keys[i]);
    explicit_bzero(check->token, check->token_n);
    free(check);
}

void hl_check_answer(struct hl_check *check, enum hl_check_result result)
{
    check->result = result;
    hl_mailbox_post(check->reply_to, &check->msg);
}
