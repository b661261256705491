/* destination.h - a webhook's destination: what may be shown of its URL, and its summary, built from its attempts one by
 * one. */
#ifndef HL_STORE_DESTINATION_H
#define HL_STORE_DESTINATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "store/record.h"

struct hl_attempt_row;
struct hl_destination_row;
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

/* --- one of its receivers ------------------------------------------------------------------------ */

#define HL_SHOWN_PATH_MAX 240

/* What a list may say of a webhook's URL. `path` is for admins: what looks like a secret in it is cut, and the query is
 * left out. `label` tells two URLs of one destination apart and says nothing of either. */
struct hl_receiver {
    size_t destination_n, path_n; /* 0: the URL cannot be read */
    char destination[HL_DESTINATION_MAX];
    char path[HL_SHOWN_PATH_MAX + 8];
    char label[HL_RECEIVER_LABEL + 1];
};

/* Of the sealed URL of the run `row`. All is empty when it cannot be opened. */
void hl_receiver_unseal(struct hl_sealer *sealer, const char *place, const struct hl_id *row,
    struct hl_str sealed, struct hl_receiver *out);
/* The path of a URL, as above; returns its length. */
size_t hl_receiver_write_path(char out[HL_SHOWN_PATH_MAX + 8], struct hl_str url);

/* --- its summary --------------------------------------------------------------------------------- */

#define HL_TALLY_DURATIONS 4096 /* those of more attempts are left out of the p95 */

struct hl_destination_tally {
    int64_t since_ms; /* what ended before counts for the last attempt and error alone */
    int64_t failed_ms;
    size_t n;
    int64_t durations_us[HL_TALLY_DURATIONS];
};

/* `row`'s figures of attempts are begun. */
void hl_destination_tally_begin(struct hl_destination_tally *t, struct hl_destination_row *row);
/* In any order; one that has not ended is passed over. */
void hl_destination_tally_add(struct hl_destination_tally *t, struct hl_destination_row *row,
    const struct hl_attempt_row *attempt);
void hl_destination_tally_end(struct hl_destination_tally *t, struct hl_destination_row *row);

#endif
