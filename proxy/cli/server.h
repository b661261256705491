/* server.h - the hookline that a command asks: the one that runs on this machine's data directory, by its control
 * socket, or one on another machine, with its address, the token for it, and the project that the token is of. */
#ifndef HL_CLI_SERVER_H
#define HL_CLI_SERVER_H

#include <stdbool.h>

#include "api/control_path.h"
#include "base/buf.h"
#include "base/compiler.h"

struct hl_cli;
struct hl_cli_fetch;

#define HL_CLI_ANSWER_MAX (32u << 20)

struct hl_cli_server {
    bool is_remote;
    struct hl_control_path control; /* unless it is remote */
    char *url;                      /* without the last "/"; owned */
    char *token;                    /* NULL: none; owned */
    char *project;                  /* NULL: nobody says which; owned */
};

/* Where the bytes of an answer that is what was asked for go, as they come; false ends it. */
struct hl_cli_sink {
    bool (*on_bytes)(struct hl_cli_sink *sink, struct hl_str bytes);
};

struct hl_cli_request {
    const char *method, *target; /* path and query, encoded */
    struct hl_str body;
    struct hl_cli_sink *sink; /* where the body of a 2xx goes; NULL: to the answer */
};

struct hl_cli_answer {
    unsigned status;
    struct hl_buf body;
};

/* Reads what cli->remote says. HL_CLI_OK, or it has said what is wrong; then nothing is to be closed. */
HL_MUST_CHECK int hl_cli_server_open_remote(struct hl_cli_server *server, const struct hl_cli *cli);
/* The one on `data_dir`. False: `connecting` says why it does not answer; nothing is to be closed. */
HL_MUST_CHECK bool hl_cli_server_open_here(
    struct hl_cli_server *server, const char *data_dir, struct hl_cli_fetch *connecting);
void hl_cli_server_close(struct hl_cli_server *server);

/* Whether one runs on it. */
bool hl_cli_server_runs(const char *data_dir);

/* What is asked over all projects here is asked of one of another machine: a token is of one project. (Without a
 * token all are asked for: an admin listener that is open has them.) HL_CLI_OK: there is an answer; else it has said
 * why not, unless the sink has ended it. The answer's body is the caller's in any case. What no hookline would answer,
 * for its length, is refused. */
HL_MUST_CHECK int hl_cli_server_ask(const struct hl_cli_server *server, const struct hl_cli *cli,
    const struct hl_cli_request *request, struct hl_cli_answer *answer);

/* What is to be done about an answer of that status to `target`, if it was for want of a token; NULL: it
 * was not. `server` is NULL if no other machine was asked. */
const char *hl_cli_server_advice(
    const struct hl_cli_server *server, const char *target, unsigned status);

static inline bool hl_cli_is_good(unsigned status)
{
    return status >= 200 && status <= 299;
}

/* ---- paths and queries ---- */

struct hl_cli_target {
    struct hl_buf text;
    bool has_query, has_failed;
};

void hl_cli_target_init(struct hl_cli_target *t);
void hl_cli_target_fini(struct hl_cli_target *t);
/* "/v2/projects/{project}", then `rest` as it stands; with NULL, over all projects: "/v2". */
void hl_cli_target_of(struct hl_cli_target *t, const char *project, const char *rest);
/* A piece of the path as it stands: "/v2/runs/". */
void hl_cli_target_path(struct hl_cli_target *t, const char *piece);
/* What somebody typed, as one segment of the path. */
void hl_cli_target_segment(struct hl_cli_target *t, const char *text);
/* Nothing happens for a NULL value. */
void hl_cli_target_query(struct hl_cli_target *t, const char *name, const char *value);
void hl_cli_target_query_time(struct hl_cli_target *t, const char *name, int64_t wall_ms);
/* The whole, or NULL: out of memory. */
const char *hl_cli_target_text(struct hl_cli_target *t);

#endif
