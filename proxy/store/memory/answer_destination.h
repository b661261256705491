/* answer_destination.h - LIST_DESTINATIONS. The store's thread. */
#ifndef HL_STORE_MEMORY_ANSWER_DESTINATION_H
#define HL_STORE_MEMORY_ANSWER_DESTINATION_H

#include "store/memory/memory.h"
#include "store/question.h"

HL_MUST_CHECK enum hl_err hl_memory_answer_list_destinations(
    const struct hl_memory *m, struct hl_list_destinations *l);

#endif
