#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/figures.h"
#include "api/metrics.h"
#include "app/sleep.h"
#include "app/supervisor.h"
#include "store/gauges.h"
#include "webhook/sender.h"

static struct hl_figures figures;
static struct hl_store_gauges store;
static struct hl_sender_gauges sender;
static struct hl_app_gauges app;
static struct hl_sleep_gauges app_sleep;
static struct hl_buf text;

static const char *write_text(void)
{
    figures.store = &store;
    figures.sender = &sender;
    figures.app = &app;
    figures.sleep = &app_sleep;
    text.n = 0;
    cr_assert_eq(hl_metrics_write(&text, &figures), HL_OK);
    cr_assert_eq(hl_buf_append(&text, "", 1), HL_OK);
    return text.p;
}

static void reset(void)
{
    memset(&figures, 0, sizeof(figures));
    memset(&store, 0, sizeof(store));
    memset(&sender, 0, sizeof(sender));
    memset(&app, 0, sizeof(app));
    memset(&app_sleep, 0, sizeof(app_sleep));
    hl_buf_init(&text, 0);
}

static void free_text(void)
{
    hl_buf_fini(&text);
}

TestSuite(metrics, .init = reset, .fini = free_text);

/* ---- a strict reader of the text format 0.0.4 ---- */

struct family {
    char name[64], type[16];
    bool has_help, has_samples;
};

struct reading {
    struct family families[128];
    size_t family_count;
    char series[1024][160];
    size_t series_count;
};

static struct reading reading;

static struct family *find_family(const char *name, size_t n)
{
    for (size_t i = 0; i < reading.family_count; i++) {
        struct family *f = &reading.families[i];
        if (strlen(f->name) == n && memcmp(f->name, name, n) == 0)
            return f;
    }
    return NULL;
}

static size_t name_length(const char *p)
{
    size_t n = 0;
    while (isalpha((unsigned char)p[n]) || p[n] == '_' || (n > 0 && isdigit((unsigned char)p[n])))
        n++;
    return n;
}

static void read_comment(const char *line)
{
    char kind[8], name[64];
    int at = 0;
    cr_assert_eq(sscanf(line, "# %7s %63s %n", kind, name, &at), 2, "%s", line);
    cr_assert(at > 0 && line[at], "no text: %s", line);
    struct family *f = find_family(name, strlen(name));
    if (strcmp(kind, "HELP") == 0) {
        cr_assert_null(f, "a family in two places: %s", name);
        f = &reading.families[reading.family_count++];
        strcpy(f->name, name);
        f->has_help = true;
        return;
    }
    cr_assert_str_eq(kind, "TYPE");
    cr_assert(f && f == &reading.families[reading.family_count - 1] && !f->type[0], "%s", line);
    cr_assert_lt(strlen(line + at), sizeof(f->type));
    strcpy(f->type, line + at);
    cr_assert(
        !strcmp(f->type, "counter") || !strcmp(f->type, "gauge") || !strcmp(f->type, "histogram"),
        "%s", line);
}

/* The family that a sample's name belongs to: the last one announced. */
static struct family *family_of_sample(const char *name, size_t n)
{
    static const char *const suffixes[] = {"", "_bucket", "_sum", "_count"};
    struct family *last = &reading.families[reading.family_count - 1];
    size_t own = strlen(last->name), rest = n - own;
    bool is_histogram = strcmp(last->type, "histogram") == 0;
    if (n < own || memcmp(name, last->name, own) != 0)
        return NULL;
    for (size_t i = is_histogram ? 1 : 0; i < (is_histogram ? 4 : 1); i++) {
        if (strlen(suffixes[i]) == rest && memcmp(name + own, suffixes[i], rest) == 0)
            return last;
    }
    return NULL;
}

/* {a="b",c="d"}; returns what follows. */
static const char *read_labels(const char *p)
{
    do {
        size_t n = name_length(++p);
        cr_assert(n > 0 && p[n] == '=' && p[n + 1] == '"', "%s", p);
        p += n + 2;
        while (*p != '"') {
            cr_assert(
                isalnum((unsigned char)*p) || strchr("+._-", *p), "not bounded by name: %s", p);
            p++;
        }
        p++;
    } while (*p == ',');
    cr_assert_eq(*p, '}', "%s", p);
    return p + 1;
}

static void read_sample(const char *line)
{
    size_t n = name_length(line);
    struct family *f = family_of_sample(line, n);
    cr_assert(f && f->has_help && f->type[0], "no family: %s", line);
    f->has_samples = true;
    const char *at = line + n;
    if (*at == '{')
        at = read_labels(at);
    char *end;
    cr_assert_eq(*at, ' ', "%s", line);
    cr_assert(isdigit((unsigned char)at[at[1] == '-' ? 2 : 1]), "%s", line);
    strtod(at + 1, &end);
    cr_assert_eq(*end, '\0', "%s", line);

    char series[160];
    snprintf(series, sizeof(series), "%.*s", (int)(at - line), line);
    for (size_t i = 0; i < reading.series_count; i++)
        cr_assert_str_neq(reading.series[i], series);
    strcpy(reading.series[reading.series_count++], series);
}

static void read_text(const char *p)
{
    memset(&reading, 0, sizeof(reading));
    while (*p) {
        char line[512];
        size_t n = strcspn(p, "\n");
        cr_assert(n > 0 && n < sizeof(line) && p[n] == '\n', "%.80s", p);
        memcpy(line, p, n);
        line[n] = '\0';
        if (line[0] == '#')
            read_comment(line);
        else
            read_sample(line);
        p += n + 1;
    }
    for (size_t i = 0; i < reading.family_count; i++)
        cr_assert(reading.families[i].has_samples, "%s has none", reading.families[i].name);
}

/* ---- */

Test(metrics, is_valid_text_before_anything_has_happened)
{
    const char *p = write_text();
    read_text(p);
    cr_assert(strstr(
        p, "\nhookline_http_requests_total{method=\"POST\",mode=\"sync\",code=\"2xx\"} 0\n"));
    cr_assert(strstr(p, "\nhookline_build_info{version=\"" HL_VERSION "\"} 1\n"));
}

/* Every counter in the struct, so that none of them can be one that a label has no name for. */
static void count_everything(void)
{
    struct hl_counter *c = (struct hl_counter *)&figures.workers;
    for (size_t i = 0; i < sizeof(figures.workers) / sizeof(*c); i++)
        hl_counter_add(&c[i], 1);
}

Test(metrics, is_valid_text_when_everything_has_happened)
{
    count_everything();
    const char *p = write_text();
    read_text(p);
    cr_assert(strstr(
        p, "\nhookline_http_requests_total{method=\"other\",mode=\"tunnel\",code=\"none\"} 1\n"));
    cr_assert(strstr(
        p, "\nhookline_http_requests_total{method=\"TRACE\",mode=\"other\",code=\"5xx\"} 1\n"));
    cr_assert(strstr(
        p, "\nhookline_http_requests_total{method=\"GET\",mode=\"stream\",code=\"cut\"} 1\n"));
}

Test(metrics, says_that_the_app_sleeps_and_how_long_its_wakes_took)
{
    atomic_store(&app_sleep.state, HL_SLEEP_STOPPING);
    cr_assert(strstr(write_text(), "\nhookline_app_asleep 0\n"), "not yet");
    atomic_store(&app_sleep.state, HL_SLEEP_DOZING);
    hl_histogram_add(&app_sleep.wakes, 2000000);
    const char *p = write_text();
    cr_assert(strstr(p, "\nhookline_app_asleep 1\n"));
    cr_assert(strstr(p, "\nhookline_app_wake_seconds_count 1\n"));
}

Test(metrics, names_follow_the_conventions)
{
    read_text(write_text());
    for (size_t i = 0; i < reading.family_count; i++) {
        const struct family *f = &reading.families[i];
        size_t n = strlen(f->name);
        bool is_total = n > 6 && strcmp(f->name + n - 6, "_total") == 0;
        cr_expect_eq(is_total, strcmp(f->type, "counter") == 0, "%s", f->name);
        cr_expect(strncmp(f->name, "hookline_", 9) == 0 || strncmp(f->name, "process_", 8) == 0);
        cr_expect(strcmp(f->type, "histogram") != 0 || strcmp(f->name + n - 8, "_seconds") == 0);
    }
}

Test(metrics, has_no_more_series_than_the_labels_have_names)
{
    read_text(write_text());
    size_t least = reading.series_count;
    count_everything();
    read_text(write_text());
    cr_assert_eq(
        reading.series_count - least, HL_METHOD_COUNT * HL_MODE_COUNT * HL_CODE_CLASS_COUNT - 1);
}

Test(metrics, shows_only_combinations_that_occurred)
{
    hl_counter_add(&figures.workers.requests[HL_METHOD_GET][HL_MODE_STREAM][4], 3);
    const char *p = write_text();
    cr_assert(strstr(
        p, "\nhookline_http_requests_total{method=\"GET\",mode=\"stream\",code=\"4xx\"} 3\n"));
    p = strstr(p, "hookline_http_requests_total{");
    cr_assert_null(strstr(p + 1, "hookline_http_requests_total{"));
}

Test(metrics, sums_over_workers)
{
    struct hl_worker_metrics one = {0}, two = {0};
    hl_counter_add(&one.connections_open, 3);
    hl_counter_add(&two.connections_open, 4);
    hl_counter_add(&one.connections_shed, 2);
    hl_counter_add(&two.connections_shed, 3);
    figures.connections_max = 12;
    hl_counter_add(&one.runs_finished[HL_MODE_STREAM][HL_RUN_FAILURE], 5);
    hl_counter_add(&two.upstream_errors[HL_REASON_TIMEOUT], 6);
    hl_histogram_add(&one.duration[HL_MODE_SYNC], 200);
    hl_histogram_add(&two.duration[HL_MODE_SYNC], 2000000);
    hl_histogram_add_zero(&one.queue_wait[HL_MODE_SYNC]);
    hl_histogram_add(&two.queue_wait[HL_MODE_ASYNC], 3000000);
    hl_histogram_add(&two.first_byte[HL_MODE_STREAM], 400);
    hl_figures_add(&figures.workers, &one);
    hl_figures_add(&figures.workers, &two);
    const char *p = write_text();
    cr_assert(strstr(p, "\nhookline_connections_open 7\n"));
    cr_assert(strstr(p, "\nhookline_connections_shed_total 5\n"));
    cr_assert(strstr(p, "\nhookline_connections_max 12\n"));
    cr_assert(strstr(p, "\nhookline_runs_total{mode=\"stream\",state=\"failure\"} 5\n"));
    cr_assert(strstr(p, "\nhookline_upstream_errors_total{reason=\"timeout\"} 6\n"));
    cr_assert(strstr(
        p, "\nhookline_http_request_duration_seconds_bucket{mode=\"sync\",le=\"0.00025\"} 1\n"));
    cr_assert(strstr(p, "\nhookline_http_request_duration_seconds_sum{mode=\"sync\"} 2.000200\n"));
    cr_assert(strstr(p, "\nhookline_http_request_duration_seconds_count{mode=\"sync\"} 2\n"));
    cr_assert(
        strstr(p, "\nhookline_run_queue_wait_seconds_bucket{mode=\"sync\",le=\"0.0001\"} 1\n"));
    cr_assert(strstr(p, "\nhookline_run_queue_wait_seconds_sum{mode=\"async\"} 3.000000\n"));
    cr_assert(strstr(p, "\nhookline_run_first_byte_seconds_count{mode=\"stream\"} 1\n"));
    cr_assert(strstr(p, "\nhookline_run_first_byte_seconds_sum{mode=\"stream\"} 0.000400\n"));
}

Test(metrics, computes_ages_and_seconds)
{
    figures.now_ms = 100000;
    hl_counter_add(&store.oldest_queued_ms, 97500);
    hl_counter_add(&store.oldest_delivery_ms, 100001); /* the clock was set back */
    hl_counter_add(&figures.auth.url_read_ms, 40000);
    figures.process.cpu_us = 1234567;
    figures.started_ms = 1700000000123;
    const char *p = write_text();
    cr_assert(strstr(p, "\nhookline_runs_queue_age_seconds 2.500000\n"));
    cr_assert(strstr(p, "\nhookline_delivery_age_seconds 0.000000\n"));
    cr_assert(strstr(p, "\nhookline_jwks_age_seconds 60.000000\n"));
    cr_assert(strstr(p, "\nprocess_cpu_seconds_total 1.234567\n"));
    cr_assert(strstr(p, "\nprocess_start_time_seconds 1700000000.123000\n"));
}

Test(metrics, shows_the_queue_before_the_app_and_its_process)
{
    figures.app_slots = 4;
    figures.app_slots_in_use = 3;
    figures.app_queue_age_ms = 1500;
    hl_counter_add(&figures.workers.waiting_for_slot, 7);
    hl_counter_add(&figures.workers.waiting_at_gate, 8);
    figures.is_gate_open = true;
    hl_counter_add(&app.is_running, 1);
    hl_counter_add(&app.starts[HL_APP_START_EXIT], 2);
    hl_counter_add(&app.lines_dropped, 5);
    const char *p = write_text();
    cr_assert(strstr(p, "\nhookline_app_slots 4\n"));
    cr_assert(strstr(p, "\nhookline_app_slots_in_use 3\n"));
    cr_assert(strstr(p, "\nhookline_app_queue_age_seconds 1.500000\n"));
    cr_assert(strstr(p, "\nhookline_app_queue_waiting 7\n"));
    cr_assert(strstr(p, "\nhookline_app_gate_waiting 8\n"));
    cr_assert(strstr(p, "\nhookline_app_gate_open 1\n"));
    cr_assert(strstr(p, "\nhookline_app_running 1\n"));
    cr_assert(strstr(p, "\nhookline_app_starts_total{why=\"exit\"} 2\n"));
    cr_assert(strstr(p, "\nhookline_app_output_dropped_lines_total 5\n"));
}

Test(metrics, shows_the_store_and_the_sender)
{
    hl_counter_add(&store.pending_deliveries, 9);
    hl_counter_add(&store.lanes_at_limit, 3);
    hl_counter_add(&store.is_full, 1);
    hl_counter_add(&store.max_bytes, 1000);
    hl_counter_add(&store.log_bytes, 11);
    hl_counter_add(&store.purged_runs, 12);
    hl_counter_add(&store.shed_runs, 13);
    hl_counter_add(&store.shed_bodies, 14);
    hl_counter_add(&store.swept_files, 15);
    hl_counter_add(&sender.in_flight, 2);
    hl_counter_add(&sender.attempts_dead, 6);
    hl_histogram_add(&store.commit_latency, 300);
    const char *p = write_text();
    cr_assert(strstr(p, "\nhookline_deliveries_pending 9\n"));
    cr_assert(strstr(p, "\nhookline_webhook_lanes_at_limit 3\n"));
    cr_assert(strstr(p, "\nhookline_store_full 1\n"));
    cr_assert(strstr(p, "\nhookline_store_failing 0\n"));
    cr_assert(strstr(p, "\nhookline_store_limit_bytes 1000\n"));
    cr_assert(strstr(p, "\nhookline_store_log_bytes 11\n"));
    cr_assert(strstr(p, "\nhookline_store_purged_runs_total 12\n"));
    cr_assert(strstr(p, "\nhookline_store_shed_runs_total 13\n"));
    cr_assert(strstr(p, "\nhookline_store_shed_bodies_total 14\n"));
    cr_assert(strstr(p, "\nhookline_store_swept_files_total 15\n"));
    cr_assert(strstr(p, "\nhookline_deliveries_in_flight 2\n"));
    cr_assert(strstr(p, "\nhookline_delivery_attempts_total{outcome=\"dead\"} 6\n"));
    cr_assert(strstr(p, "\nhookline_store_commit_duration_seconds_count 1\n"));
}

Test(metrics, shows_replicas_only_where_they_share_the_store)
{
    hl_counter_add(&store.is_failing, 1);
    hl_counter_add(&store.replicas, 3);
    hl_counter_add(&store.rate_questions, 7);
    hl_counter_add(&store.lent_calls, 700);
    hl_counter_add(&store.permit_questions, 5);
    hl_counter_add(&store.spends_shares, 1);
    hl_counter_add(&store.dead_tickets, 4);
    hl_counter_add(&store.dead_delivery_tickets, 5);
    hl_counter_add(&store.oldest_xmin_ms, 61500);
    figures.clock_offset_ms = -86400250;
    const char *p = write_text();
    cr_assert(strstr(p, "\nhookline_store_up 0\n"));
    cr_assert_null(strstr(p, "hookline_replica"));
    cr_assert_null(strstr(p, "hookline_postgres"));
    cr_assert_null(strstr(p, "hookline_clock"));
    cr_assert_null(strstr(p, "hookline_rate"));

    figures.replica = HL_STR("one");
    figures.role = "front";
    p = write_text();
    read_text(p);
    cr_assert(strstr(p, "\nhookline_replica_info{name=\"one\",role=\"front\"} 1\n"));
    cr_assert(strstr(p, "\nhookline_replicas 3\n"));
    cr_assert(strstr(p, "\nhookline_rate_questions_total 7\n"));
    cr_assert(strstr(p, "\nhookline_rate_lent_calls_total 700\n"));
    cr_assert(strstr(p, "\nhookline_permit_questions_total 5\n"));
    cr_assert(strstr(p, "\nhookline_rate_shares 1\n"));
    cr_assert(strstr(p, "\nhookline_clock_offset_seconds -86400.250\n"));
    cr_assert(strstr(p, "\nhookline_postgres_dead_tuples{table=\"ticket\"} 4\n"));
    cr_assert(strstr(p, "\nhookline_postgres_dead_tuples{table=\"delivery_ticket\"} 5\n"));
    cr_assert(strstr(p, "\nhookline_postgres_oldest_xmin_age_seconds 61.500000\n"));
}

Test(metrics, escapes_the_name_of_a_replica)
{
    figures.replica = HL_STR("a\"b\\c");
    figures.role = "all";
    cr_assert(
        strstr(write_text(), "\nhookline_replica_info{name=\"a\\\"b\\\\c\",role=\"all\"} 1\n"));
}

Test(metrics, says_that_the_store_is_up)
{
    cr_assert(strstr(write_text(), "\nhookline_store_up 1\n"));
}

Test(metrics, reads_this_process)
{
    struct hl_process before, after;
    hl_process_read(&before);
    cr_assert_gt(before.resident_bytes, 100 * 1024);
    cr_assert_geq(before.open_fds, 2);
    FILE *f = tmpfile();
    for (volatile int i = 0; i < 10000000; i++)
        continue;
    hl_process_read(&after);
    cr_assert_eq(after.open_fds, before.open_fds + 1);
    cr_assert_gt(after.cpu_us, before.cpu_us);
    fclose(f);
}
