/* nearest.h - which setting a misspelled name may have meant. */
#ifndef HL_CONFIG_NEAREST_H
#define HL_CONFIG_NEAREST_H

struct hl_str;

/* The option whose name differs from `name` in the fewest letters, where words of it that others use stand for
 * ours (RETRIES: ATTEMPTS). Never NULL. */
const struct hl_option *hl_nearest_option(struct hl_str name);

#endif
