/* identity.h - who a token stands for, told from all others: an account's id; of a session "session:" and
 * its subject; of a token from outside a digest of its issuer, a colon, and its subject. No two of these
 * can be like each other, whatever others write into their tokens. Any thread. */
#ifndef HL_AUTH_IDENTITY_H
#define HL_AUTH_IDENTITY_H

#include "auth/claims.h"

#define HL_IDENTITY_MAX (HL_SUBJECT_MAX + 64)

struct hl_str hl_identity_write(const struct hl_claims *claims, char room[HL_IDENTITY_MAX]);
/* What is shown of one: the account's id, or the subject; within `identity`. */
struct hl_str hl_identity_subject(struct hl_str identity);

#endif
