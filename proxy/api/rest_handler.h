/* rest_handler.h - the handlers of the REST interface, which the table of routes names (rest_route.c), and what
 * they ask of each other. The control thread. Objects of JSON are new references; NULL: out of memory. */
#ifndef HL_API_REST_HANDLER_H
#define HL_API_REST_HANDLER_H

#include <jansson.h>

#include "api/rest_call.h"
#include "run/recent_run.h"
#include "store/audit.h"

struct hl_attempt_row;
struct hl_delivery_row;
struct hl_follow;
struct hl_destination_row;
struct hl_get_delivery;
struct hl_get_run;
struct hl_kept_request;
struct hl_list_destinations;
struct hl_recent_run;
struct hl_rest_call;

/* ---- runs: the list, one, cancelling (rest_cancel.c) ---- */

hl_rest_handler hl_rest_list_runs, hl_rest_show_run, hl_rest_cancel_run;

/* The app of its path, or of its query; empty: any. */
const char *hl_rest_app_of(const struct hl_rest_call *call);
/* To ask the workers about their synchronous runs: the one of its path, or those that are like what its query asks of the
 * store. */
struct hl_recent_ask hl_rest_recent_ask(
    const struct hl_rest_call *call, enum hl_recent_question question);
/* What the worker says that knows the run; NULL: none does. */
const struct hl_recent_ask *hl_rest_found_by(const struct hl_rest_call *call);

/* ---- how many a list has, by when they were accepted ---- */

hl_rest_handler hl_rest_show_histogram;

/* ---- deliveries and their attempts as JSON: how much is told depends on who asks (contract 8) ---- */

/* How much is told (contract 8): who may only see the run learns nothing by which an inner network could be
 * read through its webhooks. */
enum hl_rest_telling {
    HL_REST_LISTED, /* to admins, one of many: without the attempts' reports */
    HL_REST_PLAIN,  /* to anybody: times and outcomes */
    HL_REST_WHOLE,  /* to admins */
};

json_t *hl_rest_attempt_json(const struct hl_attempt_row *attempt, enum hl_rest_telling telling);
json_t *hl_rest_delivery_json(const struct hl_delivery_row *delivery, enum hl_rest_telling telling);
/* Asks the store for one, and where it went; false: out of memory. */
bool hl_rest_ask_delivery(struct hl_rest_call *call, const struct hl_id *id);
/* WHOLE, with the webhook's URL as below, and the next attempt; of a reply OK. */
json_t *hl_rest_found_delivery_json(
    const struct hl_rest_call *call, const struct hl_get_delivery *found);
/* A webhook's URL as admins see it: the query's values are masked. Null to others, and where it cannot be opened. */
json_t *hl_rest_shown_url_json(const struct hl_rest_call *call, struct hl_str url);

/* ---- what was sent: a delivery's request, attempt by attempt ---- */

hl_rest_handler hl_rest_show_sent;

/* ---- where a project's webhooks go, and how that goes ---- */

hl_rest_handler hl_rest_list_destinations;

/* One, with its members. A new reference, NULL: out of memory. */
json_t *hl_rest_destination_json(const struct hl_destination_row *row);
/* A page of them, as it is answered; a new reference, NULL: out of memory. */
json_t *hl_rest_destinations_json(const struct hl_list_destinations *list);

hl_rest_handler hl_rest_list_deliveries, hl_rest_count_deliveries, hl_rest_show_delivery;

/* ---- deliveries that are sent again: one, all in a state, those that are named ---- */

hl_rest_handler hl_rest_redeliver, hl_rest_redeliver_many;
/* Elsewhere: the call's body says where; rest_resend.c. */
hl_rest_handler hl_rest_resend;

/* Where a body says that a webhook is to go (contract 3, 8), and the secret that signs it. The strings are the JSON's. False:
 * the call is refused. */
HL_MUST_CHECK bool hl_rest_read_webhook(
    struct hl_rest_call *call, const json_t *body, struct hl_str *url, struct hl_str *secret);
/* Of it what rows of the audit may say. */
json_t *hl_rest_destination_of(struct hl_str url);

/* ---- a test of a receiver: one attempt at once, told with its answer ---- */

hl_rest_handler hl_rest_test_destination;

/* ---- the request of an asynchronous run, for admins and who made it: its body, its fields ---- */

void hl_rest_show_request(struct hl_rest_call *call);

/* Asks for the call's run with its request; `then` finds it in answers[0], asynchronous and with a request
 * that can be read: in any other case the call is refused. */
void hl_rest_with_request(struct hl_rest_call *call, hl_rest_handler *then);

/* Adds `request_fields`: null if the request is not there. Takes `run`, which may be NULL. */
json_t *hl_rest_add_request_fields(json_t *run, const struct hl_kept_request *request);

void hl_rest_rerun(struct hl_rest_call *call);

/* ---- a run's events, to be followed (contract 14) ---- */

/* The reply is a grant, which the front makes a follower of. */
void hl_rest_show_events(struct hl_rest_call *call);

/* ---- the answer to a call that waits for its own run: `Prefer: wait` (contract 3) ---- */

/* Of the run that call->id, call->project and call->app name, after call->params.wait_ms at the most: its
 * response as a synchronous caller gets it, or the 202. */
void hl_rest_show_response(struct hl_rest_call *call);
/* From the run, which has ended and whose body was asked for: its answer, or why there is none. */
void hl_rest_answer_ended(struct hl_rest_call *call, struct hl_get_run *g);
/* Who follows the call's run, without a place yet. NULL: out of memory. */
struct hl_follow *hl_rest_make_follow(
    const struct hl_rest_call *call, enum hl_run_state state, uint32_t attempt);

/* ---- the answer to a call at a front (contract 17), which call->front describes: the same, after call->params.wait_ms
 * it is 504; an event stream while it comes ---- */

void hl_rest_answer_caller(struct hl_rest_call *call);
/* Its caller has left. */
void hl_rest_cancel_left(struct hl_rest_calls *calls, const struct hl_id *run_id);

hl_rest_handler hl_rest_show_result;

/* ---- what was logged about a run ---- */

hl_rest_handler hl_rest_show_log;

/* Whether a line of the log is about a delivery. It says what a receiver's name led to, and why it could not be reached:
 * others than admins and viewers could read an inner network through it. */
bool hl_rest_is_delivery_line(struct hl_str line);

/* ---- what was logged last, of all runs, and what comes ---- */

hl_rest_handler hl_rest_show_tail;

/* ---- the functions of an app that is a function host ---- */

hl_rest_handler hl_rest_list_functions;

/* ---- the processes that share the store; a store that one process owns has none ---- */

hl_rest_handler hl_rest_list_replicas;

/* One, with its members. A new reference, NULL: out of memory. */
json_t *hl_rest_replica_json(const struct hl_replica_row *row);

/* ---- projects: which have runs; of one, who asks and which apps have runs ---- */

hl_rest_handler hl_rest_list_projects, hl_rest_show_project;

hl_rest_handler hl_rest_show_overview;

/* ---- what went wrong, the most frequent first ---- */

hl_rest_handler hl_rest_list_errors;

/* ---- service accounts: listed, made with a token that is shown once, limited,
 * revoked ---- */

hl_rest_handler hl_rest_list_accounts, hl_rest_add_account, hl_rest_limit_account,
    hl_rest_revoke_account;

/* ---- a way into the dashboard for whoever may use the control socket ---- */

hl_rest_handler hl_rest_open_session;
/* Of a read-only link: another hour, for as long as its account lasts. */
hl_rest_handler hl_rest_renew_session;

/* The account of such a link: its `name`, if there is one, and its `expires_at`, at most `most_ms` away. */
enum hl_refusal_cause hl_rest_read_lasting(
    const json_t *body, int64_t most_ms, struct hl_account *account);
/* Adds it, with its row of the audit; `then` finds the store's answer. Or the call is refused. */
void hl_rest_add_lasting(struct hl_rest_call *call, const struct hl_account *account,
    void (*then)(struct hl_rest_call *call));
/* Asks for an account; false: out of memory. */
bool hl_rest_ask_account(struct hl_rest_call *call, const struct hl_id *id, const char *project);
/* What is answered of it; NULL: it is not there. */
const struct hl_account *hl_rest_find_account(
    const struct hl_rest_call *call, const struct hl_id *id);

/* ---- bulk work: made, listed, what became of each, stopped ---- */

hl_rest_handler hl_rest_add_job, hl_rest_list_jobs, hl_rest_show_job, hl_rest_list_job_items,
    hl_rest_stop_job;

/* ---- who changed what ---- */

hl_rest_handler hl_rest_list_audit;

/* ---- the process: set aside, taken back, stopped; what is left in it ---- */

/* Nothing more will end: whoever waits is answered. */
void hl_rest_answer_drain(struct hl_rest_calls *calls);
hl_rest_handler hl_rest_show_drain, hl_rest_begin_drain, hl_rest_cancel_drain, hl_rest_await_drain,
    hl_rest_quit;

/* Before a change by an admin: finds out who that is, and about the target, which call->id names. Goes on with `then`,
 * with nothing answered yet, also where the target is not there; else the call is refused. */
void hl_rest_with_audit(
    struct hl_rest_call *call, enum hl_rest_audited_kind of, hl_rest_handler *then);
/* The row of a change to that target, or another one; to be put into the request (`m.audit`). Takes the objects, which
 * may be NULL. NULL: out of memory. */
struct hl_audit *hl_rest_audit_target(
    struct hl_rest_call *call, enum hl_audit_action action, const char *kind, json_t *detail);
struct hl_audit *hl_rest_audit(
    struct hl_rest_call *call, enum hl_audit_action action, json_t *target, json_t *detail);
/* A change that is no request of the store was made: asks for the row, which is taken. False: out of memory. */
bool hl_rest_ask_audit(struct hl_rest_call *call, struct hl_audit *audit);

/* ---- what only admins and whoever made a run may do with it ---- */

/* Of this project, or of every one. What changes something is refused to viewers by the table of routes alone. */
bool hl_rest_is_admin(const struct hl_rest_call *call);
/* An admin, or a viewer. */
bool hl_rest_sees_all(const struct hl_rest_call *call);
/* What such an answer says to admins alone: null to viewers, and where it is empty. A new reference, NULL: out of memory. */
json_t *hl_rest_secret_json(const struct hl_rest_call *call, struct hl_str text);
/* Whether the asker is an admin, or made the run. */
bool hl_rest_is_his(const struct hl_rest_call *call, const struct hl_run_row *run);
bool hl_rest_is_his_recent(const struct hl_rest_call *call, const struct hl_recent_run *run);
/* Goes on with `then`, with nothing answered yet, if the asker is an admin or made the call's run, or if
 * nobody was asked who they are; else the call is refused. Nobody's run is for `then` to refuse. */
void hl_rest_as_owner(struct hl_rest_call *call, hl_rest_handler *then);

#endif
