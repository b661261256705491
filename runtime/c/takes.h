/* takes.h - what a function takes, for others to read: the JSON Schema of its parameters. */
#ifndef HL_C_TAKES_H
#define HL_C_TAKES_H

struct hl_fn_parameter;

/* JSON text, owned by the caller (free). NULL: out of memory, or a name is no UTF-8. `parameters` is not
 * NULL. */
char *hl_takes_write(const struct hl_fn_parameter *parameters);

#endif
