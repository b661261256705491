/* noted_alloc.h - memory for a library that goes on without what it had none for: jansson reads a string
 * without the byte that did not fit. Each thread notes for itself that there was none. */
#ifndef HL_BASE_NOTED_ALLOC_H
#define HL_BASE_NOTED_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* malloc; what it cannot give is noted. */
void *hl_noted_malloc(size_t n);
/* Since the last time that this was asked on this thread. */
bool hl_noted_failure(void);

#endif
