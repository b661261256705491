/* fetch.h - one request over HTTP or HTTPS, by libcurl: to a hookline, or to the app through one; and where a URL
 * leads, as libcurl reads it. Blocks. */
#ifndef HL_CLI_FETCH_H
#define HL_CLI_FETCH_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

struct hl_cli;

struct hl_cli_origin {
    bool is_plain;    /* http: what goes there can be read in transit */
    bool is_loopback; /* this machine itself: 127.0.0.0/8, ::1, localhost */
    bool has_user;    /* a name or password */
    bool has_query;   /* or a fragment: it is no address to which a path can be added */
};

/* False: it is no http or https URL. */
bool hl_cli_origin_read(const char *url, struct hl_cli_origin *out);

struct hl_cli_fetch {
    /* what is asked; borrowed */
    const char *method; /* NULL: it only connects */
    const char *url;
    const char
        *socket_path;  /* of a Unix socket that is connected to in the URL's place; NULL: none */
    const char *token; /* NULL: none */
    const char *content_type;
    struct hl_str body;
    const char *const *fields; /* "Name: value", as many as there are, then NULL; NULL: none */
    bool is_here;              /* on this machine: by no proxy */
    bool is_believed;          /* whoever answers: its certificate is not looked at */
    uint64_t limit_ms;         /* for the whole; 0: as long as it takes */
    bool is_long;              /* the limit is for silence, and not for the whole */
    /* Bytes of the answer's body, as they come. False ends it. */
    bool (*on_bytes)(struct hl_cli_fetch *fetch, struct hl_str bytes);
    /* what came */
    unsigned status;
    bool is_ended;   /* by on_bytes */
    char run_id[64]; /* X-Request-Id; empty: none */
    /* why nothing came */
    bool is_late;
    int error;     /* errno of the connection; 0: it was something else */
    char why[256]; /* in libcurl's words */
};

/* HL_CLI_OK: there is an answer, whatever its status. Else it, or on_bytes, has said why there is none. */
HL_MUST_CHECK int hl_cli_fetch_run(const struct hl_cli *cli, struct hl_cli_fetch *fetch);
/* The same, and it says nothing. False: there is no answer, or on_bytes has ended it. */
HL_MUST_CHECK bool hl_cli_fetch_try(struct hl_cli_fetch *fetch);
/* Why there is none, in few words: nothing that names the URL. */
const char *hl_cli_fetch_error(const struct hl_cli_fetch *fetch);

#endif
