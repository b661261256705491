/* principal.h - who calls: where a request carries its token, who a token stands for, and what that may do. */
#ifndef HL_AUTH_PRINCIPAL_H
#define HL_AUTH_PRINCIPAL_H

#include <stdbool.h>

#include "auth/claims.h"
#include "base/priority.h"
#include "base/str.h"
#include "store/record.h"

struct hl_head;
struct hl_refusal;

/* ---- where a request carries its token: `Authorization: Bearer`, or, for a WebSocket,
 * the subprotocol `bearer.<token>` (contract 9). Never the query ---- */

/* The one token of a request. False: `*why` (401 when there is none, 400 when there are several).
 * `token` is a slice of the head. */
bool hl_credential_find(const struct hl_head *head, struct hl_str *token, struct hl_refusal *why);

/* ---- who a token stands for, told from all others: an account's id; of a session "session:" and
 * its subject; of a token from outside a digest of its issuer, a colon, and its subject. No two of these
 * can be like each other, whatever others write into their tokens. Any thread ---- */

#define HL_IDENTITY_MAX (HL_SUBJECT_MAX + 64)

struct hl_str hl_identity_write(const struct hl_claims *claims, char room[HL_IDENTITY_MAX]);
/* What is shown of one: the account's id, or the subject; within `identity`. */
struct hl_str hl_identity_subject(struct hl_str identity);

/* ---- who a token stands for, and what follows from that for a call ---- */

struct hl_quota; /* store/quota.h */

/* Who a token stands for. */
struct hl_principal {
    enum hl_role role;
    bool has_all_projects; /* HOOKLINE_JWT_PROJECT_CLAIM is off, and the token is from outside */
    struct hl_str project; /* else the one it is for; may be empty: none */
    struct hl_str subject; /* the account's id, or the claim `sub`; may be empty */
    /* Who that is, told from all others: an account's id, or for a token from outside a digest of `iss`,
     * a colon, and `sub`, which no account's id can be like. */
    struct hl_str identity;
    uint64_t identity_hash; /* of this process */
    struct hl_id account;   /* nil: the token is from outside, or is a session's (issuer.h) */
    /* the account's, or the subject's; NULL: none. It stays until the auth goes */
    struct hl_quota *quota;
    int64_t expires_ms; /* without leeway */
    uint64_t key;       /* the serial of what has signed it */
};

/* The most that whoever calls may ask for; NULL: nobody was asked who they are. */
enum hl_priority hl_principal_max_priority(const struct hl_principal *who);

#endif
