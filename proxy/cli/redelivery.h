/* redelivery.h - many webhooks once more, in pieces. */
#ifndef HL_CLI_REDELIVERY_H
#define HL_CLI_REDELIVERY_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct hl_cli;
struct hl_cli_session;
struct hl_id;

/* The ids are in the order of a list, which is that in which they are sent; `since_ms` is where that list began.
 * Returns the exit status, and has said how it ended. */
HL_MUST_CHECK int hl_cli_redelivery(struct hl_cli_session *session, const struct hl_cli *cli,
    const char *project, int64_t since_ms, struct hl_id *ids, size_t n);

/* "3 deliveries are sent again"; with `will` ("would be") in place of "are". */
void hl_cli_say_redelivered(const struct hl_cli *cli, size_t n, const char *will);

#endif
