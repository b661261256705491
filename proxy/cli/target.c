/* target.c - the path and query of what a command asks for. */
#include "cli/target.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>

void hl_cli_target_init(struct hl_cli_target *t)
{
    *t = (struct hl_cli_target){.has_failed = false};
}

void hl_cli_target_fini(struct hl_cli_target *t)
{
    hl_buf_fini(&t->text);
}

static void append(struct hl_cli_target *t, struct hl_str s)
{
    if (hl_buf_append_str(&t->text, s) != HL_OK)
        t->has_failed = true;
}

void hl_cli_target_path(struct hl_cli_target *t, const char *piece)
{
    append(t, hl_str_from(piece));
}

/* All but RFC 3986's unreserved characters is escaped. */
static void append_encoded(struct hl_cli_target *t, const char *text)
{
    char *escaped = curl_easy_escape(NULL, text, 0);
    if (escaped)
        append(t, hl_str_from(escaped));
    else
        t->has_failed = true;
    curl_free(escaped);
}

void hl_cli_target_segment(struct hl_cli_target *t, const char *text)
{
    append_encoded(t, text);
}

void hl_cli_target_of(struct hl_cli_target *t, const char *project, const char *rest)
{
    hl_cli_target_path(t, project ? "/v2/projects/" : "/v2");
    if (project)
        hl_cli_target_segment(t, project);
    hl_cli_target_path(t, rest);
}

void hl_cli_target_query(struct hl_cli_target *t, const char *name, const char *value)
{
    if (!value)
        return;
    append(t, t->has_query ? HL_STR("&") : HL_STR("?"));
    t->has_query = true;
    append(t, hl_str_from(name));
    append(t, HL_STR("="));
    append_encoded(t, value);
}

void hl_cli_target_query_time(struct hl_cli_target *t, const char *name, int64_t wall_ms)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, wall_ms);
    hl_cli_target_query(t, name, text);
}

const char *hl_cli_target_text(struct hl_cli_target *t)
{
    append(t, (struct hl_str){"", 1});
    return t->has_failed ? NULL : t->text.p;
}
