/* redeliver.c - webhooks once more.
 * Promise: what is sent is what a list with the same filters shows, and no more: the list is read first,
 * and those in it are asked for by their ids. Many are not sent before somebody has said yes.
 * Not here: how many are sent (redelivery.c). */
#include "cli/redeliver.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/id.h"
#include "cli/argument.h"
#include "cli/cli.h"
#include "cli/delivery_table.h"
#include "cli/lookup.h"
#include "cli/readable.h"
#include "cli/redelivery.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/wish.h"
#include "store/destination.h"

#define MANY        10 /* more are asked about first */
#define ALL_AT_ONCE 1000000
#define PLACES_MAX  10000 /* destinations that are counted */
#define WHERE_MAX   (HL_DESTINATION_MAX + 8)

struct task {
    const struct hl_cli *cli;
    struct hl_cli_session *session;
    const char *id; /* NULL: those of `wish` */
    struct hl_cli_wish wish;
    bool is_dry, is_sure;
    /* what was found, in the order of the list */
    struct hl_buf ids;         /* struct hl_id each */
    json_t *places;            /* the destinations are its members */
    bool has_unknown_place;    /* of one the destination is not known */
    struct hl_cli_table table; /* for --dry-run */
    int status;                /* why finding has failed */
};

static size_t count_of(const struct task *t)
{
    return t->ids.n / sizeof(struct hl_id);
}

/* ---- which ---- */

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
        hl_cli_delivery_table_add(&t->table, delivery);
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
    json_array_foreach(json_object_get(run, "deliveries"), i, delivery) keep_row(t, delivery);
    if (status == HL_CLI_OK && count_of(t) == 0 && t->status == HL_CLI_OK)
        status = hl_cli_fail(t->cli, "the run has no webhook");
    json_decref(run);
    return status;
}

static int find_one(struct task *t)
{
    json_t *delivery;
    int status = hl_cli_ask_about(t->session, t->cli, HL_CLI_DELIVERY, "GET", t->id, "", &delivery);
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
            "%zu deliveries%s would be sent again, and nobody can be asked here: --yes sends them, "
            "--dry-run shows them",
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
    int status =
        hl_cli_ask_about(t->session, t->cli, HL_CLI_DELIVERY, "POST", text, "/redeliver", &answer);
    json_decref(answer);
    if (status == HL_CLI_OK)
        hl_cli_say_redelivered(t->cli, 1, "");
    return status;
}

static int send_all(struct task *t)
{
    return hl_cli_redelivery(t->session, t->cli, t->wish.project, t->wish.since_ms,
        (struct hl_id *)(void *)t->ids.p, count_of(t));
}

static int carry_out(struct task *t, int (*find_by_id)(struct task *t))
{
    int status = t->id ? find_by_id(t) : find_all(t);
    status = t->status != HL_CLI_OK ? t->status : status;
    if (status != HL_CLI_OK)
        return status;
    if (t->is_dry) {
        hl_cli_table_print(&t->table, t->cli->out);
        hl_cli_say_redelivered(t->cli, count_of(t), "would be");
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
    struct hl_cli_wish *w = &t.wish;
    const struct hl_cli_option options[] = {{.name = "--project", .text = &w->project},
        {.name = "--app", .text = &w->app}, {.name = "--state", .text = &w->state},
        {.name = "--since", .text = &w->since}, {.name = "--until", .text = &w->until},
        {.name = "--destination", .text = &w->destination},
        {.name = "--status", .text = &w->status}, {.name = "--after", .text = &w->after},
        {.name = "--dry-run", .is_given = &t.is_dry}, {.name = "--yes", .is_given = &t.is_sure}};
    size_t count;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), &t.id, 1, &count);
    bool has_filter = w->since || w->until || w->state || w->app || w->project || w->destination ||
                      w->status || w->after;
    if (count == 0 && !w->since)
        status = hl_cli_usage_error(
            cli, "it needs a %s's id, or --since TIME for all dead ones since then", thing);
    if (count == 1 && has_filter)
        status = hl_cli_usage_error(
            cli, "it takes either a %s's id, or --since and what else all those are to be", thing);
    status = hl_cli_wish_check(w, cli, status);
    if (status != HL_CLI_OK)
        return status;
    t.places = json_object();
    hl_buf_init(&t.ids, 0);
    hl_cli_delivery_table_init(&t.table, cli->out);
    status = t.places ? hl_cli_session_open(&t.session, cli) : hl_cli_fail(cli, "out of memory");
    if (status == HL_CLI_OK)
        status = carry_out(&t, find_by_id);
    hl_cli_session_close(t.session);
    hl_cli_table_fini(&t.table);
    hl_buf_fini(&t.ids);
    json_decref(t.places);
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
