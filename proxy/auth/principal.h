/* principal.h - who a token stands for, and what follows from that for a call. */
#ifndef HL_AUTH_PRINCIPAL_H
#define HL_AUTH_PRINCIPAL_H

#include "base/priority.h"
#include "base/str.h"
#include "store/record.h"

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
    struct hl_quota *quota; /* the account's; NULL: none. It stays until the auth goes */
    int64_t expires_ms;     /* without leeway */
    uint64_t key;           /* the serial of what has signed it */
};

/* The most that whoever calls may ask for; NULL: nobody was asked who they are. */
enum hl_priority hl_principal_max_priority(const struct hl_principal *who);

#endif
