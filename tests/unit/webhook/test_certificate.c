/* test_certificate.c - the client certificate: a pair of files that belong together, read again when they change. */
#include "webhook/certificate.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/hl-certificate-XXXXXX";
static struct hl_certificate certificate;
static char why[512];

static void shell(const char *script)
{
    char command[1024];
    snprintf(command, sizeof command, "cd %s && { %s; } >openssl.log 2>&1", dir, script);
    cr_assert_eq(system(command), 0, "%s", script);
}

static void init(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    cr_assert_not_null(mkdtemp(dir));
    shell("for name in a b; do openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256"
          " -nodes -days 2 -subj /CN=$name -keyout $name.key -out $name.pem; done");
}

static void fini(void)
{
    char command[64];
    hl_certificate_fini(&certificate);
    snprintf(command, sizeof command, "rm -r %s", dir);
    cr_assert_eq(system(command), 0);
}

TestSuite(certificate, .init = init, .fini = fini);

static enum hl_err load(const char *cert, const char *key)
{
    static char paths[2][96]; /* borrowed as long as it lives */
    snprintf(paths[0], sizeof paths[0], "%s/%s", dir, cert);
    snprintf(paths[1], sizeof paths[1], "%s/%s", dir, key);
    return hl_certificate_init(
        &certificate, hl_str_from(paths[0]), hl_str_from(paths[1]), why, sizeof why);
}

/* Whether that file is the certificate in use. */
static bool is_in_use(const char *cert)
{
    char path[96], bytes[8192];
    snprintf(path, sizeof path, "%s/%s", dir, cert);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return n == certificate.cert.n && memcmp(bytes, certificate.cert.p, n) == 0;
}

static void look(void)
{
    certificate.next_look_ms = 0;
    hl_certificate_refresh(&certificate);
}

Test(certificate, is_none_without_files)
{
    CURL *easy = curl_easy_init();
    cr_assert_eq(hl_certificate_init(&certificate, HL_STR(""), HL_STR(""), why, sizeof why), HL_OK);
    cr_assert_eq(certificate.cert.n, 0);
    look();
    cr_assert_eq(hl_certificate_show(&certificate, easy), HL_OK);
    cr_assert_eq(hl_certificate_show(NULL, easy), HL_OK);
    curl_easy_cleanup(easy);
}

Test(certificate, takes_a_pair)
{
    CURL *easy = curl_easy_init();
    cr_assert_eq(load("a.pem", "a.key"), HL_OK, "%s", why);
    cr_assert(is_in_use("a.pem"));
    cr_assert_eq(hl_certificate_show(&certificate, easy), HL_OK);
    curl_easy_cleanup(easy);
}

Test(certificate, takes_a_pair_behind_byte_order_marks)
{
    shell("for file in a.pem a.key; do { printf '\\357\\273\\277'; cat $file; } >bom.$file; done");
    cr_assert_eq(load("bom.a.pem", "bom.a.key"), HL_OK, "%s", why);
    cr_assert(is_in_use("a.pem"));
}

Test(certificate, says_what_is_wrong_with_a_pair)
{
    static const struct {
        const char *cert, *key, *option;
    } rows[] = {
        {"nothing", "a.key", "HOOKLINE_WEBHOOK_CLIENT_CERT_FILE"},
        {".", "a.key", "HOOKLINE_WEBHOOK_CLIENT_CERT_FILE"},
        {"empty", "a.key", "HOOKLINE_WEBHOOK_CLIENT_CERT_FILE"},
        {"der", "a.key", "HOOKLINE_WEBHOOK_CLIENT_CERT_FILE"},
        {"large", "a.key", "HOOKLINE_WEBHOOK_CLIENT_CERT_FILE"},
        {"a.pem", "nothing", "HOOKLINE_WEBHOOK_CLIENT_KEY_FILE"},
        {"a.pem", "b.key", "HOOKLINE_WEBHOOK_CLIENT_KEY_FILE"},
        {"a.pem", "a.pem", "HOOKLINE_WEBHOOK_CLIENT_KEY_FILE"},
        {"a.pem", "encrypted", "HOOKLINE_WEBHOOK_CLIENT_KEY_FILE"},
        {"a.pem", "cut", "HOOKLINE_WEBHOOK_CLIENT_KEY_FILE"},
    };
    shell("touch empty; openssl x509 -in a.pem -outform DER -out der; head -c 60 a.key >cut;"
          " openssl ec -in a.key -aes128 -passout pass:hush -out encrypted;"
          " { cat a.pem; head -c 2000000 /dev/zero; } >large");
    for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
        why[0] = '\0';
        cr_expect_neq(load(rows[i].cert, rows[i].key), HL_OK, "%s, %s", rows[i].cert, rows[i].key);
        cr_expect_eq(strncmp(why, rows[i].option, strlen(rows[i].option)), 0, "%s, %s: %s",
            rows[i].cert, rows[i].key, why);
        cr_expect_null(strchr(why, '\n'));
    }
}

Test(certificate, is_read_again_when_it_changes_and_stays_while_the_files_do_not_belong_together)
{
    shell("cp a.pem cert; cp a.key key");
    cr_assert_eq(load("cert", "key"), HL_OK, "%s", why);
    look();
    cr_assert(is_in_use("a.pem"));
    shell("cp b.pem new; mv new cert");
    look();
    cr_assert(is_in_use("a.pem"), "the other file is still to come");
    shell("rm key");
    look();
    cr_assert(is_in_use("a.pem"));
    shell("cp b.key key");
    look();
    cr_assert(is_in_use("b.pem"));
}

Test(certificate, is_looked_at_once_a_second)
{
    shell("cp a.pem cert; cp a.key key");
    cr_assert_eq(load("cert", "key"), HL_OK, "%s", why);
    look();
    uint64_t next_ms = certificate.next_look_ms;
    shell("cp b.pem cert; cp b.key key");
    certificate.next_look_ms = UINT64_MAX;
    hl_certificate_refresh(&certificate);
    cr_assert(is_in_use("a.pem"));
    certificate.next_look_ms = next_ms;
    look();
    cr_assert(is_in_use("b.pem"));
}
