/* own_store.h - the store that a command opens itself, with the REST interface on it: where no sidecar runs. */
#ifndef HL_CLI_OWN_STORE_H
#define HL_CLI_OWN_STORE_H

#include <stdbool.h>
#include <uv.h>

#include "base/compiler.h"

struct hl_auth;
struct hl_cli;
struct hl_cli_answer;
struct hl_cli_request;
struct hl_config;
struct hl_rest;
struct hl_store;

struct hl_cli_own_store {
    const struct hl_cli *cli;
    struct hl_store *store;
    struct hl_auth *auth;
    bool has_loop;
    uv_loop_t loop;
    struct hl_rest *rest;
};

/* Root becomes who owns the data directory. HL_CLI_OK, or it has said why not. */
HL_MUST_CHECK int hl_cli_become_owner(const struct hl_cli *cli, const struct hl_config *config);
/* Changes of `config` what is a sidecar's to decide. `adds`: a store is made where there is none. HL_CLI_OK, or it has
 * said why not; hl_cli_own_store_close is called in any case. */
HL_MUST_CHECK int hl_cli_own_store_open(
    struct hl_cli_own_store *own, const struct hl_cli *cli, struct hl_config *config, bool adds);
/* As hl_cli_server_ask. */
HL_MUST_CHECK int hl_cli_own_store_ask(struct hl_cli_own_store *own,
    const struct hl_cli_request *request, struct hl_cli_answer *answer);
void hl_cli_own_store_close(struct hl_cli_own_store *own);

#endif
