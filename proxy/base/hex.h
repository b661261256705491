/* hex.h - bytes as lower-case hex digits. */
#ifndef HL_BASE_HEX_H
#define HL_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes 2 * n characters, no NUL; `out` is not where `bytes` are. */
void hl_hex_write(char *restrict out, const uint8_t *restrict bytes, size_t n);

#endif
