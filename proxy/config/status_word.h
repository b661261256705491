/* status_word.h - statuses as settings say them: one, or a class. Pure. */
#ifndef HL_CONFIG_STATUS_WORD_H
#define HL_CONFIG_STATUS_WORD_H

#include <stdbool.h>

#include "base/compiler.h"

struct hl_str;

/* "503" is one from `*first` on, "5xx" a hundred. False: it is neither, or not of 100 to 599. */
HL_MUST_CHECK bool hl_status_word_parse(struct hl_str word, unsigned *first, unsigned *n);

#endif
