/* fetch.h - one request over HTTP or HTTPS, by libcurl: to another machine's hookline, or to the app
 * through one. Blocks. */
#ifndef HL_CLI_FETCH_H
#define HL_CLI_FETCH_H

#include "base/compiler.h"
#include "base/str.h"

struct hl_cli;

struct hl_cli_fetch {
    /* what is asked; borrowed */
    const char *method, *url;
    const char *token; /* NULL: none */
    const char *content_type;
    struct hl_str body;
    const char *const *fields; /* "Name: value", as many as there are, then NULL; NULL: none */
    bool is_here;              /* on this machine: by no proxy */
    uint64_t limit_ms;         /* for the whole; 0: as long as it takes */
    bool is_long;              /* the limit is for silence, and not for the whole */
    /* Bytes of the answer's body, as they come. False ends it, and says why. */
    bool (*on_bytes)(struct hl_cli_fetch *fetch, struct hl_str bytes);
    /* what came */
    unsigned status;
    bool is_ended;   /* by on_bytes */
    char run_id[64]; /* X-Request-Id; empty: none */
};

/* HL_CLI_OK: there is an answer, whatever its status. Else it has said why there is none. */
HL_MUST_CHECK int hl_cli_fetch(const struct hl_cli *cli, struct hl_cli_fetch *fetch);

#endif
