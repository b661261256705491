/* own_answer.c - see own_answer.h. Thread: the worker's. */
#include "worker/own_answer.h"

#include <stdio.h>

#include "caller/access.h"
#include "caller/client.h"
#include "http/browser.h"
#include "http/problem.h"
#include "route/description.h"
#include "route/plan.h"
#include "run/service.h"
#include "worker/left.h"
#include "worker/worker.h"

static void answer_health(struct hl_client *c, const struct hl_plan *plan, const struct hl_id *id)
{
    hl_access_drop_line(c); /* probes come every second and say nothing of callers */
    bool is_good;
    const struct hl_service *service = hl_worker_of(c->callers)->service;
    char line[HL_STANDING_TEXT], text[sizeof(line) + 1];
    if (plan->kind == HL_PLAN_READYZ)
        hl_left_write_standing(service, &is_good, line);
    else
        hl_str_put(line, sizeof(line), hl_service_life(service, &is_good));
    int n = snprintf(text, sizeof(text), "%s\n", line);
    struct hl_answer answer = {.status = is_good ? 200 : 503,
        .content_type = HL_STR("text/plain"),
        .body = {text, (size_t)n},
        .run_id = id};
    hl_client_answer(c, &answer, HL_MODE_OTHER);
}

static void answer_description(struct hl_client *c, const struct hl_id *id)
{
    const struct hl_head *head = &c->callers->head;
    struct hl_str tags = {NULL, 0};
    for (size_t i = 0; i < head->field_count; i++)
        if (hl_str_eq_nocase(head->fields[i].name, HL_STR("If-None-Match")))
            tags = head->fields[i].value;
    struct hl_answer answer = {.run_id = id};
    hl_description_answer(&answer, tags);
    hl_client_answer(c, &answer, HL_MODE_OTHER);
}

static void answer_options(struct hl_client *c, const struct hl_plan *plan, const struct hl_id *id)
{
    struct hl_answer answer = {.status = 204,
        .content_type = HL_STR("text/plain"),
        .extra_fields = plan->extra_fields,
        .run_id = id};
    hl_client_answer(c, &answer, HL_MODE_OTHER);
}

/* HOOKLINE_CORS_ORIGINS: without a token, for a browser sends none with this question. */
static void answer_preflight(struct hl_client *c, const struct hl_id *id)
{
    char fields[HL_CORS_PREFLIGHT_MAX];
    hl_cors_write_preflight(fields, &c->callers->head);
    struct hl_answer answer = {
        .status = 204, .content_type = HL_STR("text/plain"), .extra_fields = fields, .run_id = id};
    hl_client_answer(c, &answer, HL_MODE_OTHER);
}

void hl_own_answer_refuse(struct hl_client *c, const struct hl_id *id, const struct hl_refusal *why)
{
    struct hl_answer answer = {.refusal = why, .run_id = id};
    hl_client_answer(c, &answer, HL_MODE_OTHER);
}

void hl_own_answer_give(struct hl_client *c, const struct hl_plan *plan, const struct hl_id *id)
{
    switch (plan->kind) {
    case HL_PLAN_REFUSED:
        hl_own_answer_refuse(c, id, &plan->refusal);
        break;
    case HL_PLAN_OPTIONS:
        answer_options(c, plan, id);
        break;
    case HL_PLAN_PREFLIGHT:
        answer_preflight(c, id);
        break;
    case HL_PLAN_DESCRIPTION:
        answer_description(c, id);
        break;
    default:
        answer_health(c, plan, id);
        break;
    }
}
