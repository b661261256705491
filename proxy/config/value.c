/* value.c - the texts of settings as values: switches, durations, sizes. Pure. */
#include "config/value.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"

#define LARGEST_QUOTED 200 /* bytes */

/* Largest first; the last one is the unit that is counted in. */
struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit duration_units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const struct unit size_units[] = {{"TiB", UINT64_C(1) << 40}, {"GiB", UINT64_C(1) << 30},
    {"MiB", UINT64_C(1) << 20}, {"KiB", UINT64_C(1) << 10}, {"", 1}};

bool hl_value_parse_switch(struct hl_str text, bool *out)
{
    static const struct {
        struct hl_str word;
        bool value;
    } words[] = {{{"on", 2}, true}, {{"off", 3}, false}, {{"true", 4}, true}, {{"false", 5}, false},
        {{"1", 1}, true}, {{"0", 1}, false}};
    for (size_t i = 0; i < HL_ARRAY_LEN(words); i++) {
        if (hl_str_eq_nocase(text, words[i].word)) {
            *out = words[i].value;
            return true;
        }
    }
    return false;
}

static bool parse_with_unit(struct hl_str text, const struct unit *units, size_t n, uint64_t *out)
{
    size_t digits = 0;
    uint64_t number;
    while (digits < text.n && text.p[digits] >= '0' && text.p[digits] <= '9')
        digits++;
    if (!hl_str_to_u64((struct hl_str){text.p, digits}, &number))
        return false;
    struct hl_str name = {text.p + digits, text.n - digits};
    for (size_t i = 0; i < n; i++) {
        if (!hl_str_eq(name, hl_str_from(units[i].name)))
            continue;
        if (number > UINT64_MAX / units[i].factor)
            return false;
        *out = number * units[i].factor;
        return true;
    }
    return false;
}

bool hl_value_parse_duration(struct hl_str text, uint64_t *ms)
{
    if (hl_str_eq(text, HL_STR("0"))) {
        *ms = 0;
        return true;
    }
    return parse_with_unit(text, duration_units, HL_ARRAY_LEN(duration_units), ms);
}

bool hl_value_parse_size(struct hl_str text, uint64_t *bytes)
{
    return parse_with_unit(text, size_units, HL_ARRAY_LEN(size_units), bytes);
}

bool hl_value_parse_percent(struct hl_str text, uint32_t *percent)
{
    uint64_t number;
    if (text.n < 2 || text.p[text.n - 1] != '%' ||
        !hl_str_to_u64((struct hl_str){text.p, text.n - 1}, &number))
        return false;
    if (number < 1 || number > 100)
        return false;
    *percent = (uint32_t)number;
    return true;
}

static void format_with_unit(
    uint64_t value, const struct unit *units, size_t n, char out[HL_VALUE_TEXT])
{
    size_t i = 0;
    while (i + 1 < n && value % units[i].factor != 0)
        i++;
    snprintf(out, HL_VALUE_TEXT, "%" PRIu64 "%s", value / units[i].factor, units[i].name);
}

void hl_value_format_duration(uint64_t ms, char out[HL_VALUE_TEXT])
{
    if (ms == 0)
        snprintf(out, HL_VALUE_TEXT, "0");
    else
        format_with_unit(ms, duration_units, HL_ARRAY_LEN(duration_units), out);
}

void hl_value_format_size(uint64_t bytes, char out[HL_VALUE_TEXT])
{
    if (bytes == 0)
        snprintf(out, HL_VALUE_TEXT, "0");
    else
        format_with_unit(bytes, size_units, HL_ARRAY_LEN(size_units), out);
}

enum hl_err hl_value_append_readable(struct hl_buf *out, struct hl_str text)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < text.n && !err; i++) {
        unsigned char c = (unsigned char)text.p[i];
        err = hl_buf_printf(out, c < ' ' || c > '~' ? "\\x%02x" : "%c", c);
    }
    return err;
}

enum hl_err hl_value_append_quoted(struct hl_buf *out, struct hl_str text)
{
    bool is_cut = text.n > LARGEST_QUOTED;
    enum hl_err err = hl_buf_printf(out, "\"");
    if (is_cut)
        text.n = LARGEST_QUOTED;
    if (!err)
        err = hl_value_append_readable(out, text);
    return err ? err : hl_buf_printf(out, is_cut ? "…\"" : "\"");
}

enum hl_err hl_value_append_quoted_url(struct hl_buf *out, struct hl_str text)
{
    const char *slashes = text.n > 0 ? memmem(text.p, text.n, "//", 2) : NULL;
    const char *at = text.n > 0 ? memrchr(text.p, '@', text.n) : NULL;
    if (!slashes || !at || at < slashes)
        return hl_value_append_quoted(out, text);
    struct hl_buf shown;
    hl_buf_init(&shown, 0);
    enum hl_err err = hl_buf_printf(&shown, "%.*s****%.*s", (int)(slashes + 2 - text.p), text.p,
        (int)(text.p + text.n - at), at);
    if (!err)
        err = hl_value_append_quoted(out, hl_buf_str(&shown));
    hl_buf_fini(&shown);
    return err;
}

bool hl_value_next_word(struct hl_str *rest, bool *has_more, struct hl_str *word)
{
    const char *comma = rest->n > 0 ? memchr(rest->p, ',', rest->n) : NULL;
    *word = (struct hl_str){rest->p, comma ? (size_t)(comma - rest->p) : rest->n};
    *has_more = comma != NULL;
    size_t used = word->n + (comma ? 1 : 0);
    *rest = (struct hl_str){rest->p + used, rest->n - used};
    *word = hl_str_trim(*word);
    return word->n > 0;
}
