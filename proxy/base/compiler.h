/* compiler.h - what the language leaves out: attributes, array length, the enclosing struct. */
#ifndef HL_BASE_COMPILER_H
#define HL_BASE_COMPILER_H

#include <stddef.h>

#define HL_MUST_CHECK   __attribute__((warn_unused_result))
#define HL_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define HL_NORETURN     __attribute__((noreturn))

#define HL_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The struct of type `type` whose member `member` is at `ptr`. */
#define HL_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Seldom run: kept out of its caller, whose registers and stack it would need. */
#define HL_COLD __attribute__((cold, noinline))

#endif
