/* postgres_url.h - what HOOKLINE_POSTGRES_URL says of the way to the server, in both of libpq's forms:
 * the URI and the keywords (PostgreSQL's manual, "Connection Strings"). libpq reads it, and connects;
 * this is for what is said before. No state; blocks nowhere. */
#ifndef HL_CONFIG_POSTGRES_URL_H
#define HL_CONFIG_POSTGRES_URL_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#define HL_POSTGRES_URL_MAX 4096 /* bytes */

/* Names and addresses are of hosts or paths of sockets, and may be shown: nothing that cannot be
 * one is taken for one, such as what is left of a password with an "@" in it. */
struct hl_postgres_host {
    struct hl_str name;    /* empty: libpq's own socket, unless there is an address */
    struct hl_str address; /* hostaddr: connected to in the name's place; empty: none */
};

struct hl_postgres_url {
    struct hl_postgres_host *hosts; /* owned; at least one, tried in this order */
    size_t host_count;
    struct hl_str sslmode;     /* empty: not said, which is "prefer" */
    bool has_password;         /* in the text itself */
    bool has_service;          /* an entry of a service file may say hosts and sslmode too */
    PQconninfoOption *options; /* owned: libpq's, with the texts */
};

/* Has libpq read the text. Where it is silent, `look_up` (getenv) is asked for libpq's variables
 * PGHOST, PGHOSTADDR, PGSSLMODE and PGSERVICE, and what it returns is borrowed; NULL: nobody is
 * asked. HL_ERR_INVALID: libpq cannot read it, or something in a host's or port's place is none.
 * HL_ERR_NOMEM. In both cases there is nothing to fini. */
HL_MUST_CHECK enum hl_err hl_postgres_url_parse(
    struct hl_postgres_url *url, struct hl_str text, char *(*look_up)(const char *name));
/* Wipes the text. */
void hl_postgres_url_fini(struct hl_postgres_url *url);

/* Whether that host is neither a socket nor this machine and its certificate is not verified: then
 * whoever is on the way may read and change all. False where a service file may say otherwise. */
bool hl_postgres_url_is_exposed(
    const struct hl_postgres_url *url, const struct hl_postgres_host *host);

/* The setting's rule. */
bool hl_postgres_url_is_valid(struct hl_str text);

#endif
