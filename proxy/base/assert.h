/* assert.h - checks of our own invariants. They stay on in release builds: input and peers can
 * never make one fail, so a failure is a bug whose damage must not spread. */
#ifndef HL_BASE_ASSERT_H
#define HL_BASE_ASSERT_H

#include "base/compiler.h"

#define HL_ASSERT(cond) ((cond) ? (void)0 : hl_assert_failed(#cond, __FILE__, __LINE__))

/* Writes the claim and the place to stderr and aborts. */
HL_NORETURN void hl_assert_failed(const char *claim, const char *file, int line);

#endif
