/* test_trust.c - the operator's CA file adds to the system's bundle. */
#include "webhook/trust.h"

#include <criterion/criterion.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/hl-trust-XXXXXX";

static void write_file(const char *text)
{
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void remove_file(void)
{
    unlink(path);
}

TestSuite(trust, .fini = remove_file);

static long size_of(const char *file)
{
    FILE *f = fopen(file, "r");
    cr_assert_not_null(f);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    fclose(f);
    return size;
}

Test(trust, is_the_systems_bundle_without_a_file)
{
    struct hl_trust trust;
    char why[200] = "";
    cr_assert_eq(hl_trust_init(&trust, HL_STR(""), why, sizeof why), HL_OK);
    const char *system = curl_version_info(CURLVERSION_NOW)->cainfo;
    if (system && access(system, R_OK) == 0)
        cr_assert_str_eq(trust.file, system);
    hl_trust_fini(&trust);
}

Test(trust, adds_the_file_to_the_systems_bundle)
{
    static const char pem[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    struct hl_trust trust;
    char why[200] = "", start[sizeof pem];
    write_file(pem);
    cr_assert_eq(hl_trust_init(&trust, hl_str_from(path), why, sizeof why), HL_OK);
    const char *system = curl_version_info(CURLVERSION_NOW)->cainfo;
    long system_size = system && access(system, R_OK) == 0 ? size_of(system) + 1 : 0;
    cr_assert_eq(size_of(trust.file), (long)strlen(pem) + 1 + system_size);
    FILE *f = fopen(trust.file, "r");
    cr_assert_not_null(fgets(start, sizeof start, f));
    cr_assert_str_eq(start, "-----BEGIN CERTIFICATE-----\n");
    fclose(f);
    hl_trust_fini(&trust);
}

Test(trust, names_the_option_when_the_file_is_no_use)
{
    struct hl_trust trust;
    char why[200] = "";
    cr_assert_eq(
        hl_trust_init(&trust, HL_STR("/nonexistent/ca.pem"), why, sizeof why), HL_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(why, "HOOKLINE_WEBHOOK_CA_FILE"));
    cr_assert_not_null(strstr(why, "/nonexistent/ca.pem"));

    why[0] = '\0';
    write_file("no certificate\n");
    cr_assert_eq(hl_trust_init(&trust, hl_str_from(path), why, sizeof why), HL_ERR_INVALID);
    cr_assert_not_null(strstr(why, "HOOKLINE_WEBHOOK_CA_FILE"));
}
