/* claims.h - what a token says, by the rules of its kind (contract 9). */
#ifndef HL_AUTH_CLAIMS_H
#define HL_AUTH_CLAIMS_H

#include <jansson.h>

#include "base/id.h"
#include "base/limits.h"
#include "http/refusal.h"
#include "store/record.h"

#define HL_CLAIM_LEEWAY_MS (60 * 1000)
#define HL_SUBJECT_MAX     255

/* What tokens from outside are held to: HOOKLINE_JWT_PROJECT_CLAIM and so on; empty: see there.
 * NUL-terminated, as all settings are. */
struct hl_claim_rules {
    struct hl_str project_claim, role_claim, issuer, audience;
    bool has_limits;                    /* by one of the two: each subject has some */
    struct hl_limits limits;            /* HOOKLINE_JWT_LIMITS */
    char *limit_claims[HL_LIMIT_COUNT]; /* HOOKLINE_JWT_LIMIT_CLAIMS; NULL: none says it */
};

/* Texts are the claims' own: valid as long as they are. */
struct hl_claims {
    enum hl_role role;
    bool has_all_projects;
    struct hl_str project; /* empty: none that a path can have */
    bool is_own;
    struct hl_str subject, issuer; /* own tokens: the issuer is not set */
    struct hl_id account;          /* own tokens; nil: a session */
    int64_t expires_ms, not_before_ms;
    struct hl_limits limits; /* from outside, where the rules have any; later by `iat` */
};

/* HOOKLINE_JWT_LIMITS and HOOKLINE_JWT_LIMIT_CLAIMS: INVALID, NOMEM. After a failure too it is to be ended. */
HL_MUST_CHECK enum hl_err hl_claim_rules_limit(
    struct hl_claim_rules *rules, struct hl_str limits, struct hl_str claims);
void hl_claim_rules_fini(struct hl_claim_rules *rules);

/* NONE, or what is wrong. Says nothing about the time. */
HL_MUST_CHECK enum hl_refusal_cause hl_claims_read_outside(
    const json_t *json, const struct hl_claim_rules *rules, struct hl_claims *out);
/* The same for tokens that hookline itself issued (issuer.h). */
HL_MUST_CHECK enum hl_refusal_cause hl_claims_read_own(const json_t *json, struct hl_claims *out);

/* NONE, or that it has expired or is not valid yet; leeway included. */
HL_MUST_CHECK enum hl_refusal_cause hl_claims_judge_time(
    const struct hl_claims *claims, int64_t now_ms);

#endif
