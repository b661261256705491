/* table.c - rows for people. */
#include "cli/table.h"

#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/screen.h"

#define GAP      2
#define ID_SHORT 18 /* "01a201a0-7ddc-7120": a millisecond and a count within it */
#define HIDDEN   SIZE_MAX

#define TEXT_MIN    16
#define ERROR_MIN   12
#define ADDRESS_MIN 21 /* "255.255.255.255:65535" */

void hl_cli_table_init(struct hl_cli_table *t, const char *const *titles, size_t columns)
{
    *t = (struct hl_cli_table){.columns = columns};
    for (size_t i = 0; i < columns; i++)
        hl_cli_table_add(t, titles[i]);
}

void hl_cli_table_init_for(
    struct hl_cli_table *t, FILE *out, const struct hl_cli_column *columns, size_t n)
{
    *t = (struct hl_cli_table){.columns = n};
    for (size_t i = 0; i < n; i++)
        hl_cli_table_add(t, columns[i].title);
    t->kinds = columns;
    t->now_ms = hl_clock_wall_ms();
    t->screen = hl_cli_screen_of(out);
}

void hl_cli_table_fini(struct hl_cli_table *t)
{
    hl_buf_fini(&t->text);
}

/* On a terminal a time is said as people say it. */
static const char *cell_text(
    const struct hl_cli_table *t, size_t column, const char *text, char ago[HL_CLI_AGO])
{
    int64_t ms;
    if (!text || !*text)
        return "-";
    bool is_time = t->kinds && t->screen.is_terminal && t->kinds[column].kind == HL_CLI_TIME;
    return is_time && hl_clock_parse(hl_str_from(text), &ms) ? hl_cli_ago(ms, t->now_ms, ago)
                                                             : text;
}

void hl_cli_table_add(struct hl_cli_table *t, const char *text)
{
    char ago[HL_CLI_AGO];
    size_t at = t->text.n, column = t->cells % t->columns;
    enum hl_err err = hl_cli_readable(&t->text, cell_text(t, column, text, ago));
    if (err == HL_OK)
        err = hl_buf_append(&t->text, "", 1);
    if (err != HL_OK || t->has_failed) {
        t->has_failed = true;
        return;
    }
    size_t width = hl_utf8_count(hl_str_from(t->text.p + at));
    if (width > t->width[column])
        t->width[column] = width;
    if (t->cells >= t->columns && text && *text && strcmp(text, "-") != 0)
        t->is_used[column] = true;
    t->cells++;
}

/* ---- what fits ---- */

static size_t whole_width(const struct hl_cli_table *t)
{
    size_t sum = 0;
    for (size_t i = 0; i < t->columns; i++)
        if (t->width[i] != HIDDEN)
            sum += t->width[i] + (sum > 0 ? GAP : 0);
    return sum;
}

static bool is_cut_to_fit(enum hl_cli_column_kind kind)
{
    return kind == HL_CLI_TEXT || kind == HL_CLI_ERROR || kind == HL_CLI_ADDRESS;
}

static void narrow(struct hl_cli_table *t, enum hl_cli_column_kind kind, size_t least)
{
    for (size_t i = 0; i < t->columns; i++) {
        size_t whole = whole_width(t);
        if (t->kinds[i].kind != kind || t->width[i] == HIDDEN || t->width[i] <= least ||
            whole <= t->screen.width)
            continue;
        size_t over = whole - t->screen.width, room = t->width[i] - least;
        t->width[i] -= !is_cut_to_fit(kind) || over > room ? room : over;
    }
}

/* False: what is left is always shown. */
static bool hide_one(struct hl_cli_table *t)
{
    size_t found = 0;
    unsigned rank = 0;
    for (size_t i = 0; i < t->columns; i++)
        if (t->width[i] != HIDDEN && t->kinds[i].rank > rank) {
            rank = t->kinds[i].rank;
            found = i;
        }
    if (rank > 0)
        t->width[found] = HIDDEN;
    return rank > 0;
}

/* What was cut gets back what hiding has freed. */
static void widen(struct hl_cli_table *t, enum hl_cli_column_kind kind, const size_t *wanted)
{
    for (size_t i = 0; i < t->columns; i++) {
        size_t whole = whole_width(t);
        if (t->kinds[i].kind != kind || t->width[i] == HIDDEN || whole >= t->screen.width)
            continue;
        size_t room = t->screen.width - whole, lacks = wanted[i] - t->width[i];
        t->width[i] += lacks < room ? lacks : room;
    }
}

static void fit(struct hl_cli_table *t)
{
    size_t wanted[HL_CLI_COLUMNS_MAX];
    if (!t->kinds || t->screen.width == 0)
        return;
    for (size_t i = 0; i < t->columns && whole_width(t) > t->screen.width; i++)
        if (!t->is_used[i] && t->kinds[i].rank > 0)
            t->width[i] = HIDDEN;
    memcpy(wanted, t->width, sizeof(wanted));
    narrow(t, HL_CLI_RUN_ID, HL_CLI_TAIL);
    narrow(t, HL_CLI_ID, ID_SHORT);
    narrow(t, HL_CLI_ERROR, ERROR_MIN);
    narrow(t, HL_CLI_TEXT, TEXT_MIN);
    narrow(t, HL_CLI_ADDRESS, ADDRESS_MIN);
    while (whole_width(t) > t->screen.width && hide_one(t))
        ;
    widen(t, HL_CLI_ADDRESS, wanted);
    widen(t, HL_CLI_TEXT, wanted);
    widen(t, HL_CLI_ERROR, wanted);
}

/* ---- printing ---- */

/* How many bytes the first `n` characters have. */
static size_t bytes_of(const char *text, size_t n)
{
    size_t at = 0;
    while (text[at]) {
        if (((unsigned char)text[at] & 0xc0) != 0x80 && n-- == 0)
            break;
        at++;
    }
    return at;
}

/* An address that is wider than `width`: "10.0.0.5:8080", or "receiver.e…m:8443/orders". How many
 * characters were printed. */
static size_t print_address(const char *cell, size_t width, FILE *out)
{
    const char *scheme = strstr(cell, "://"), *rest = scheme ? scheme + strlen("://") : cell;
    size_t has = hl_utf8_count(hl_str_from(rest)), end = width / 2;
    if (has <= width) {
        fputs(rest, out);
        return has;
    }
    fprintf(out, "%.*s…%s", (int)bytes_of(rest, width - 1 - end), rest,
        rest + bytes_of(rest, has - end));
    return width;
}

/* How many characters were printed. */
static size_t print_cell(const struct hl_cli_table *t, size_t i, const char *cell, FILE *out)
{
    size_t column = i % t->columns, width = t->width[column],
           has = hl_utf8_count(hl_str_from(cell));
    bool is_title = i < t->columns;
    enum hl_cli_column_kind kind = t->kinds ? t->kinds[column].kind : HL_CLI_PLAIN;
    const char *color =
        is_title ? hl_cli_color_faint(&t->screen) : hl_cli_color_of(&t->screen, cell);
    bool is_cut = has > width, is_id = kind == HL_CLI_ID || kind == HL_CLI_RUN_ID;
    size_t shown = !is_cut ? has : is_id ? width : width - 1;
    if (is_cut && kind == HL_CLI_ADDRESS)
        return print_address(cell, width, out);
    if (is_cut && kind == HL_CLI_RUN_ID)
        cell += bytes_of(cell, has - width);
    fprintf(out, "%s%.*s%s%s", color, (int)bytes_of(cell, shown), cell, is_cut && !is_id ? "…" : "",
        *color ? hl_cli_color_end(&t->screen) : "");
    return is_cut ? width : has;
}

static size_t last_shown(const struct hl_cli_table *t)
{
    size_t last = 0;
    for (size_t i = 0; i < t->columns; i++)
        if (t->width[i] != HIDDEN)
            last = i;
    return last;
}

void hl_cli_table_print(struct hl_cli_table *t, FILE *out)
{
    const char *cell = t->text.p;
    fit(t);
    size_t last = last_shown(t);
    for (size_t i = 0; i < t->cells - t->cells % t->columns; i++) {
        size_t column = i % t->columns;
        if (t->width[column] != HIDDEN) {
            size_t n = print_cell(t, i, cell, out);
            fprintf(out, "%*s%s", column == last ? 0 : (int)(t->width[column] - n + GAP), "",
                column == last ? "\n" : "");
        }
        cell += strlen(cell) + 1;
    }
    if (t->has_failed)
        fputs("… out of memory: more rows are not shown\n", out);
}

const char *hl_cli_member(const json_t *object, const char *name, char *into, size_t cap)
{
    const json_t *value = json_object_get(object, name);
    snprintf(into, cap, "-");
    if (json_is_string(value))
        snprintf(into, cap, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(into, cap, "%lld", (long long)json_integer_value(value));
    else if (json_is_boolean(value))
        snprintf(into, cap, "%s", json_is_true(value) ? "yes" : "no");
    return into;
}
