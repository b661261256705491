/* plan.h - all decisions about a call, made once from its head: which mode, which upstream target,
 * which webhook, or which refusal. */
#ifndef HL_ROUTE_PLAN_H
#define HL_ROUTE_PLAN_H

#include "base/run_terms.h"
#include "base/tag.h"
#include "http/browser.h"
#include "http/refusal.h"
#include "http/url.h"

struct hl_config;
struct hl_head;

enum hl_plan_kind {
    HL_PLAN_RUN,       /* a call of the app: any mode */
    HL_PLAN_PASS,      /* passed through: no run modes, query untouched */
    HL_PLAN_OPTIONS,   /* OPTIONS that may not be passed on any more: `extra_fields` has Allow */
    HL_PLAN_PREFLIGHT, /* a browser asks what an allowed origin may send (HOOKLINE_CORS_ORIGINS) */
    HL_PLAN_HEALTHZ,   /* /_hookline/healthz */
    HL_PLAN_READYZ,
    HL_PLAN_DESCRIPTION, /* of the interface: /v2/openapi.json */
    HL_PLAN_REST,        /* the REST interface of `project` */
    HL_PLAN_REFUSED,     /* `status`, `detail`, `extra_fields` */
};

#define HL_WEBHOOK_URL_MAX 2048
#define HL_PLAN_DETAIL     320

/* Slices point into the head's bytes or into the scratch given to hl_plan_make. */
struct hl_plan {
    enum hl_plan_kind kind;

    /* HOOKLINE_AUTH=jwt: nothing is done or said before there is a good token, one that reaches
     * `token_project`. What concerns nobody's project (health, routes that are nowhere) needs none. */
    bool asks_token;
    struct hl_str token_project;

    struct hl_refusal refusal; /* REFUSED */
    const char *extra_fields;  /* OPTIONS */

    bool is_async;
    bool prefers_async;         /* asked by Prefer: respond-async: answer with Preference-Applied */
    bool is_websocket;          /* an upgrade that is tunnelled */
    struct hl_str project, app; /* RUN; REST: the project alone */
    struct hl_str target;       /* for the app, origin-form */
    struct hl_str webhook_url;  /* decoded; empty: none */
    struct hl_str webhook_secret;  /* the caller's; empty: none */
    struct hl_str idempotency_key; /* async; empty: none */
    struct hl_str tags;            /* of the run (base/tag.h); empty: none */
    struct hl_run_terms terms;
};

/* Room for the decoded webhook URL, the tags, a refusal's detail and the rewritten target. */
struct hl_plan_scratch {
    char webhook_url[HL_WEBHOOK_URL_MAX + 1];
    char tags[HL_TAGS_TEXT];
    char detail[HL_PLAN_DETAIL]; /* of a refusal that names what it is about */
    char *target; /* target_cap bytes, at least the head's size limit plus the run path */
    size_t target_cap;
};

/* Who may read what is answered to this request, whatever that is; only where HOOKLINE_CORS_ORIGINS
 * is set. */
struct hl_cors hl_plan_cors(const struct hl_head *head, const struct hl_config *config);

/* Contract 2 and 3. Never fails: what cannot be done is a plan of kind REFUSED. */
void hl_plan_make(struct hl_plan *plan, const struct hl_head *head, const struct hl_config *config,
    struct hl_plan_scratch *scratch);

/* Makes the plan a refusal; always false, for `return`. */
bool hl_plan_refuse(struct hl_plan *plan, const struct hl_refusal *why);

#endif
