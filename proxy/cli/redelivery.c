/* redelivery.c - `hookline runs redeliver` and `deliveries redeliver`: webhooks once more; many in pieces, so that the
 * sidecar answers others in between and new webhooks find room (contract 8).
 * Promise: what is sent is what a list with the same filters shows, and no more: the list is read first,
 * and those in it are asked for by their ids. Many are not sent before somebody has said yes. However it ends it says
 * how many were sent, why no more, and how to go on. Ctrl-C ends it between two pieces. */
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/str.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/deliveries.h"
#include "cli/filter.h"
#include "cli/jobs.h"
#include "cli/lookup.h"
#include "cli/resend.h"
#include "cli/screen.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/table.h"
#include "store/destination.h"

#define PIECE       500
#define PATIENCE_MS 60000 /* without room for a single one */
#define SAY_EACH_MS 10000 /* where nobody looks on */

struct job {
    const struct hl_cli *cli;
    struct hl_cli_session *session;
    const char *target;
    struct hl_id *ids;
    size_t n, at;        /* what is before `at` is sent or refused */
    struct hl_id behind; /* the list's last one before those that are left; nil: there is none */
    size_t sent, pending, unknown, in_doubt;
    uint64_t moved_ms, said_ms;
};

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

/* The second one ends the process. */
static void heed_interrupts(void)
{
    struct sigaction action = {
        .sa_handler = on_interrupt, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- how far it is ---- */

static void show_progress(struct job *job, const char *what)
{
    bool is_watched = isatty(fileno(job->cli->err));
    uint64_t now = hl_clock_mono_ms();
    if (job->n <= PIECE && !*what)
        return;
    if (!is_watched && now - job->said_ms < SAY_EACH_MS)
        return;
    job->said_ms = now;
    fprintf(job->cli->err, is_watched ? "\r\033[K%zu of %zu%s" : "%zu of %zu%s\n", job->at, job->n,
        what);
    fflush(job->cli->err);
}

static void end_progress(const struct job *job)
{
    if (isatty(fileno(job->cli->err)))
        fputs("\r\033[K", job->cli->err);
}

/* "3 deliveries are sent again"; with `will` ("would be") in place of "are". */
static void say_redelivered(const struct hl_cli *cli, size_t n, const char *will)
{
    const char *are = n == 1 ? "is" : "are";
    fprintf(cli->out, "%zu %s %s sent again\n", n, n == 1 ? "delivery" : "deliveries",
        *will ? will : are);
}

/* ---- a piece ---- */

static json_t *piece_json(const struct hl_id *ids, size_t n)
{
    json_t *list = json_array();
    char text[HL_ID_TEXT];
    for (size_t i = 0; i < n; i++) {
        hl_id_format(&ids[i], text);
        if (json_array_append_new(list, json_stringn(text, sizeof(text))) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    json_t *body = json_object();
    if (json_object_set_new(body, "delivery_ids", list) == 0)
        return body;
    json_decref(body);
    return NULL;
}

static bool is_named(const json_t *left, const struct hl_id *id)
{
    const json_t *item;
    size_t i;
    struct hl_id one;
    json_array_foreach(left, i, item)
    {
        if (json_is_string(item) && hl_id_parse(hl_str_from(json_string_value(item)), &one) &&
            hl_id_eq(&one, id))
            return true;
    }
    return false;
}

/* Those that are left go behind the others, in their order. */
static size_t put_back(struct job *job, size_t n, const json_t *left)
{
    struct hl_id kept[PIECE], *ids = job->ids + job->at;
    size_t n_kept = 0, n_done = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_named(left, &ids[i])) {
            kept[n_kept++] = ids[i];
            continue;
        }
        if (n_kept == 0)
            job->behind = ids[i];
        ids[n_done++] = ids[i];
    }
    memcpy(ids + n_done, kept, n_kept * sizeof(*kept));
    return n_done;
}

/* False: it is no answer to what was asked. */
static bool take_answer(struct job *job, size_t n, const json_t *answer)
{
    const json_t *refused = json_object_get(answer, "refused"), *row;
    const json_t *left = json_object_get(answer, "left");
    json_int_t sent = json_integer_value(json_object_get(answer, "redelivered"));
    size_t i, n_refused = json_array_size(refused), n_pending = 0;
    json_array_foreach(refused, i, row)
    {
        const char *reason = json_string_value(json_object_get(row, "reason"));
        n_pending += reason && strcmp(reason, "pending") == 0;
    }
    if (!json_is_array(refused) || !json_is_array(left) || sent < 0 || (uint64_t)sent > n ||
        json_array_size(left) > n || (size_t)sent + n_refused + json_array_size(left) != n)
        return false;
    size_t n_done = put_back(job, n, left);
    if (n_done == 0 || n_done + json_array_size(left) != n)
        return false;
    job->at += n_done;
    job->sent += (size_t)sent;
    job->pending += n_pending;
    job->unknown += n_refused - n_pending;
    if (n_done > 0)
        job->moved_ms = hl_clock_mono_ms();
    return true;
}

/* There is room again when what is pending has been sent, which a sidecar does. */
static bool can_wait(const struct job *job, unsigned answered)
{
    return (answered == 429 || answered == 503) && hl_cli_session_has_sidecar(job->session) &&
           hl_clock_mono_ms() - job->moved_ms < PATIENCE_MS;
}

static int send_piece(struct job *job)
{
    const struct timespec pause = {.tv_sec = 1};
    size_t n = job->n - job->at < PIECE ? job->n - job->at : PIECE;
    json_t *body = piece_json(job->ids + job->at, n), *answer;
    unsigned answered;
    if (!body)
        return hl_cli_fail(job->cli, "out of memory");
    int status = hl_cli_ask_any(job->session, "POST", job->target, body, &answered, &answer);
    job->in_doubt = status == HL_CLI_OK ? 0 : n;
    if (status == HL_CLI_OK && answered == 202) {
        size_t was_at = job->at;
        if (take_answer(job, n, answer)) {
            bool is_slow = job->at - was_at < n; /* there was room for some */
            show_progress(job, is_slow ? ", waiting for room" : "");
            if (is_slow)
                nanosleep(&pause, NULL);
        } else {
            job->in_doubt = n;
            status = hl_cli_fail(job->cli, "the answer is not hookline's");
        }
    } else if (status == HL_CLI_OK && can_wait(job, answered)) {
        show_progress(job, ", waiting for room");
        nanosleep(&pause, NULL);
    } else if (status == HL_CLI_OK) {
        end_progress(job);
        status = hl_cli_refuse(job->session, job->target, answered, answer);
    }
    json_decref(answer);
    return status;
}

/* ---- the end ---- */

static int say_refused(const struct job *job)
{
    size_t n = job->pending + job->unknown;
    const char *are = n == 1 ? "is" : "are";
    if (job->unknown == 0)
        return hl_cli_fail(job->cli, "%zu %s not: pending already", n, are);
    if (job->pending == 0)
        return hl_cli_fail(job->cli, "%zu %s not: no longer there", n, are);
    return hl_cli_fail(job->cli, "%zu are not: %zu pending already, %zu no longer there", n,
        job->pending, job->unknown);
}

/* A duration would count back from another moment. */
static int say_left(const struct job *job, int64_t since_ms)
{
    char since[HL_CLOCK_TEXT], id[HL_ID_TEXT], doubt[64] = "";
    hl_clock_format(since_ms, since);
    hl_id_format(&job->behind, id);
    bool has_mark = !hl_id_is_nil(&job->behind);
    if (job->in_doubt > 0)
        snprintf(doubt, sizeof(doubt), " (unknown for the next %zu)", job->in_doubt);
    return hl_cli_fail(job->cli,
        "%s%zu of %zu are left%s; to go on, repeat the command with --since %s%s%.*s",
        is_interrupted ? "interrupted: " : "", job->n - job->at, job->n, doubt, since,
        has_mark ? " --after " : "", has_mark ? HL_ID_TEXT : 0, id);
}

/* The ids are in the order of a list, which is that in which they are sent; `since_ms` is where that list began.
 * Returns the exit status, and has said how it ended. */
static int redeliver_all(struct hl_cli_session *session, const struct hl_cli *cli,
    const char *project, int64_t since_ms, struct hl_id *ids, size_t n)
{
    struct hl_cli_target target;
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, project, "/deliveries/redeliver");
    uint64_t now = hl_clock_mono_ms();
    struct job job = {.cli = cli,
        .session = session,
        .target = hl_cli_target_text(&target),
        .ids = ids,
        .n = n,
        .moved_ms = now,
        .said_ms = now};
    int status = job.target ? HL_CLI_OK : hl_cli_fail(cli, "out of memory");
    heed_interrupts();
    while (status == HL_CLI_OK && job.at < n && !is_interrupted)
        status = send_piece(&job);
    end_progress(&job);
    say_redelivered(cli, job.sent, "");
    fflush(cli->out);
    if (job.pending + job.unknown > 0)
        status = say_refused(&job);
    if (job.at < n)
        status = say_left(&job, since_ms);
    hl_cli_target_fini(&target);
    return status;
}

/* ---- which ---- */

#define MANY        10 /* more are asked about first */
#define ALL_AT_ONCE 1000000
#define PLACES_MAX  10000 /* destinations that are counted */
#define WHERE_MAX   (HL_DESTINATION_MAX + 8)

struct task {
    const struct hl_cli *cli;
    struct hl_cli_session *session;
    const char *id; /* NULL: those of `filter` */
    struct hl_cli_filter filter;
    bool is_dry, is_sure;
    /* what was found, in the order of the list */
    struct hl_buf ids;              /* struct hl_id each */
    json_t *places;                 /* the destinations are its members */
    bool has_unknown_place;         /* of one the destination is not known */
    struct hl_cli_list_table found; /* for --dry-run */
    int status;                     /* why finding has failed */
};

static size_t count_of(const struct task *t)
{
    return t->ids.n / sizeof(struct hl_id);
}

static void keep_row(void *owner, json_t *delivery)
{
    struct task *t = owner;
    const char *text = json_string_value(json_object_get(delivery, "delivery_id"));
    const char *place = json_string_value(json_object_get(delivery, "destination"));
    struct hl_id id;
    if (t->status != HL_CLI_OK)
        return;
    if (!text || !hl_id_parse(hl_str_from(text), &id))
        t->status = hl_cli_fail(t->cli, "the answer is not hookline's: a delivery has no id");
    else if (hl_buf_append(&t->ids, (const char *)&id, sizeof(id)) != HL_OK)
        t->status = hl_cli_fail(t->cli, "out of memory");
    else if (!place || strlen(place) > HL_DESTINATION_MAX ||
             json_object_size(t->places) > PLACES_MAX ||
             json_object_set_new_nocheck(t->places, place, json_true()) != 0)
        t->has_unknown_place = true;
    if (t->is_dry)
        hl_cli_list_table_add(&t->found.table, delivery);
}

static int find_all(struct task *t)
{
    struct hl_cli_filter *filter = &t->filter;
    filter->project = hl_cli_session_project(t->session, t->cli, filter->project);
    if (!filter->project)
        return HL_CLI_USAGE;
    if (!filter->state)
        filter->state = "dead";
    filter->left = ALL_AT_ONCE;
    return hl_cli_filter_pages(t->session, filter, "/deliveries", "deliveries", keep_row, t);
}

static int find_of_run(struct task *t)
{
    json_t *run, *delivery;
    size_t i;
    int status = hl_cli_ask_about(t->session, HL_CLI_RUN, "GET", t->id, "", &run);
    json_array_foreach(json_object_get(run, "deliveries"), i, delivery)
    {
        if (!json_is_true(json_object_get(delivery, "resent"))) /* its webhook, and nowhere else */
            keep_row(t, delivery);
    }
    if (status == HL_CLI_OK && count_of(t) == 0 && t->status == HL_CLI_OK)
        status = hl_cli_fail(t->cli, "the run has no webhook");
    json_decref(run);
    return status;
}

static int find_one(struct task *t)
{
    json_t *delivery;
    int status = hl_cli_ask_about(t->session, HL_CLI_DELIVERY, "GET", t->id, "", &delivery);
    if (status == HL_CLI_OK)
        keep_row(t, delivery);
    json_decref(delivery);
    return status;
}

/* ---- whether ---- */

/* " to http://10.0.0.5:8080", " to 3 destinations"; nothing if one of them is not known. */
static void write_where(const struct task *t, char where[WHERE_MAX])
{
    size_t n = json_object_size(t->places);
    *where = '\0';
    if (!t->has_unknown_place && n == 1)
        snprintf(where, WHERE_MAX, " to %s", json_object_iter_key(json_object_iter(t->places)));
    else if (!t->has_unknown_place && n > 1)
        snprintf(where, WHERE_MAX, " to %zu destinations", n);
}

static int ask_first(const struct task *t)
{
    char answer[16] = "", where[WHERE_MAX];
    size_t n = count_of(t);
    if (n <= MANY || t->is_sure)
        return HL_CLI_OK;
    write_where(t, where);
    if (!isatty(STDIN_FILENO))
        return hl_cli_usage_error(t->cli,
            "%zu deliveries%s would be sent again, and there is no terminal to ask on: --yes sends "
            "them, --dry-run shows them",
            n, where);
    fprintf(t->cli->err, "Send %zu deliveries again", n);
    hl_cli_print(t->cli->err, where);
    fputs("? [y/N] ", t->cli->err);
    fflush(t->cli->err);
    bool is_yes = fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
    return is_yes ? HL_CLI_OK : hl_cli_fail(t->cli, "nothing was sent");
}

/* ---- sending ---- */

static int send_named(struct task *t)
{
    json_t *answer;
    struct hl_id *id = (struct hl_id *)(void *)t->ids.p;
    char text[HL_ID_TEXT + 1] = "";
    hl_id_format(id, text);
    int status = hl_cli_ask_about(t->session, HL_CLI_DELIVERY, "POST", text, "/redeliver", &answer);
    json_decref(answer);
    if (status == HL_CLI_OK)
        say_redelivered(t->cli, 1, "");
    return status;
}

static int send_all(struct task *t)
{
    return redeliver_all(t->session, t->cli, t->filter.project, t->filter.since_ms,
        (struct hl_id *)(void *)t->ids.p, count_of(t));
}

static int carry_out(struct task *t, int (*find_by_id)(struct task *t))
{
    int status = t->id ? find_by_id(t) : find_all(t);
    status = t->status != HL_CLI_OK ? t->status : status;
    if (status != HL_CLI_OK)
        return status;
    if (t->is_dry) {
        hl_cli_table_print(&t->found.table, t->cli->out);
        say_redelivered(t->cli, count_of(t), "would be");
        return HL_CLI_OK;
    }
    if (t->id)
        return send_named(t);
    status = ask_first(t);
    return status == HL_CLI_OK ? send_all(t) : status;
}

static int redeliver(const struct hl_cli *cli, const char *thing, int (*find_by_id)(struct task *t))
{
    struct task t = {.cli = cli};
    struct hl_cli_filter *filter = &t.filter;
    const struct hl_cli_option options[] = {{.name = "--project", .text = &filter->project},
        {.name = "--app", .text = &filter->app}, {.name = "--state", .text = &filter->state},
        {.name = "--since", .text = &filter->since}, {.name = "--until", .text = &filter->until},
        {.name = "--destination", .text = &filter->destination},
        {.name = "--status", .text = &filter->status}, {.name = "--after", .text = &filter->after},
        {.name = "--dry-run", .is_given = &t.is_dry}, {.name = "--yes", .is_given = &t.is_sure}};
    size_t count;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), &t.id, 1, &count);
    bool has_filter = filter->since || filter->until || filter->state || filter->app ||
                      filter->project || filter->destination || filter->status || filter->after;
    if (count == 0 && !filter->since)
        status = hl_cli_usage_error(
            cli, "it needs a %s's id, --since TIME for all dead ones since then, or --all", thing);
    if (count == 1 && has_filter)
        status =
            hl_cli_usage_error(cli, "it takes either a %s's id, or --since and filters", thing);
    status = hl_cli_filter_check(filter, cli, status);
    if (status != HL_CLI_OK)
        return status;
    t.places = json_object();
    hl_buf_init(&t.ids, 0);
    hl_cli_list_table_choose_usual(&t.found, &hl_cli_delivery_columns);
    hl_cli_list_table_init(&t.found, cli->out);
    status = t.places ? hl_cli_session_open(&t.session, cli) : hl_cli_fail(cli, "out of memory");
    if (status == HL_CLI_OK)
        status = carry_out(&t, find_by_id);
    hl_cli_session_close(t.session);
    hl_cli_table_fini(&t.found.table);
    hl_buf_fini(&t.ids);
    json_decref(t.places);
    return status;
}

static const struct hl_cli_bulk all = {"redeliver", "delivery", "deliveries", "sent again"};

int hl_cli_runs_redeliver(const struct hl_cli *cli)
{
    return hl_cli_is_bulk(cli) ? hl_cli_run_bulk(cli, &all) : redeliver(cli, "run", find_of_run);
}

int hl_cli_deliveries_redeliver(const struct hl_cli *cli)
{
    if (hl_cli_goes_elsewhere(cli))
        return hl_cli_resend(cli);
    return hl_cli_is_bulk(cli) ? hl_cli_run_bulk(cli, &all) : redeliver(cli, "delivery", find_one);
}
