/* json_load.c - JSON that came from outside, as a tree. Any thread; no state. */
#include "auth/json_load.h"

#include <stdio.h>

#include "http/json_narrow.h"

json_t *hl_json_load(struct hl_str text, size_t flags, json_error_t *error)
{
    struct hl_buf narrow;
    json_t *json = NULL;
    hl_buf_init(&narrow, 0);
    if (hl_json_narrow(text, &narrow) == HL_OK)
        json = json_loadb(narrow.p, narrow.n, flags | JSON_ALLOW_NUL, error);
    else if (error)
        snprintf(error->text, sizeof(error->text), "out of memory");
    hl_buf_fini(&narrow);
    return json;
}
