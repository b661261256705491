/* answer.h - questions about what is in memory. The store's thread. */
#ifndef HL_STORE_MEMORY_ANSWER_H
#define HL_STORE_MEMORY_ANSWER_H

#include "base/err.h"

struct hl_driver;
struct hl_store_msg;

enum hl_err hl_memory_answer(struct hl_driver *d, struct hl_store_msg *m);

#endif
