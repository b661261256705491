/* filter.h - which of the runs or deliveries a list is to have, as options say it, and its pages. */
#ifndef HL_CLI_FILTER_H
#define HL_CLI_FILTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "cli/cli.h"

struct hl_cli_session;
struct hl_cli_table;

#define HL_CLI_LIMIT_DEFAULT 50

struct hl_cli_filter {
    const char *project, *app, *state, *run, *since, *until, *limit;
    const char *path, *status, *reason, *webhook; /* of runs; of deliveries the status, and */
    const char *error, *find;                     /* of runs */
    const char *destination;
    const char *action;                     /* of the audit */
    const char *after;                      /* only what a list has behind the one with this id */
    const char *tags[HL_CLI_TEXTS_MAX + 1]; /* of runs: all of them */
    bool is_async, is_sync, is_json, has_tags;
    int64_t since_ms, until_ms;
    uint64_t left; /* so many more; 0: that was all */
};

/* Reads the times and the limit; `status` is what reading the options gave, and is given back if all is
 * well here. Each fault is said. */
int hl_cli_filter_check(struct hl_cli_filter *filter, const struct hl_cli *cli, int status);

/* Reads what follows the command's name, checks the filter, and opens the session that lists are asked of, which the
 * caller closes. HL_CLI_OK, or it has said what is wrong. */
HL_MUST_CHECK int hl_cli_filter_open(const struct hl_cli *cli, const struct hl_cli_option options[],
    size_t n, struct hl_cli_filter *filter, struct hl_cli_session **session);
/* A token of another machine is of one project: where none was named that is meant. */
void hl_cli_filter_settle_project(
    struct hl_cli_filter *filter, const struct hl_cli_session *session);

/* Each text that narrows a list down, as the REST interface names it: all but tags, the mode and times. */
void hl_cli_filter_each_text(const struct hl_cli_filter *filter,
    void (*tell)(void *owner, const char *name, const char *value), void *owner);

/* Asks for page after page of `member` ("runs") at `path` ("/runs"), until there are as many as are
 * wanted, and gives each row, borrowed, to `on_row`. HL_CLI_OK, or it has said what is wrong. */
HL_MUST_CHECK int hl_cli_filter_pages(struct hl_cli_session *session, struct hl_cli_filter *filter,
    const char *path, const char *member, void (*on_row)(void *owner, json_t *row), void *owner);

/* A list's place in the REST interface ("/runs"), the member of its pages that has the rows ("runs"), and how one becomes
 * a row of a table. */
struct hl_cli_list {
    const char *path, *member;
    void (*add_row)(void *table, json_t *row);
};

/* The same as a table, which is taken, or with --json a line for each. */
HL_MUST_CHECK int hl_cli_filter_list(struct hl_cli_session *session, const struct hl_cli *cli,
    struct hl_cli_filter *filter, const struct hl_cli_list *list, struct hl_cli_table *table);

/* A line of JSON. */
void hl_cli_print_json(const struct hl_cli *cli, const json_t *value);

#endif
