/* json_load.c - JSON that came from outside, as a tree. Any thread; no state. */
#include "auth/json_load.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "http/json_text.h"

static _Thread_local bool lacked_memory;

bool hl_json_lacked_memory(void)
{
    return lacked_memory;
}

/* Of what there was no memory for, jansson reads the rest. */
static void set_memory(void)
{
    json_set_alloc_funcs(hl_noted_malloc, free);
}

json_t *hl_json_load(struct hl_str text, size_t flags, json_error_t *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct hl_buf narrow;
    json_t *json = NULL;
    pthread_once(&once, set_memory);
    (void)hl_noted_failure();
    hl_buf_init(&narrow, 0);
    bool has_room = hl_json_narrow(text, &narrow) == HL_OK;
    if (has_room)
        json = json_loadb(narrow.p, narrow.n, flags | JSON_ALLOW_NUL, error);
    lacked_memory = hl_noted_failure() || !has_room;
    if (lacked_memory) {
        json_decref(json);
        json = NULL;
        if (error)
            snprintf(error->text, sizeof(error->text), "out of memory");
    }
    hl_buf_fini(&narrow);
    return json;
}
