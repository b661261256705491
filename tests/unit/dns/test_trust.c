/* test_trust.c - the operator's CA file adds to the system's bundle. */
#include "base/str.h"
#include "dns/trust.h"

#include <criterion/criterion.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTION "HOOKLINE_WEBHOOK_CA_FILE"

/* Of an authority that nobody else knows, until 2126; and its key. */
static const char pem[] = "-----BEGIN CERTIFICATE-----\n"
                          "MIIBijCCAS+gAwIBAgIUMij1uMnRSzMvX+Tc8jlPnRJPjXEwCgYIKoZIzj0EAwIw\n"
                          "GTEXMBUGA1UEAwwOYXV0aG9yaXR5LnRlc3QwIBcNMjYxMTI2MDMyODMzWhgPMjEy\n"
                          "NjExMDIwMzI4MzNaMBkxFzAVBgNVBAMMDmF1dGhvcml0eS50ZXN0MFkwEwYHKoZI\n"
                          "zj0CAQYIKoZIzj0DAQcDQgAE9YTyBX/HpJ33l3wON6jEGE5Pn3Rz1QoLZWCRSdqo\n"
                          "ACAY1TpP+30suZGKFTUlyxZG7H0jpSNTDPattk6hWxH8oaNTMFEwHQYDVR0OBBYE\n"
                          "FMbJRN8Rjv31/qmh28I0c41foqvjMB8GA1UdIwQYMBaAFMbJRN8Rjv31/qmh28I0\n"
                          "c41foqvjMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAKQm3P1l\n"
                          "Jg4NOTJrygAkSXNPcaQUJhOA5ipVn5c+DGpgAiEAkZlTySYS5F4S0tIky0cdwslR\n"
                          "0wJSF2JA0LI2QWe5YXA=\n"
                          "-----END CERTIFICATE-----\n";
static const char key[] = "-----BEGIN PRIVATE KEY-----\n"
                          "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZ51wb74Qh/vbAaOX\n"
                          "ttbjgwR/aURdthbzUo5bi1h8T3ahRANCAAT1hPIFf8eknfeXfA43qMQYTk+fdHPV\n"
                          "CgtlYJFJ2qgAIBjVOk/7fSy5kYoVNSXLFkbsfSOlI1MM9q22TqFbEfyh\n"
                          "-----END PRIVATE KEY-----\n";

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

static void init(void)
{
    cr_assert_eq(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
}

TestSuite(trust, .init = init, .fini = remove_file);

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
    cr_assert_eq(hl_trust_init(&trust, OPTION, HL_STR(""), why, sizeof why), HL_OK);
    const char *system = curl_version_info(CURLVERSION_NOW)->cainfo;
    if (system && access(system, R_OK) == 0)
        cr_assert_str_eq(trust.file, system);
    hl_trust_fini(&trust);
}

Test(trust, adds_the_file_to_the_systems_bundle)
{
    struct hl_trust trust;
    char why[200] = "", start[64];
    write_file(pem);
    cr_assert_eq(hl_trust_init(&trust, OPTION, hl_str_from(path), why, sizeof why), HL_OK);
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
    cr_assert_eq(hl_trust_init(&trust, OPTION, HL_STR("/nonexistent/ca.pem"), why, sizeof why),
        HL_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(why, "HOOKLINE_WEBHOOK_CA_FILE"));
    cr_assert_not_null(strstr(why, "/nonexistent/ca.pem"));
}

static void refuse(const char *text, const char *because)
{
    struct hl_trust trust;
    char why[300] = "";
    strcpy(path, "/tmp/hl-trust-XXXXXX");
    write_file(text);
    cr_assert_eq(hl_trust_init(&trust, OPTION, hl_str_from(path), why, sizeof why), HL_ERR_INVALID,
        "%s", text);
    cr_assert_not_null(strstr(why, "HOOKLINE_WEBHOOK_CA_FILE: /tmp/hl-trust-"), "%s", why);
    cr_assert_not_null(strstr(why, because), "%s", why);
    unlink(path);
}

Test(trust, refuses_a_file_that_it_cannot_use_and_says_what_is_wrong_with_it)
{
    char spoilt[2 * sizeof pem];
    refuse("", "it is empty");
    refuse("no certificate\n", "no PEM");
    refuse(key, "something other than certificates");
    refuse("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be read");
    refuse("-----BEGIN CERTIFICATE-----\ngarbage !\n-----END CERTIFICATE-----\n", "cannot be read");
    snprintf(spoilt, sizeof spoilt, "%s", pem);
    memset(strstr(spoilt, "MII") + 70, 'A', 60);
    refuse(spoilt, "cannot be read");
    snprintf(spoilt, sizeof spoilt, "\xef\xbb\xbf%s", pem);
    refuse(spoilt, "it begins with a byte order mark");
}

Test(trust, takes_several_certificates_and_a_key_beside_them)
{
    struct hl_trust trust;
    char why[300] = "", all[3 * sizeof pem + sizeof key];
    snprintf(all, sizeof all, "# ours\n%s%s%s", pem, key, pem);
    write_file(all);
    cr_assert_eq(
        hl_trust_init(&trust, OPTION, hl_str_from(path), why, sizeof why), HL_OK, "%s", why);
    hl_trust_fini(&trust);
}

static enum hl_err look_again(struct hl_trust *trust, char *why, size_t n)
{
    return hl_trust_refresh(trust, OPTION, hl_str_from(path), why, n);
}

static void replace_file(const char *text)
{
    unlink(path);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

Test(trust, reads_the_file_again_when_it_changes_and_keeps_what_is_better)
{
    struct hl_trust trust;
    char why[300] = "";
    strcpy(path, "/tmp/hl-trust-XXXXXX");
    write_file(pem);
    cr_assert_eq(hl_trust_init(&trust, OPTION, hl_str_from(path), why, sizeof why), HL_OK);
    long before = size_of(trust.file);
    cr_assert_eq(look_again(&trust, why, sizeof why), HL_OK);
    cr_assert_eq(size_of(trust.file), before);

    char two[2 * sizeof pem];
    snprintf(two, sizeof two, "%s%s", pem, pem);
    replace_file(two);
    cr_assert_eq(look_again(&trust, why, sizeof why), HL_OK, "%s", why);
    long after = size_of(trust.file);
    cr_assert_eq(after, before + (long)strlen(pem));

    replace_file(key);
    cr_assert_eq(look_again(&trust, why, sizeof why), HL_ERR_INVALID);
    cr_assert_not_null(strstr(why, OPTION), "%s", why);
    cr_assert_eq(look_again(&trust, why, sizeof why), HL_OK, "it is told once");
    cr_assert_eq(size_of(trust.file), after);
    unlink(path);
    cr_assert_neq(look_again(&trust, why, sizeof why), HL_OK);
    cr_assert_eq(size_of(trust.file), after);
    hl_trust_fini(&trust);
}

/* libcurl would take one that it has read for another of the same name. */
Test(trust, each_file_has_a_name_that_none_before_it_had)
{
    struct hl_trust trust;
    char why[300] = "", text[sizeof pem + 16], names[6][sizeof trust.path];
    strcpy(path, "/tmp/hl-trust-XXXXXX");
    write_file(pem);
    cr_assert_eq(hl_trust_init(&trust, OPTION, hl_str_from(path), why, sizeof why), HL_OK);
    for (int i = 0; i < 6; i++) {
        strcpy(names[i], trust.file);
        for (int j = 0; j < i; j++)
            cr_assert_str_neq(names[i], names[j]);
        snprintf(text, sizeof text, "#%.*s\n%s", i + 1, "xxxxxx", pem);
        replace_file(text);
        cr_assert_eq(look_again(&trust, why, sizeof why), HL_OK, "%s", why);
    }
    hl_trust_fini(&trust);
}
