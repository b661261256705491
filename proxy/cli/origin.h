/* origin.h - where a URL leads, as the one who sends requests there reads it. */
#ifndef HL_CLI_ORIGIN_H
#define HL_CLI_ORIGIN_H

#include <stdbool.h>

struct hl_cli_origin {
    bool is_plain;    /* http: what goes there can be read on its way */
    bool is_loopback; /* this machine itself: 127.0.0.0/8, ::1, localhost */
    bool has_user;    /* a name or password */
    bool has_query;   /* or a fragment: it is no address to which a path can be added */
};

/* False: it is no http or https URL. */
bool hl_cli_origin_read(const char *url, struct hl_cli_origin *out);

#endif
