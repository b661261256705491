/* test_settings.c - what a host is told: options, then the environment, then defaults. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/settings.h"

static struct hl_settings settings;
static char why[HL_SETTINGS_WHY];
static const struct hl_settings_options none;

static enum hl_err read_with(const struct hl_settings_options *options)
{
    return hl_settings_read(&settings, options, why);
}

Test(settings, have_defaults)
{
    unsetenv("PORT");
    cr_assert_eq(read_with(&none), HL_OK, "%s", why);
    cr_assert_str_eq(settings.host, "127.0.0.1");
    cr_assert_eq(settings.port, 8000);
    cr_assert_str_eq(settings.socket, "");
    cr_assert_eq(settings.concurrency, 1);
    cr_assert_not(settings.has_envelope);
    cr_assert_eq(settings.max_body, UINT64_C(64) << 20);
    cr_assert_eq(settings.setup_timeout_ms, 30u * 60 * 1000);
    cr_assert_eq(settings.log_level, HL_LOG_INFO);
}

Test(settings, an_option_beats_the_environment_and_a_socket_a_port)
{
    setenv("PORT", "4711", 1);
    cr_assert_eq(read_with(&none), HL_OK);
    cr_assert_eq(settings.port, 4711);
    cr_assert_eq(read_with(&(struct hl_settings_options){.port = "0"}), HL_OK);
    cr_assert_eq(settings.port, 0);
    setenv("HOOKLINE_FUNCTION_SOCKET", "/run/a.sock", 1);
    cr_assert_eq(read_with(&none), HL_OK);
    cr_assert_str_eq(settings.socket, "/run/a.sock");
    cr_assert_eq(read_with(&(struct hl_settings_options){.port = "1"}), HL_OK);
    cr_assert_str_eq(settings.socket, "", "the port was said more loudly");
    cr_assert_eq(read_with(&(struct hl_settings_options){.port = "1", .socket = "/b.sock"}), HL_OK);
    cr_assert_str_eq(settings.socket, "/b.sock");
}

Test(settings, an_empty_variable_counts_as_none)
{
    setenv("PORT", "", 1);
    setenv("HOOKLINE_FUNCTION_CONCURRENCY", "", 1);
    cr_assert_eq(read_with(&none), HL_OK);
    cr_assert_eq(settings.port, 8000);
    cr_assert_eq(settings.concurrency, 1);
}

Test(settings, a_wrong_value_is_named)
{
    static const struct {
        const char *name, *value, *says;
    } cases[] = {
        {"HOOKLINE_FUNCTION_SETUP_TIMEOUT", "25h",
            "HOOKLINE_FUNCTION_SETUP_TIMEOUT is \"25h\": allowed is a time up to 24h, such as 10m"},
        {"PORT", "65536", "PORT is \"65536\": allowed is a port from 0 to 65535"},
        {"PORT", "-1", "allowed is a port"},
        {"HOOKLINE_FUNCTION_HOST", "[::1]", "without brackets"},
        {"HOOKLINE_FUNCTION_CONCURRENCY", "0", "allowed is 1 to 1024"},
        {"HOOKLINE_FUNCTION_CONCURRENCY", "1025", "allowed is 1 to 1024"},
        {"HOOKLINE_FUNCTION_CONCURRENCY", "two", "allowed is 1 to 1024"},
        {"HOOKLINE_FUNCTION_ENVELOPE", "yes", "allowed is on or off"},
        {"HOOKLINE_FUNCTION_MAX_BODY", "1", "allowed is a size"},
        {"HOOKLINE_FUNCTION_MAX_BODY", "2TiB", "allowed is a size"},
        {"HOOKLINE_LOG_LEVEL", "INFO", "debug, info, warn, error"},
        {"HOOKLINE_LOG_FORMAT", "xml", "auto, json, text"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        setenv(cases[i].name, cases[i].value, 1);
        cr_expect_eq(read_with(&none), HL_ERR_INVALID, "%s", cases[i].value);
        cr_expect(strstr(why, cases[i].says), "%s", why);
        cr_expect(strstr(why, cases[i].name), "%s", why);
        unsetenv(cases[i].name);
    }
}
