/* answer_destination.h - LIST_DESTINATIONS. The reader's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_ANSWER_DESTINATION_H
#define HL_STORE_SQLITE_ANSWER_DESTINATION_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_destination_row;
struct hl_destination_tally;
struct hl_list_destinations;
struct hl_reading;

HL_MUST_CHECK enum hl_err hl_sqlite_answer_list_destinations(
    struct hl_reading *r, struct hl_list_destinations *l);
/* One of them, into a row that is zeroed; `tally` is only lent. */
HL_MUST_CHECK enum hl_err hl_sqlite_answer_lane(struct hl_reading *r, const char *project,
    int64_t lane, struct hl_destination_tally *tally, struct hl_destination_row *row);

#endif
