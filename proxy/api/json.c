/* json.c - values of the REST interface's JSON.
 * Thread: any. Not here: which members there are (rest_run.c, rest_delivery.c, rest_account.c). */
#include "api/json.h"

#include <string.h>

#include "auth/json_load.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/utf8.h"

/* Only what came from outside can be other than UTF-8. */
static json_t *repaired(struct hl_str s)
{
    struct hl_buf out;
    uint32_t code;
    hl_buf_init(&out, 0);
    enum hl_err err = HL_OK;
    while (s.n > 0 && err == HL_OK) {
        size_t n = hl_utf8_decode(s.p, s.n, &code);
        err = n > 0 ? hl_buf_append(&out, s.p, n) : hl_buf_append(&out, "\xef\xbf\xbd", 3);
        s.p += n > 0 ? n : 1;
        s.n -= n > 0 ? n : 1;
    }
    json_t *value = err == HL_OK ? json_stringn_nocheck(out.n ? out.p : "", out.n) : NULL;
    hl_buf_fini(&out);
    return value;
}

struct hl_str hl_json_str(const json_t *value)
{
    return (struct hl_str){json_string_value(value), json_string_length(value)};
}

json_t *hl_json_text(struct hl_str s)
{
    return hl_utf8_is_valid(s) ? json_stringn_nocheck(s.n ? s.p : "", s.n) : repaired(s);
}

json_t *hl_json_text_or_null(struct hl_str s)
{
    return s.n > 0 ? hl_json_text(s) : json_null();
}

json_t *hl_json_id(const struct hl_id *id)
{
    char text[HL_ID_TEXT];
    hl_id_format(id, text);
    return json_stringn_nocheck(text, sizeof(text));
}

json_t *hl_json_time(int64_t wall_ms)
{
    char text[HL_CLOCK_TEXT];
    if (wall_ms == 0)
        return json_null();
    hl_clock_format(wall_ms, text);
    return json_string_nocheck(text);
}

json_t *hl_json_steady_time(int64_t steady_ms)
{
    return hl_json_time(steady_ms != 0 ? steady_ms - hl_clock_lead_ms() : 0);
}

json_t *hl_json_count_or_null(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

json_t *hl_json_object(const struct hl_json_member *members, size_t n)
{
    json_t *object = json_object();
    bool is_whole = object != NULL;
    for (size_t i = 0; i < n; i++) {
        if (!object)
            json_decref(members[i].value);
        else if (json_object_set_new_nocheck(object, members[i].name, members[i].value) != 0)
            is_whole = false; /* the value was taken all the same */
    }
    if (is_whole)
        return object;
    json_decref(object);
    return NULL;
}

bool hl_json_push(json_t *array, json_t *value)
{
    return json_array_append_new(array, value) == 0;
}

struct dump {
    struct hl_buf *out;
    enum hl_err err; /* the first: jansson goes on behind a name that could not be written */
};

static int on_bytes(const char *p, size_t n, void *self)
{
    struct dump *dump = self;
    if (!dump->err)
        dump->err = hl_buf_append(dump->out, p, n);
    return dump->err ? -1 : 0;
}

enum hl_err hl_json_write(json_t *value, struct hl_buf *out)
{
    struct dump dump = {.out = out};
    int rc =
        value ? json_dump_callback(value, on_bytes, &dump, JSON_COMPACT | JSON_REAL_PRECISION(12))
              : -1;
    json_decref(value);
    return rc == 0 && !dump.err ? hl_buf_append(out, "\n", 1) : HL_ERR_NOMEM;
}

enum hl_refusal_cause hl_json_no_object(void)
{
    return hl_json_lacked_memory() ? HL_REFUSAL_NO_MEMORY : HL_REFUSAL_BODY_NO_OBJECT;
}

json_t *hl_json_read_object(struct hl_str text)
{
    json_t *value = hl_json_load(text, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}
