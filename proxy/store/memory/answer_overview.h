/* answer_overview.h - OVERVIEW. The store's thread. */
#ifndef HL_STORE_MEMORY_ANSWER_OVERVIEW_H
#define HL_STORE_MEMORY_ANSWER_OVERVIEW_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_memory;
struct hl_overview;

HL_MUST_CHECK enum hl_err hl_memory_answer_overview(
    const struct hl_memory *m, struct hl_overview *o);

#endif
