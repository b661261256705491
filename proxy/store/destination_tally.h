/* destination_tally.h - the summary of a destination, built from its attempts one by one. */
#ifndef HL_STORE_DESTINATION_TALLY_H
#define HL_STORE_DESTINATION_TALLY_H

#include <stddef.h>
#include <stdint.h>

struct hl_attempt_row;
struct hl_destination_row;

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
