#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/figures.h"
#include "server.h"

static struct server *server;

static void start(void)
{
    server = calloc(1, sizeof(*server));
    server_start(server, NULL);
}

static void end(void)
{
    server_stop(server);
    free(server);
}

TestSuite(now, .init = start, .fini = end);

/* Asks on a connection of its own, so that the loop thread has nothing to do meanwhile. */
static json_t *ask(const char *target, int status)
{
    static struct answer answer;
    char request[256];
    int fd = client_connect_local(server);
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
    client_send(fd, request);
    client_read(fd, &answer, true);
    close(fd);
    cr_assert_eq(answer.status, status, "%s", answer.body);
    json_error_t error;
    json_t *json = json_loadb(answer.body, answer.body_len, JSON_REJECT_DUPLICATES, &error);
    cr_assert_not_null(json, "%s: %s", error.text, answer.body);
    return json;
}

static int64_t number(json_t *json, const char *object, const char *member)
{
    json_t *value = json_object_get(json_object_get(json, object), member);
    cr_assert(json_is_integer(value), "%s.%s", object, member);
    return json_integer_value(value);
}

static size_t sample_count(json_t *json)
{
    const char *name;
    json_t *column, *samples = json_object_get(json, "samples");
    size_t n = json_array_size(json_object_get(samples, "at"));
    cr_assert_eq(json_object_size(samples), HL_HISTORY_COLUMNS + 1);
    json_object_foreach(samples, name, column) cr_assert_eq(json_array_size(column), n, "%s", name);
    return n;
}

static void add_samples(int n)
{
    struct hl_figures figures;
    for (int i = 0; i < n; i++) {
        hl_figures_collect(&figures, &server->view);
        hl_history_add(&server->recorder.history, &figures, 10000000 + (uint64_t)i * 10000);
    }
}

Test(now, says_that_the_app_is_not_ready)
{
    json_t *json = ask("/v2/now", 200);
    cr_assert(json_is_false(json_object_get(json, "ready")));
    const char *problem = json_string_value(json_array_get(json_object_get(json, "problems"), 0));
    cr_assert_str_eq(problem, "the app at HOOKLINE_APP_URL is not ready");
    json_decref(json);
}

Test(now, says_all_that_is_wrong_the_gravest_first)
{
    const char *problems[HL_SERVICE_PROBLEMS_MAX];
    atomic_store(&server->service.is_draining, true);
    cr_assert_eq(hl_service_problems(&server->service, problems), 2);
    cr_assert_eq(problems[0], hl_service_not_ready(&server->service));
    json_t *json = ask("/v2/now", 200);
    cr_assert_eq(json_array_size(json_object_get(json, "problems")), 2);
    json_decref(json);
}

Test(now, shows_the_present_figures)
{
    atomic_store(&server->readiness.is_ready, true);
    hl_counter_add(&server->worker.metrics.calls_in_flight, 3);
    hl_counter_add(&server->worker.metrics.runs_in_flight, 2);
    json_t *json = ask("/v2/now", 200);
    cr_assert(json_is_true(json_object_get(json, "ready")));
    cr_assert_eq(json_array_size(json_object_get(json, "problems")), 0);
    cr_assert_eq(number(json, "current", "calls_in_flight"), 3);
    cr_assert_eq(number(json, "current", "runs_in_flight"), 2);
    cr_assert_str_eq(
        json_string_value(json_object_get(json, "started_at")), "2023-11-14T22:13:20.123Z");
    cr_assert_eq(sample_count(json), 0);
    json_decref(json);
}

Test(now, leaves_out_the_samples_that_the_page_has)
{
    add_samples(5);
    json_t *json = ask("/v2/now", 200);
    cr_assert_eq(json_integer_value(json_object_get(json, "last")), 5);
    cr_assert_eq(sample_count(json), 5);
    json_decref(json);
    json = ask("/v2/now?after=3", 200);
    cr_assert_eq(sample_count(json), 2);
    json_decref(json);
    json = ask("/v2/now?after=5", 200);
    cr_assert_eq(sample_count(json), 0);
    json_decref(json);
}

Test(now, shows_no_more_samples_than_are_wanted_the_newest)
{
    static const struct {
        const char *path;
        size_t count;
    } rows[] = {{"/v2/now?newest=2", 2}, {"/v2/now?newest=0", 0}, {"/v2/now?newest=900", 5},
        {"/v2/now?newest=2&after=1", 2}, {"/v2/now?newest=2&after=4", 1},
        {"/v2/now?newest=2&after=77", 2}};
    add_samples(5);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        json_t *json = ask(rows[i].path, 200);
        cr_expect_eq(sample_count(json), rows[i].count, "%s", rows[i].path);
        cr_expect_eq(json_integer_value(json_object_get(json, "last")), 5);
        json_decref(json);
    }
    json_decref(ask("/v2/now?newest=-1", 400));
}

Test(now, shows_all_to_a_page_that_knew_another_process)
{
    add_samples(2);
    json_t *json = ask("/v2/now?after=300", 200);
    cr_assert_eq(sample_count(json), 2);
    json_decref(json);
}

Test(now, fits_a_whole_hour_into_48_kib)
{
    struct hl_counter *calls = &server->worker.metrics.requests[HL_METHOD_POST][HL_MODE_SYNC][2];
    for (int i = 0; i < HL_HISTORY_SAMPLES + 7; i++) {
        hl_counter_add(calls, 123457);
        add_samples(1);
    }
    json_t *json = ask("/v2/now", 200);
    cr_assert_eq(sample_count(json), HL_HISTORY_SAMPLES);
    cr_assert_leq(json_dumpb(json, NULL, 0, JSON_COMPACT), 48 * 1024);
    json_decref(json);
}

Test(now, refuses_an_after_that_is_no_number)
{
    json_t *json = ask("/v2/now?after=x", 400);
    cr_assert(strstr(json_string_value(json_object_get(json, "detail")), "number"));
    json_decref(json);
}
