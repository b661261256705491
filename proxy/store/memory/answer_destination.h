/* answer_destination.h - LIST_DESTINATIONS. The store's thread. */
#ifndef HL_STORE_MEMORY_ANSWER_DESTINATION_H
#define HL_STORE_MEMORY_ANSWER_DESTINATION_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_destination_row;
struct hl_destination_tally;
struct hl_list_destinations;
struct hl_memory;

HL_MUST_CHECK enum hl_err hl_memory_answer_list_destinations(
    const struct hl_memory *m, struct hl_list_destinations *l);
/* One of them, into a row that is zeroed; `tally` is only lent. */
void hl_memory_answer_lane(const struct hl_memory *m, const char *project, int64_t lane,
    struct hl_destination_row *row, struct hl_destination_tally *tally);

#endif
