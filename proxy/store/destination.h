/* destination.h - what may be shown of a webhook's URL. */
#ifndef HL_STORE_DESTINATION_H
#define HL_STORE_DESTINATION_H

#include "base/str.h"

struct hl_id;
struct hl_sealer;

#define HL_DESTINATION_MAX 2300

/* Writes scheme://host, and :port unless it is the scheme's own, to out[HL_DESTINATION_MAX]; returns
 * its length: 0 when the URL cannot be read. Credentials, path and query may hold secrets: they are
 * left out. */
size_t hl_destination_write(char *out, struct hl_str url);
/* The same of the sealed URL of the run `row`. Empty also when it cannot be opened. */
struct hl_str hl_destination_unseal(struct hl_sealer *sealer, const char *place,
    const struct hl_id *row, struct hl_str sealed, char *out);

#endif
