/* filter.c - lists by their filters, page by page. */
#include "cli/filter.h"

#include <string.h>

#include "base/tag.h"
#include "cli/cli.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/table.h"
#include "store/destination.h"
#include "store/search.h"

#define PAGE_MAX  200
#define LIMIT_MAX 1000000

/* What the sidecar would say, too, but of one at a time. */
static int check_search(const struct hl_cli_filter *filter, const struct hl_cli *cli, int status)
{
    struct hl_status_range range;
    char destination[HL_DESTINATION_MAX];
    if (filter->status && !hl_status_range_read(hl_str_from(filter->status), &range))
        status = hl_cli_usage_error(cli,
            "--status takes a status (404), a class (5xx) or none, not \"%s\"", filter->status);
    if (filter->destination &&
        hl_destination_write(destination, hl_str_from(filter->destination)) == 0)
        status = hl_cli_usage_error(cli,
            "--destination takes scheme, host and port, such as https://example.com:8443, not "
            "\"%s\"",
            filter->destination);
    return status;
}

/* The sidecar would say it of one parameter alone. */
static int check_tags(const struct hl_cli_filter *filter, const struct hl_cli *cli, int status)
{
    size_t n = 0;
    for (; filter->tags[n]; n++)
        if (!hl_tag_is_wanted(hl_str_from(filter->tags[n])))
            status = hl_cli_usage_error(cli,
                "--tag takes a tag such as tier=gold, or the name of one, not \"%s\"",
                filter->tags[n]);
    if (n > HL_TAGS_MAX)
        status = hl_cli_usage_error(cli, "--tag may be given up to %d times", HL_TAGS_MAX);
    return status;
}

/* --until first: durations count back from now, and of two that are alike the one that is read first is
 * never the later. */
static int check_times(struct hl_cli_filter *filter, const struct hl_cli *cli, int status)
{
    int until = hl_cli_check_time(cli, "--until", filter->until, &filter->until_ms);
    int since = hl_cli_check_time(cli, "--since", filter->since, &filter->since_ms);
    if (until != HL_CLI_OK || since != HL_CLI_OK)
        return HL_CLI_USAGE;
    if (!filter->since || !filter->until || filter->until_ms > filter->since_ms)
        return status;
    return hl_cli_usage_error(cli,
        "--until %s is not after --since %s: nothing lies between them (a duration counts back "
        "from now)",
        filter->until, filter->since);
}

int hl_cli_filter_check(struct hl_cli_filter *filter, const struct hl_cli *cli, int status)
{
    uint64_t limit = HL_CLI_LIMIT_DEFAULT;
    status = check_times(filter, cli, status);
    if (filter->limit &&
        (!hl_str_to_u64(hl_str_from(filter->limit), &limit) || limit < 1 || limit > LIMIT_MAX))
        status = hl_cli_usage_error(
            cli, "--limit takes a number from 1 to %d, not \"%s\"", LIMIT_MAX, filter->limit);
    status = check_search(filter, cli, status);
    status = check_tags(filter, cli, status);
    struct hl_id id;
    if (filter->after && !hl_id_parse(hl_str_from(filter->after), &id))
        status = hl_cli_usage_error(cli,
            "--after takes a delivery's whole id, as it was printed, not \"%s\"", filter->after);
    if (filter->is_async && filter->is_sync)
        status = hl_cli_usage_error(cli, "--async and --sync are mutually exclusive");
    filter->left = limit;
    return status;
}

int hl_cli_filter_open(const struct hl_cli *cli, const struct hl_cli_option options[], size_t n,
    struct hl_cli_filter *filter, struct hl_cli_session **session)
{
    size_t count;
    int status = hl_cli_read_arguments(cli, options, n, NULL, 0, &count);
    status = hl_cli_filter_check(filter, cli, status);
    return status == HL_CLI_OK ? hl_cli_session_open(session, cli) : status;
}

void hl_cli_filter_settle_project(
    struct hl_cli_filter *filter, const struct hl_cli_session *session)
{
    const struct hl_cli_server *remote = hl_cli_session_remote(session);
    if (remote && !filter->project)
        filter->project = remote->project;
}

void hl_cli_filter_each_text(const struct hl_cli_filter *filter,
    void (*tell)(void *owner, const char *name, const char *value), void *owner)
{
    const struct {
        const char *name, *value;
    } texts[] = {{"app", filter->app}, {"run_id", filter->run}, {"state", filter->state},
        {"action", filter->action}, {"path", filter->path}, {"status", filter->status},
        {"reason", filter->reason}, {"webhook", filter->webhook}, {"error", filter->error},
        {"find", filter->find}, {"destination", filter->destination}};
    for (size_t i = 0; i < HL_ARRAY_LEN(texts); i++)
        if (texts[i].value)
            tell(owner, texts[i].name, texts[i].value);
}

static void add_query(void *target, const char *name, const char *value)
{
    hl_cli_target_query(target, name, value);
}

static void write_page(struct hl_cli_target *target, const struct hl_cli_filter *filter,
    const char *path, const char *cursor)
{
    char limit[24];
    snprintf(limit, sizeof(limit), "%llu",
        (unsigned long long)(filter->left < PAGE_MAX ? filter->left : PAGE_MAX));
    hl_cli_target_init(target);
    hl_cli_target_of(target, filter->project, path);
    hl_cli_target_query(target, "limit", limit);
    hl_cli_filter_each_text(filter, add_query, target);
    for (const char *const *tag = filter->tags; *tag; tag++)
        hl_cli_target_query(target, "tag", *tag);
    if (filter->is_async || filter->is_sync)
        hl_cli_target_query(target, "async", filter->is_async ? "true" : "false");
    if (filter->since)
        hl_cli_target_query_time(target, "since", filter->since_ms);
    if (filter->until)
        hl_cli_target_query_time(target, "until", filter->until_ms);
    hl_cli_target_query(target, "cursor", *cursor ? cursor : NULL);
}

int hl_cli_filter_pages(struct hl_cli_session *session, struct hl_cli_filter *filter,
    const char *path, const char *member, void (*on_row)(void *owner, json_t *row), void *owner)
{
    char cursor[64];
    int status;
    snprintf(cursor, sizeof(cursor), "%s", filter->after ? filter->after : "");
    do {
        struct hl_cli_target target;
        json_t *page = NULL, *row;
        size_t i;
        write_page(&target, filter, path, cursor);
        status = hl_cli_ask_for(session, "GET", &target, NULL, member, &page);
        json_array_foreach(json_object_get(page, member), i, row)
        {
            if (filter->left == 0)
                break; /* more than was asked for */
            filter->left--;
            on_row(owner, row);
        }
        const char *next = json_string_value(json_object_get(page, "next_cursor"));
        bool goes_on = next && strcmp(next, cursor) != 0;
        snprintf(cursor, sizeof(cursor), "%s", goes_on ? next : "");
        json_decref(page);
    } while (status == HL_CLI_OK && *cursor && filter->left > 0);
    return status;
}

static void print_row(void *cli, json_t *row)
{
    hl_cli_print_json(cli, row);
}

int hl_cli_filter_list(struct hl_cli_session *session, const struct hl_cli *cli,
    struct hl_cli_filter *filter, const struct hl_cli_list *list, struct hl_cli_table *table)
{
    struct hl_cli copy = *cli;
    void (*on_row)(void *, json_t *) = filter->is_json ? print_row : list->add_row;
    void *owner = filter->is_json ? (void *)&copy : (void *)table;
    int status = hl_cli_filter_pages(session, filter, list->path, list->member, on_row, owner);
    if (status == HL_CLI_OK && !filter->is_json)
        hl_cli_table_print(table, cli->out);
    hl_cli_table_fini(table);
    return status;
}

/* DEL stands in strings alone, where nothing asks for it to be escaped (RFC 8259 7). */
static int write_json(const char *bytes, size_t n, void *out)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == 0x7f ? fputs("\\u007f", out) == EOF : fputc(bytes[i], out) == EOF)
            return -1;
    return 0;
}

void hl_cli_print_json(const struct hl_cli *cli, const json_t *value)
{
    if (json_dump_callback(value, write_json, cli->out,
            JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12)) == 0)
        fputc('\n', cli->out);
}
