/* lookup.h - ids as people type them: a beginning is enough where it is one thing's alone. */
#ifndef HL_CLI_LOOKUP_H
#define HL_CLI_LOOKUP_H

#include "base/id.h"
#include "cli/session.h"

enum hl_cli_thing { HL_CLI_RUN, HL_CLI_DELIVERY, HL_CLI_ACCOUNT };

/* Writes the whole id that `typed` is or begins. HL_CLI_OK, or it has said that there is none, or several.
 * What can be no beginning is left as it is: the sidecar says what is wrong with it. `id` has
 * HL_CLI_ID_MAX bytes. */
#define HL_CLI_ID_MAX 128
HL_MUST_CHECK int hl_cli_find(struct hl_cli_session *session, const struct hl_cli *cli,
    enum hl_cli_thing thing, const char *typed, char *id);

/* GETs (or as `method` says) what is under the thing's id, and then `after` ("/cancel"), after finding it. */
HL_MUST_CHECK int hl_cli_ask_about(struct hl_cli_session *session, const struct hl_cli *cli,
    enum hl_cli_thing thing, const char *method, const char *typed, const char *after,
    json_t **out);

#endif
