/* session.h - what the commands about runs and tokens ask: the REST interface, through the control
 * socket of the sidecar that runs on this data directory, or, when none runs, on the store itself; with
 * --url, that of another machine's. */
#ifndef HL_CLI_SESSION_H
#define HL_CLI_SESSION_H

#include <jansson.h>
#include <stdbool.h>

#include "base/compiler.h"

struct hl_buf;
struct hl_cli;
struct hl_cli_target;

struct hl_cli_server;
struct hl_cli_session;
struct hl_cli_sink;
struct hl_config;

/* Finds out which of the two it is, unless cli->remote names another machine's. As root it becomes the data directory's owner first, for good, so
 * that nothing of root's is left there. HL_CLI_OK, or it has said what is wrong and the status is for
 * exiting; `*out` is NULL then. */
HL_MUST_CHECK int hl_cli_session_open(struct hl_cli_session **out, const struct hl_cli *cli);
/* The same for what is new in a store, which is made where there is none yet: the others would only make
 * one to find it empty. */
HL_MUST_CHECK int hl_cli_session_open_to_add(struct hl_cli_session **out, const struct hl_cli *cli);
void hl_cli_session_close(struct hl_cli_session *session); /* NULL-safe */

/* The call of the command that it was opened for. */
const struct hl_cli *hl_cli_session_call(const struct hl_cli_session *session);
/* False: the store itself is asked, and nothing goes on there meanwhile. */
bool hl_cli_session_has_sidecar(const struct hl_cli_session *session);
/* Where --url is and what its token is; NULL: it is this machine's. The session's. */
const struct hl_cli_server *hl_cli_session_remote(const struct hl_cli_session *session);
/* This machine's settings; NULL with --url. The session's. */
const struct hl_config *hl_cli_session_config(const struct hl_cli_session *session);

/* What --project said, or else HOOKLINE_PROJECT_ID, ours or that of the sidecar that runs. NULL: none
 * of them, and it has said so. The session's. */
const char *hl_cli_session_project(
    struct hl_cli_session *session, const struct hl_cli *cli, const char *asked);

/* GET, POST or DELETE; `target` is path and query, encoded; `body` is taken, or NULL. An answer with a
 * 2xx status: HL_CLI_OK and `*out`, owned by the caller, NULL for an empty body. Any other: it has
 * said what the answer's detail says, and the status is for exiting. */
HL_MUST_CHECK int hl_cli_ask(struct hl_cli_session *session, const char *method, const char *target,
    json_t *body, json_t **out);

/* The same of an answer with any status, which `*answered` is; HL_CLI_OK: there is one. */
HL_MUST_CHECK int hl_cli_ask_any(struct hl_cli_session *session, const char *method,
    const char *target, json_t *body, unsigned *answered, json_t **out);
/* Says what such an answer says in place of what was asked for; returns HL_CLI_FAILED, or HL_CLI_USAGE where words were
 * wrong that only the sidecar looks at (400). */
int hl_cli_refuse(const struct hl_cli_session *session, const char *target, unsigned answered,
    const json_t *answer);

/* HL_CLI_OK: the answer has that member, as all of hookline's have; else it has said so. */
HL_MUST_CHECK int hl_cli_expect(const struct hl_cli *cli, const json_t *answer, const char *member);

/* The same as hl_cli_ask of a target that has been made for it, which is taken. */
HL_MUST_CHECK int hl_cli_ask_target(struct hl_cli_session *session, const char *method,
    struct hl_cli_target *target, json_t *body, json_t **out);
/* The same for `member` of an answer, without which it is not hookline's: then there is no `*out`. */
HL_MUST_CHECK int hl_cli_ask_for(struct hl_cli_session *session, const char *method,
    struct hl_cli_target *target, json_t *body, const char *member, json_t **out);

/* GET; the answer's body as it is, owned by the caller. */
HL_MUST_CHECK int hl_cli_read(
    struct hl_cli_session *session, const char *target, struct hl_buf *out);
/* The same for an answer of any length: it goes to the sink as it comes. */
HL_MUST_CHECK int hl_cli_read_to(
    struct hl_cli_session *session, const char *target, struct hl_cli_sink *sink);

#endif
