/* input.h - a call's JSON as values that a function reads (hookline/function.h, "reading"), and
 * whether they are what the function says it takes. */
#ifndef HL_C_INPUT_H
#define HL_C_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hookline/function.h"

struct hl_fn_value;
struct hl_json_writer;
struct hl_str;

/* The values of a body; empty: an object without members. NULL: `detail` says why it cannot be
 * read; "": there is no memory. Owned. */
struct hl_fn_value *hl_input_read(struct hl_str body, char *detail, size_t detail_len);
void hl_input_free(struct hl_fn_value *input); /* NULL-safe */

/* False: `detail` names the parameters that are missing, surplus or of another type, all that it has room for. */
bool hl_input_check(const struct hl_fn_value *input, const struct hl_fn_function *function,
    char *detail, size_t detail_len);

/* As the members of struct hl_fn_host say. */
enum hl_fn_type hl_input_type(const struct hl_fn_value *value);
size_t hl_input_count(const struct hl_fn_value *value);
const struct hl_fn_value *hl_input_member(const struct hl_fn_value *object, const char *name);
const struct hl_fn_value *hl_input_next(const struct hl_fn_value *object, const char **name);
const struct hl_fn_value *hl_input_element(const struct hl_fn_value *array, size_t i);
const char *hl_input_text(const struct hl_fn_value *string, size_t *length);
int64_t hl_input_integer(const struct hl_fn_value *value);
double hl_input_real(const struct hl_fn_value *value);
bool hl_input_boolean(const struct hl_fn_value *value);

/* Writes the value once more; NULL is null. */
void hl_input_write(const struct hl_fn_value *value, struct hl_json_writer *w);

#endif
