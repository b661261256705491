/* redeliver.c - webhooks once more.
 * Promise: what is sent is what a list with the same filters shows, and no more: the list is read first,
 * and each one of it is asked for by its id. Many are not sent before somebody has said yes. */
#include "cli/redeliver.h"

#include <unistd.h>

#include "cli/argument.h"
#include "cli/cli.h"
#include "cli/delivery_table.h"
#include "cli/lookup.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/wish.h"
#include "store/destination.h"

#define MANY        10 /* more are asked about first */
#define FAILURES    5  /* of so many in a row no more is tried */
#define ALL_AT_ONCE 1000000
#define SHOWN_EACH  100
#define WHERE_MAX   (HL_DESTINATION_MAX + 8)

struct task {
    const struct hl_cli *cli;
    struct hl_cli_session *session;
    const char *id; /* NULL: those of `wish` */
    struct hl_cli_wish wish;
    bool is_dry, is_sure;
    json_t *found; /* deliveries */
};

static int say_count(const struct task *t, size_t n, const char *will)
{
    fprintf(t->cli->out, "%zu %s %s sent again\n", n, n == 1 ? "delivery" : "deliveries",
        *will    ? will
        : n == 1 ? "is"
                 : "are");
    return HL_CLI_OK;
}

/* ---- which ---- */

static void keep_row(void *owner, json_t *delivery)
{
    json_array_append(((struct task *)owner)->found, delivery);
}

static int find_all(struct task *t)
{
    struct hl_cli_wish *w = &t->wish;
    w->project = hl_cli_session_project(t->session, t->cli, w->project);
    if (!w->project)
        return HL_CLI_USAGE;
    if (!w->state)
        w->state = "dead";
    w->left = ALL_AT_ONCE;
    return hl_cli_wish_pages(t->session, w, "/deliveries", "deliveries", keep_row, t);
}

static int find_of_run(struct task *t)
{
    json_t *run, *delivery;
    size_t i;
    int status = hl_cli_ask_about(t->session, t->cli, HL_CLI_RUN, "GET", t->id, "", &run);
    json_array_foreach(json_object_get(run, "deliveries"), i, delivery)
        json_array_append(t->found, delivery);
    if (status == HL_CLI_OK && json_array_size(t->found) == 0)
        status = hl_cli_fail(t->cli, "the run has no webhook");
    json_decref(run);
    return status;
}

static int find_one(struct task *t)
{
    json_t *delivery;
    int status = hl_cli_ask_about(t->session, t->cli, HL_CLI_DELIVERY, "GET", t->id, "", &delivery);
    if (status == HL_CLI_OK)
        json_array_append(t->found, delivery);
    json_decref(delivery);
    return status;
}

/* ---- whether ---- */

static void show_found(const struct task *t)
{
    struct hl_cli_table table;
    json_t *delivery;
    size_t i;
    hl_cli_delivery_table_init(&table, t->cli->out);
    json_array_foreach(t->found, i, delivery) hl_cli_delivery_table_add(&table, delivery);
    hl_cli_table_print(&table, t->cli->out);
    hl_cli_table_fini(&table);
}

/* " to http://10.0.0.5:8080", " to 3 destinations"; nothing if one of them is not known. */
static void write_where(const struct task *t, char where[WHERE_MAX])
{
    json_t *places = json_object(), *delivery;
    const char *place = NULL;
    size_t i, unknown = 0;
    json_array_foreach(t->found, i, delivery)
    {
        place = json_string_value(json_object_get(delivery, "destination"));
        unknown += !place || json_object_set_new_nocheck(places, place, json_true()) != 0;
    }
    size_t n = json_object_size(places);
    *where = '\0';
    if (unknown == 0 && n == 1)
        snprintf(where, WHERE_MAX, " to %s", place);
    else if (unknown == 0 && n > 1)
        snprintf(where, WHERE_MAX, " to %zu destinations", n);
    json_decref(places);
}

static int ask_first(const struct task *t)
{
    char answer[16] = "", where[WHERE_MAX];
    size_t n = json_array_size(t->found);
    if (n <= MANY || t->is_sure)
        return HL_CLI_OK;
    write_where(t, where);
    if (!isatty(STDIN_FILENO))
        return hl_cli_usage_error(t->cli,
            "%zu deliveries%s would be sent again, and nobody can be asked here: --yes sends them, "
            "--dry-run shows them",
            n, where);
    fprintf(t->cli->err, "Send %zu deliveries again%s? [y/N] ", n, where);
    fflush(t->cli->err);
    bool is_yes = fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
    return is_yes ? HL_CLI_OK : hl_cli_fail(t->cli, "nothing was sent");
}

/* ---- sending ---- */

static void show_progress(const struct task *t, size_t done, size_t all)
{
    if (all > SHOWN_EACH && done % SHOWN_EACH == 0 && isatty(fileno(t->cli->err)))
        fprintf(t->cli->err, "\r%zu of %zu", done, all);
    if (all > SHOWN_EACH && done == all && isatty(fileno(t->cli->err)))
        fputs("\r\033[K", t->cli->err);
}

static int send_all(const struct task *t)
{
    size_t i, sent = 0, failed_in_a_row = 0, all = json_array_size(t->found);
    int status = HL_CLI_OK;
    json_t *delivery;
    json_array_foreach(t->found, i, delivery)
    {
        json_t *answer;
        const char *id = json_string_value(json_object_get(delivery, "delivery_id"));
        int one = hl_cli_ask_about(
            t->session, t->cli, HL_CLI_DELIVERY, "POST", id ? id : "", "/redeliver", &answer);
        json_decref(answer);
        sent += one == HL_CLI_OK;
        failed_in_a_row = one == HL_CLI_OK ? 0 : failed_in_a_row + 1;
        status = one == HL_CLI_OK ? status : one;
        show_progress(t, i + 1, all);
        if (failed_in_a_row == FAILURES)
            break;
    }
    if (sent > 0 || status == HL_CLI_OK)
        say_count(t, sent, "");
    return status;
}

static int carry_out(struct task *t, int (*find_by_id)(struct task *t))
{
    int status = t->id ? find_by_id(t) : find_all(t);
    if (status != HL_CLI_OK)
        return status;
    if (t->is_dry) {
        show_found(t);
        return say_count(t, json_array_size(t->found), "would be");
    }
    status = ask_first(t);
    return status == HL_CLI_OK ? send_all(t) : status;
}

static int redeliver(const struct hl_cli *cli, const char *thing, int (*find_by_id)(struct task *t))
{
    struct task t = {.cli = cli};
    struct hl_cli_wish *w = &t.wish;
    const struct hl_cli_option options[] = {{.name = "--project", .text = &w->project},
        {.name = "--app", .text = &w->app}, {.name = "--state", .text = &w->state},
        {.name = "--since", .text = &w->since}, {.name = "--until", .text = &w->until},
        {.name = "--destination", .text = &w->destination},
        {.name = "--status", .text = &w->status}, {.name = "--dry-run", .is_given = &t.is_dry},
        {.name = "--yes", .is_given = &t.is_sure}};
    size_t count;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), &t.id, 1, &count);
    bool has_filter =
        w->since || w->until || w->state || w->app || w->project || w->destination || w->status;
    if (count == 0 && !w->since)
        status = hl_cli_usage_error(
            cli, "it needs a %s's id, or --since TIME for all dead ones since then", thing);
    if (count == 1 && has_filter)
        status = hl_cli_usage_error(
            cli, "it takes either a %s's id, or --since and what else all those are to be", thing);
    status = hl_cli_wish_check(w, cli, status);
    if (status != HL_CLI_OK)
        return status;
    t.found = json_array();
    status = t.found ? hl_cli_session_open(&t.session, cli) : hl_cli_fail(cli, "out of memory");
    if (status == HL_CLI_OK)
        status = carry_out(&t, find_by_id);
    hl_cli_session_close(t.session);
    json_decref(t.found);
    return status;
}

int hl_cli_runs_redeliver(const struct hl_cli *cli)
{
    return redeliver(cli, "run", find_of_run);
}

int hl_cli_deliveries_redeliver(const struct hl_cli *cli)
{
    return redeliver(cli, "delivery", find_one);
}
