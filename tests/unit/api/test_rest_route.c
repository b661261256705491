#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/rest_route.h"
#include "server.h"

static struct server server;

static void start(void)
{
    server_start(&server, NULL);
}

static void stop(void)
{
    server_stop(&server);
}

TestSuite(rest_route, .init = start, .fini = stop, .timeout = 180);

static const char *const methods[] = {[HL_METHOD_GET] = "GET",
    [HL_METHOD_POST] = "POST",
    [HL_METHOD_PATCH] = "PATCH",
    [HL_METHOD_DELETE] = "DELETE"};

/* A path of the route, with `id` for the id. */
static void fill(char *out, const char *pattern, const char *id)
{
    for (; *pattern; pattern++) {
        if (*pattern != '{') {
            *out++ = *pattern;
            continue;
        }
        out = stpcpy(out, pattern[1] == 'i' ? id : pattern[1] == 'p' ? "p" : "a");
        pattern += 2;
    }
    *out = '\0';
}

static int ask(const char *method, const char *path, const char *query)
{
    static struct answer a;
    char request[512];
    snprintf(request, sizeof(request), "%s %s%s HTTP/1.1\r\nHost: x\r\n\r\n", method, path, query);
    int fd = client_connect_local(&server);
    client_send(fd, request);
    client_read(fd, &a, true);
    close(fd);
    return a.status;
}

Test(rest_route, each_route_answers_its_method_and_refuses_another)
{
    for (size_t i = 0; i < hl_rest_route_count; i++) {
        const struct hl_rest_route *r = &hl_rest_routes[i];
        char path[256];
        fill(path, r->path, "0193f0b0-0000-7000-8000-000000000000");
        int status = ask(methods[r->method], path, "");
        bool is_known = status == 200 || status == 400 || status == 404 || status == 409;
        bool has_no_app = status == 503 && strstr(path, "/functions");
        bool has_no_session = status == 403 && strstr(path, "/renew");
        cr_expect(is_known || has_no_app || has_no_session, "%s: %d", path, status);
        cr_expect_eq(ask("PUT", path, ""), 405, "%s", path);
        cr_expect_eq(ask(methods[r->method], path, "?nonsense=1"), 400, "%s", path);
        strcat(path, "/");
        cr_expect_eq(ask(methods[r->method], path, ""), 404, "%s", path);
    }
}

Test(rest_route, an_id_that_is_none_is_not_found)
{
    for (size_t i = 0; i < hl_rest_route_count; i++) {
        const struct hl_rest_route *r = &hl_rest_routes[i];
        char path[256];
        if (!strstr(r->path, "{i}"))
            continue;
        fill(path, r->path, "nonsense");
        cr_expect_eq(ask(methods[r->method], path, ""), 404, "%s", path);
    }
}

Test(rest_route, finds_the_project_in_a_path)
{
    static const struct {
        const char *path, *project;
    } cases[] = {{"/v2/projects/p/runs", "p"}, {"/v2/projects/p", "p"}, {"/v2/projects/", ""},
        {"/v2/runs", ""}, {"/v2/projects//runs", ""}, {"/v4/p/a", ""}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_expect(hl_str_eq(hl_rest_project_of(hl_str_from(cases[i].path)),
                      hl_str_from(cases[i].project)),
            "%s", cases[i].path);
}
