/* lookup.h - ids as people type them: a beginning is enough where it is one thing's alone. */
#ifndef HL_CLI_LOOKUP_H
#define HL_CLI_LOOKUP_H

#include <jansson.h>

#include "base/compiler.h"
#include "base/id.h"

struct hl_cli;
struct hl_cli_option;
struct hl_cli_session;

enum hl_cli_thing { HL_CLI_RUN, HL_CLI_DELIVERY, HL_CLI_ACCOUNT, HL_CLI_JOB };

/* Writes the whole id that `typed` is or begins. HL_CLI_OK, or it has said that it is none, or of nothing,
 * or of several. `id` has HL_CLI_ID_MAX bytes. */
#define HL_CLI_ID_MAX (HL_ID_TEXT + 1)
HL_MUST_CHECK int hl_cli_find(struct hl_cli_session *session, const struct hl_cli *cli,
    enum hl_cli_thing thing, const char *typed, char *id);

/* The arguments of a command about one thing: options, and one word which may be its id or the beginning of
 * it. HL_CLI_OK, or it has said all that is wrong. */
HL_MUST_CHECK int hl_cli_read_id(const struct hl_cli *cli, const struct hl_cli_option *options,
    size_t option_count, enum hl_cli_thing thing, const char **typed);

/* GETs (or as `method` says) what is under the thing's id, and then `after` ("/cancel"), after finding it. */
HL_MUST_CHECK int hl_cli_ask_about(struct hl_cli_session *session, enum hl_cli_thing thing,
    const char *method, const char *typed, const char *after, json_t **out);

/* `cursor` becomes that of the page behind `page`, of a list by ids; empty: there is none. Lists go down: one that
 * does not would never end. */
void hl_cli_next_page(const json_t *page, char *cursor, size_t cap);

#endif
