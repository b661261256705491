#include <criterion/criterion.h>

#include "trace/setting.h"

#define ENDPOINT "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"

static struct hl_trace_setting setting;

static void read_with(const char *service, char *const *variables)
{
    hl_trace_setting_fini(&setting);
    cr_assert_eq(hl_trace_setting_read(&setting, variables, hl_str_from(service)), HL_OK);
}

#define READ(...) read_with("", (char *const[]){__VA_ARGS__, NULL})

static void end(void)
{
    hl_trace_setting_fini(&setting);
}

TestSuite(setting, .fini = end);

static bool says(const char *text)
{
    return memmem(setting.resource.p, setting.resource.n, text, strlen(text));
}

Test(setting, without_an_endpoint_is_off)
{
    READ("OTEL_TRACES_SAMPLER=always_on", "OTEL_EXPORTER_OTLP_ENDPOINT=");
    cr_assert_not(setting.is_on);
}

Test(setting, has_what_opentelemetry_has_where_nothing_else_is_said)
{
    READ(ENDPOINT);
    cr_assert(setting.is_on);
    cr_assert_str_eq(setting.url, "http://c:4318/v1/traces");
    cr_assert_eq(setting.timeout_ms, 10000);
    cr_assert_eq(setting.delay_ms, 5000);
    cr_assert_eq(setting.queue_max, 2048);
    cr_assert_eq(setting.batch_max, 512);
    cr_assert(setting.sampler.is_parent_based && setting.sampler.least == 0);
    cr_assert(hl_str_eq(hl_buf_str(&setting.resource),
        HL_STR("{\"key\":\"service.name\",\"value\":{\"stringValue\":\"hookline\"}}")));
}

Test(setting, one_for_traces_is_before_the_one_for_all)
{
    READ(ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://t/x?y=1",
        "OTEL_EXPORTER_OTLP_TIMEOUT=1", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=2",
        "OTEL_EXPORTER_OTLP_HEADERS=a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=b=2");
    cr_assert_str_eq(setting.url, "https://t/x?y=1");
    cr_assert_eq(setting.timeout_ms, 2);
    cr_assert_str_eq(setting.fields->next->next->data, "b: 2");
    cr_assert_null(setting.fields->next->next->next);
}

Test(setting, adds_its_path_to_the_endpoint_of_all_signals)
{
    READ("OTEL_EXPORTER_OTLP_ENDPOINT=http://[::1]:4318/base/");
    cr_assert_str_eq(setting.url, "http://[::1]:4318/base/v1/traces");
}

Test(setting, can_be_turned_off)
{
    READ(ENDPOINT, "OTEL_TRACES_EXPORTER=none");
    cr_assert_not(setting.is_on);
    READ(ENDPOINT, "OTEL_SDK_DISABLED=True");
    cr_assert_not(setting.is_on);
    READ(ENDPOINT, "OTEL_SDK_DISABLED=yes", "OTEL_TRACES_EXPORTER=console,otlp");
    cr_assert(setting.is_on);
}

Test(setting, with_a_wrong_endpoint_is_off)
{
    static const char *const wrong[] = {"c:4317", "ftp://c", "http://", "http://u:p@c:1",
        "http://c:0", "http://c/#x", "http://c/?x", "http://c /", "unix:/x"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char variable[80];
        snprintf(variable, sizeof(variable), "OTEL_EXPORTER_OTLP_ENDPOINT=%s", wrong[i]);
        READ(variable);
        cr_assert_not(setting.is_on, "%s", wrong[i]);
    }
}

Test(setting, other_wrong_values_count_as_not_set)
{
    READ(ENDPOINT, "OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_BSP_SCHEDULE_DELAY=-1",
        "OTEL_BSP_MAX_QUEUE_SIZE=0", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=99999999999999999999",
        "OTEL_TRACES_SAMPLER=sometimes", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
        "OTEL_RESOURCE_ATTRIBUTES=a=1,b",
        "OTEL_EXPORTER_OTLP_HEADERS=\n,a b=1,Host=x,c=%0d%0a,d=1");
    cr_assert(setting.is_on);
    cr_assert_eq(setting.timeout_ms, 10000);
    cr_assert_eq(setting.delay_ms, 5000);
    cr_assert_eq(setting.queue_max, 2048);
    cr_assert_eq(setting.batch_max, 512);
    cr_assert(setting.sampler.is_parent_based && setting.sampler.least == 0);
    cr_assert_null(setting.fields->next->next);
    cr_assert_not(says("\"a\""));
}

Test(setting, batch_is_no_larger_than_the_queue)
{
    READ(ENDPOINT, "OTEL_BSP_MAX_QUEUE_SIZE=10");
    cr_assert_eq(setting.batch_max, 10);
}

Test(setting, headers_are_decoded)
{
    READ(ENDPOINT, "OTEL_EXPORTER_OTLP_HEADERS= authorization = Basic%20YQ== ,x-empty=");
    cr_assert_str_eq(setting.fields->next->next->data, "authorization: Basic YQ==");
    cr_assert_str_eq(setting.fields->next->next->next->data, "x-empty;");
}

Test(setting, knows_opentelemetrys_samplers)
{
    static const struct {
        const char *name;
        bool is_parent_based;
        double share;
    } all[] = {{"always_on", false, 1}, {"always_off", false, 0}, {"traceidratio", false, 0.25},
        {"parentbased_always_on", true, 1}, {"parentbased_always_off", true, 0},
        {"parentbased_traceidratio", true, 0.25}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        char variable[80];
        snprintf(variable, sizeof(variable), "OTEL_TRACES_SAMPLER=%s", all[i].name);
        READ(ENDPOINT, variable, "OTEL_TRACES_SAMPLER_ARG=0.25");
        cr_assert_eq(setting.sampler.is_parent_based, all[i].is_parent_based, "%s", all[i].name);
        cr_assert_eq(setting.sampler.least, hl_sampler_least(all[i].share), "%s", all[i].name);
    }
    static const char *const wrong[] = {"2", "-0.1", "nan", "x", "0.5x", "1e999"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char variable[80];
        snprintf(variable, sizeof(variable), "OTEL_TRACES_SAMPLER_ARG=%s", wrong[i]);
        READ(ENDPOINT, "OTEL_TRACES_SAMPLER=traceidratio", variable);
        cr_assert_eq(setting.sampler.least, 0, "%s", wrong[i]);
    }
}

Test(setting, service_has_the_name_that_is_meant_for_it_alone_first)
{
    char *const variables[] = {ENDPOINT, "OTEL_SERVICE_NAME=app",
        "OTEL_RESOURCE_ATTRIBUTES=service.name=listed,k8s.pod.name=a%2Cb", NULL};
    read_with("mine", variables);
    cr_assert(says("\"mine\"") && says("\"a,b\"") && !says("\"app\"") && !says("\"listed\""));
    read_with("", variables);
    cr_assert(says("\"app\"") && !says("\"listed\""));
    READ(ENDPOINT, "OTEL_RESOURCE_ATTRIBUTES=service.name=listed");
    cr_assert(says("\"listed\"") && !says("hookline"));
}
