/* claims.c - what a token says.
 * Thread: any; no state. A claim of the wrong type is a fault and never taken for a missing one. */
#include "auth/claims.h"

#include <math.h>
#include <stdlib.h>

#include "auth/issuer.h"

#define LATEST_SECOND                                                                              \
    253402300799.0 /* the end of year 9999: beyond it someone meant milliseconds */

static struct hl_str text_of(const json_t *value)
{
    return json_is_string(value)
               ? (struct hl_str){json_string_value(value), json_string_length(value)}
               : (struct hl_str){NULL, 0};
}

/* What no text of ours can hold stands as NUL (http/json_text.h). */
static bool has_nul(struct hl_str text)
{
    return text.n > 0 && memchr(text.p, '\0', text.n);
}

/* NumericDate (RFC 7519 2): seconds, perhaps with a fraction. */
static bool read_time(const json_t *value, int64_t *ms)
{
    if (!json_is_number(value))
        return false;
    double seconds = json_number_value(value);
    if (!isfinite(seconds) || seconds < 0 || seconds > LATEST_SECOND)
        return false;
    *ms = (int64_t)(seconds * 1000);
    return true;
}

static enum hl_refusal_cause read_times(const json_t *json, struct hl_claims *out)
{
    json_t *not_before = json_object_get(json, "nbf");
    out->not_before_ms = 0;
    if (!json_object_get(json, "exp"))
        return HL_REFUSAL_TOKEN_NO_EXP;
    if (!read_time(json_object_get(json, "exp"), &out->expires_ms))
        return HL_REFUSAL_TOKEN_EXP;
    if (not_before && !read_time(not_before, &out->not_before_ms))
        return HL_REFUSAL_TOKEN_NBF;
    return HL_REFUSAL_NONE;
}

static enum hl_refusal_cause read_subject(const json_t *json, struct hl_claims *out)
{
    json_t *subject = json_object_get(json, "sub");
    out->subject = text_of(subject);
    if ((subject && !out->subject.p) || out->subject.n > HL_SUBJECT_MAX || has_nul(out->subject))
        return HL_REFUSAL_TOKEN_SUB;
    return HL_REFUSAL_NONE;
}

/* The claim says it, or is a list that has it (RFC 7519 4.1.3; some issuers list roles). */
static bool says(const json_t *claim, struct hl_str wanted)
{
    json_t *one;
    size_t i;
    if (json_is_string(claim))
        return hl_str_eq(text_of(claim), wanted);
    json_array_foreach(claim, i, one)
    {
        if (json_is_string(one) && hl_str_eq(text_of(one), wanted))
            return true;
    }
    return false;
}

/* ---- limits ---- */

enum hl_err hl_claim_rules_limit(
    struct hl_claim_rules *rules, struct hl_str limits, struct hl_str claims)
{
    struct hl_str names[HL_LIMIT_COUNT] = {{0}};
    rules->has_limits = limits.n > 0 || claims.n > 0;
    rules->limits = HL_LIMITS_NONE;
    if ((limits.n > 0 && !hl_limits_parse(limits, &rules->limits)) ||
        (claims.n > 0 && !hl_limit_names_parse(claims, names)))
        return HL_ERR_INVALID;
    for (size_t i = 0; i < HL_LIMIT_COUNT; i++) {
        if (names[i].n == 0)
            continue;
        rules->limit_claims[i] = hl_str_dup(names[i]);
        if (!rules->limit_claims[i])
            return HL_ERR_NOMEM;
    }
    return HL_OK;
}

void hl_claim_rules_fini(struct hl_claim_rules *rules)
{
    for (size_t i = 0; i < HL_LIMIT_COUNT; i++)
        free(rules->limit_claims[i]);
}

static bool read_count(const json_t *claim, uint32_t *count)
{
    json_int_t number = json_integer_value(claim); /* 0: it is none */
    if (number < 1 || number > HL_LIMIT_MAX)
        return false;
    *count = (uint32_t)number;
    return true;
}

static bool read_limit(enum hl_limit limit, const json_t *claim, struct hl_limits *to)
{
    switch (limit) {
    case HL_LIMIT_MAX_RUNNING:
        return read_count(claim, &to->max_running);
    case HL_LIMIT_MAX_QUEUED:
        return read_count(claim, &to->max_queued);
    case HL_LIMIT_RATE:
        return json_is_string(claim) && hl_rate_parse(text_of(claim), &to->rate);
    default:
        return json_is_string(claim) && hl_priority_parse(text_of(claim), &to->max_priority);
    }
}

/* null is no way to be without one: whoever makes tokens has to say how much. */
static enum hl_refusal_cause read_limits(
    const json_t *json, const struct hl_claim_rules *rules, struct hl_limits *out)
{
    static const enum hl_refusal_cause faults[] = {
        [HL_LIMIT_MAX_RUNNING] = HL_REFUSAL_TOKEN_MAX_RUNNING,
        [HL_LIMIT_MAX_QUEUED] = HL_REFUSAL_TOKEN_MAX_QUEUED,
        [HL_LIMIT_RATE] = HL_REFUSAL_TOKEN_RATE,
        [HL_LIMIT_MAX_PRIORITY] = HL_REFUSAL_TOKEN_MAX_PRIORITY};
    *out = rules->limits;
    for (size_t i = 0; i < HL_LIMIT_COUNT; i++) {
        const char *name = rules->limit_claims[i];
        const json_t *claim = name ? json_object_get(json, name) : NULL;
        if (claim && !read_limit((enum hl_limit)i, claim, out))
            return faults[i];
    }
    int64_t issued_ms;
    if (read_time(json_object_get(json, "iat"), &issued_ms))
        out->revision = issued_ms / 1000 < UINT32_MAX ? (uint32_t)(issued_ms / 1000) : UINT32_MAX;
    return HL_REFUSAL_NONE;
}

/* Of several the one that may do most. */
static enum hl_role read_role(const json_t *json, const struct hl_claim_rules *rules)
{
    const json_t *claim =
        rules->role_claim.n > 0 ? json_object_get(json, rules->role_claim.p) : NULL;
    if (says(claim, HL_STR("admin")))
        return HL_ROLE_ADMIN;
    return says(claim, HL_STR("viewer")) && !says(claim, HL_STR("invoke")) ? HL_ROLE_VIEWER
                                                                           : HL_ROLE_INVOKE;
}

enum hl_refusal_cause hl_claims_read_outside(
    const json_t *json, const struct hl_claim_rules *rules, struct hl_claims *out)
{
    *out = (struct hl_claims){0};
    enum hl_refusal_cause fault = read_times(json, out);
    if (!fault)
        fault = read_subject(json, out);
    if (fault)
        return fault;
    out->issuer = text_of(json_object_get(json, "iss"));
    if (has_nul(out->issuer) || (rules->issuer.n > 0 && !hl_str_eq(out->issuer, rules->issuer)))
        return HL_REFUSAL_TOKEN_ISS;
    if (rules->audience.n > 0 && !says(json_object_get(json, "aud"), rules->audience))
        return HL_REFUSAL_TOKEN_AUD;
    out->role = read_role(json, rules);
    out->has_all_projects = rules->project_claim.n == 0;
    if (!out->has_all_projects)
        out->project = text_of(json_object_get(json, rules->project_claim.p));
    if (out->project.n > HL_STORE_NAME_MAX || has_nul(out->project))
        out->project = (struct hl_str){0};
    return rules->has_limits ? read_limits(json, rules, &out->limits) : HL_REFUSAL_NONE;
}

/* Good for an hour at most; there is no account that could be revoked. */
static bool is_session(const json_t *json, const struct hl_claims *claims)
{
    int64_t issued_ms;
    return !json_object_get(json, "jti") && read_time(json_object_get(json, "iat"), &issued_ms) &&
           claims->expires_ms - issued_ms <= HL_SESSION_MAX_MS;
}

enum hl_refusal_cause hl_claims_read_own(const json_t *json, struct hl_claims *out)
{
    *out = (struct hl_claims){.is_own = true};
    enum hl_refusal_cause fault = read_times(json, out);
    if (!fault)
        fault = read_subject(json, out);
    if (fault)
        return fault;
    out->project = text_of(json_object_get(json, "project_id"));
    bool is_ours = hl_str_eq(text_of(json_object_get(json, "iss")), HL_STR(HL_OWN_ISSUER)) &&
                   hl_role_parse(text_of(json_object_get(json, "role")), &out->role) &&
                   out->project.n > 0 && out->project.n <= HL_STORE_NAME_MAX;
    bool has_id = is_ours && hl_id_parse(text_of(json_object_get(json, "jti")), &out->account) &&
                  !hl_id_is_nil(&out->account);
    if (!is_ours || (!has_id && !is_session(json, out)))
        return HL_REFUSAL_TOKEN_NOT_OURS;
    return HL_REFUSAL_NONE;
}

enum hl_refusal_cause hl_claims_judge_time(const struct hl_claims *claims, int64_t now_ms)
{
    if (now_ms >= claims->expires_ms + HL_CLAIM_LEEWAY_MS)
        return HL_REFUSAL_TOKEN_EXPIRED;
    if (now_ms < claims->not_before_ms - HL_CLAIM_LEEWAY_MS)
        return HL_REFUSAL_TOKEN_EARLY;
    return HL_REFUSAL_NONE;
}
