/* discovery.h - where an issuer says that its keys are (OpenID Connect Discovery 1.0 4, RFC 8414 3 and 5). */
#ifndef HL_AUTH_DISCOVERY_H
#define HL_AUTH_DISCOVERY_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct hl_key_fetcher;

#define HL_DISCOVERY_PLACES  4
#define HL_DISCOVERY_URL_MAX 2176

/* Where the document may stand, in the order in which it is looked for there; how many. An issuer with a
 * path has two forms of each: behind the path, and between it and the host. `issuer` is a URL without a
 * query. */
size_t hl_discovery_places(
    struct hl_str issuer, char places[HL_DISCOVERY_PLACES][HL_DISCOVERY_URL_MAX]);

/* Reads a document that was found. NULL: `uri` is where the keys are; else why it is none, static text. */
const char *hl_discovery_read(
    struct hl_str document, struct hl_str issuer, char uri[HL_DISCOVERY_URL_MAX]);

/* Asks the issuer. NULL: `uri` is where the keys are; else why not, static text. Blocks as hl_key_fetch
 * does. */
const char *hl_discover(struct hl_key_fetcher *f, struct hl_str issuer, uint64_t until_ms,
    char uri[HL_DISCOVERY_URL_MAX]);

#endif
