#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/asset.h"
#include "api/endpoint.h"
#include "http/refusal.h"

static struct hl_api_response response;

static bool ask(enum hl_method method, const char *path, const char *if_none_match)
{
    struct hl_api_request request = {
        .method = method, .path = hl_str_from(path), .if_none_match = hl_str_from(if_none_match)};
    hl_buf_fini(&response.body);
    memset(&response, 0, sizeof(response));
    return hl_asset_answer(&request, &response);
}

static void free_body(void)
{
    hl_buf_fini(&response.body);
}

TestSuite(asset, .fini = free_body);

static const struct hl_asset *find(const char *path)
{
    for (size_t i = 0; i < hl_asset_count; i++) {
        if (strcmp(hl_assets[i].path, path) == 0)
            return &hl_assets[i];
    }
    return NULL;
}

/* The page as a string. */
static char *page(void)
{
    cr_assert(ask(HL_METHOD_GET, "/", ""));
    cr_assert_eq(hl_buf_append(&response.body, "", 1), HL_OK);
    return response.body.p;
}

Test(asset, serves_the_page_at_the_root)
{
    cr_assert(strstr(page(), "<title>hookline</title>"));
    cr_assert_eq(response.status, 200);
    cr_assert(hl_str_eq(response.content_type, HL_STR("text/html; charset=utf-8")));
    cr_assert_str_eq(response.cache_control, "no-cache");
}

Test(asset, serves_a_file_compressed_to_who_takes_that)
{
    for (size_t i = 0; i < hl_asset_count; i++) {
        struct hl_api_request request = {
            .method = HL_METHOD_GET, .path = hl_str_from(hl_assets[i].path), .accepts_gzip = true};
        free_body();
        memset(&response, 0, sizeof(response));
        cr_assert(hl_asset_answer(&request, &response));
        cr_assert(strstr(response.fields, "\r\nContent-Encoding: gzip\r\n"));
        cr_assert_gt(response.body.n, 18);
        cr_assert_eq(memcmp(response.body.p, "\x1f\x8b", 2), 0);
        cr_assert(ask(HL_METHOD_GET, hl_assets[i].path, ""));
        cr_assert_null(strstr(response.fields, "Content-Encoding"));
        cr_assert(strstr(response.fields, "Vary: Accept-Encoding\r\n"), "for caches either way");
        cr_assert_eq(response.body.n, hl_assets[i].n);
    }
}

Test(asset, serves_what_the_page_names_for_good)
{
    int count = 0;
    char *at = page(), path[128];
    cr_assert_null(strchr(at, '@'), "a place that was not filled in");
    for (; (at = strstr(at, "=\"dashboard/")); count++) {
        size_t n = strcspn(at += 2, "\"");
        snprintf(path, sizeof(path), "/%.*s", (int)n, at);
        const struct hl_asset *asset = find(path);
        cr_assert_not_null(asset, "%s", path);
        cr_assert(asset->is_immutable);
    }
    cr_assert_eq(count, 4);
    cr_assert(ask(HL_METHOD_GET, path, ""));
    cr_assert_str_eq(response.cache_control, "max-age=31536000, immutable");
}

Test(asset, names_its_neighbours_by_plain_names)
{
    for (size_t i = 0; i < hl_asset_count; i++) {
        char *text = strndup((const char *)hl_assets[i].bytes, hl_assets[i].n), *at = text;
        const char *name = strrchr(hl_assets[i].path, '/') + 1;
        while (strstr(name, ".js") && (at = strstr(at, "'./"))) {
            char path[128];
            size_t n = strcspn(at += 3, "'");
            snprintf(path, sizeof(path), "%.*s%.*s", (int)(name - hl_assets[i].path),
                hl_assets[i].path, (int)n, at);
            cr_assert_not_null(find(path), "%s imports %s", hl_assets[i].path, path);
        }
        free(text);
    }
}

Test(asset, lets_the_browser_run_nothing_else)
{
    page();
    cr_assert(strstr(response.fields, "Content-Security-Policy: default-src 'self'; "));
    cr_assert_null(strstr(response.fields, "unsafe"));
    cr_assert(strstr(response.fields, "frame-ancestors 'none'"));
    cr_assert(strstr(response.fields, "base-uri 'none'; form-action 'none'"));
    cr_assert(strstr(response.fields, "X-Content-Type-Options: nosniff\r\n"));
    cr_assert(strstr(response.fields, "Referrer-Policy: no-referrer\r\n"));
    cr_assert_str_eq(response.fields + strlen(response.fields) - 2, "\r\n", "cut off");
    cr_assert_null(strstr(response.body.p, "<style"));
    cr_assert_null(strstr(response.body.p, "<script>"));
}

Test(asset, is_not_sent_to_those_who_have_it)
{
    const char *etag = find("/")->etag;
    char list[128];
    page();
    cr_assert(strstr(response.fields, etag));
    snprintf(list, sizeof(list), "\"old\", W/%s", etag);
    cr_assert(ask(HL_METHOD_GET, "/", list));
    cr_assert_eq(response.status, 304);
    cr_assert_eq(response.body.n, 0);
    cr_assert(strstr(response.fields, etag));
    cr_assert(ask(HL_METHOD_GET, "/", "\"old\""));
    cr_assert_eq(response.status, 200);
}

Test(asset, can_only_be_read)
{
    cr_assert(ask(HL_METHOD_POST, "/", ""));
    cr_assert_eq(response.refusal->status, 405);
    cr_assert_str_eq(response.refusal->fields, "Allow: GET, HEAD\r\n");
}

Test(asset, leaves_other_paths_to_others)
{
    cr_assert(!ask(HL_METHOD_GET, "/dashboard/", ""));
    cr_assert(!ask(HL_METHOD_GET, "/dashboard/main.js", ""));
    cr_assert(!ask(HL_METHOD_GET, "", ""));
}
