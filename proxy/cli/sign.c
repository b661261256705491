/* sign.c - `hookline sign` and `verify`: a webhook's signatures over a body in a file or on stdin, in
 * both schemes (contract 5). For people who write receivers.
 * Not here: the signatures (webhook/signature.c). */
#include "cli/catalog.h"

#include <errno.h>
#include <mbedtls/platform_util.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/secret_file.h"
#include "config/config.h"
#include "webhook/signature.h"

#define PIECE (64 * 1024)

/* What both commands take. */
struct task {
    const struct hl_cli *cli;
    struct hl_config *config;
    const char *id, *timestamp, *signature, *secret_file, *body_file;
    struct hl_id run_id;
    uint64_t unix_s;
    char secret[HL_CLI_SECRET_ROOM];
    size_t secret_n;
};

static int read_task(struct task *t)
{
    const struct hl_cli *cli = t->cli;
    const struct hl_cli_option options[] = {{"--id", &t->id, NULL},
        {"--timestamp", &t->timestamp, NULL}, {"--signature", &t->signature, NULL},
        {"--secret-file", &t->secret_file, NULL}};
    size_t count;
    int status =
        hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), &t->body_file, 1, &count);
    if (hl_cli_need(cli, "--id", t->id) != HL_CLI_OK)
        status = HL_CLI_USAGE;
    if (t->id && !hl_id_parse(hl_str_from(t->id), &t->run_id))
        status = hl_cli_usage_error(cli,
            "--id takes the whole id of a run, the value of the webhook's X-Request-Id, not \"%s\"",
            t->id);
    if (t->timestamp && !hl_str_to_u64(hl_str_from(t->timestamp), &t->unix_s))
        status = hl_cli_usage_error(
            cli, "--timestamp takes a number, seconds since 1970, not \"%s\"", t->timestamp);
    return status;
}

/* Never from the command line: other users see that. */
static int read_secret(struct task *t)
{
    if (t->secret_file)
        return hl_cli_read_secret_file(t->cli, t->secret_file, t->secret, &t->secret_n);
    struct hl_str secret = t->config->webhook_secret;
    if (secret.n == 0 || secret.n > sizeof(t->secret))
        return hl_cli_usage_error(
            t->cli, "a secret is needed: --secret-file, or the variable HOOKLINE_WEBHOOK_SECRET");
    memcpy(t->secret, secret.p, secret.n);
    t->secret_n = secret.n;
    return HL_CLI_OK;
}

static int feed_body(const struct task *t, struct hl_signature *signature)
{
    char piece[PIECE];
    bool is_stdin = !t->body_file || strcmp(t->body_file, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(t->body_file, "re");
    size_t n;
    if (!file)
        return hl_cli_fail(t->cli, "%s: %s", t->body_file, strerror(errno));
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        hl_signature_feed(signature, piece, n);
    bool has_failed = ferror(file);
    if (!is_stdin)
        fclose(file);
    return has_failed
               ? hl_cli_fail(t->cli, "%s: %s", is_stdin ? "stdin" : t->body_file, strerror(errno))
               : HL_CLI_OK;
}

static int compute(struct task *t, struct hl_signature_text *out)
{
    struct hl_signature signature;
    int status = read_secret(t);
    if (status != HL_CLI_OK)
        return status;
    enum hl_err err = hl_signature_init(&signature, (struct hl_str){t->secret, t->secret_n});
    mbedtls_platform_zeroize(t->secret, sizeof(t->secret));
    if (err != HL_OK)
        return hl_cli_fail(t->cli, "the secret: %s",
            err == HL_ERR_INVALID ? "what follows whsec_ is not base64" : hl_err_text(err));
    hl_signature_begin(&signature, &t->run_id, (int64_t)t->unix_s);
    status = feed_body(t, &signature);
    if (status == HL_CLI_OK)
        hl_signature_end(&signature, out);
    hl_signature_fini(&signature);
    return status;
}

/* ---- sign ---- */

static void print_fields(const struct task *t, const struct hl_signature_text *s)
{
    FILE *out = t->cli->out;
    const char *service = t->config->service_name.p;
    unsigned long long seconds = t->unix_s;
    fprintf(out, "X-Request-Id: %s\n", t->id);
    fprintf(out, "X-%s-Webhook-Timestamp: %llu\n", service, seconds);
    fprintf(out, "X-%s-Webhook-Signature: v1,%s\n", service, s->hex);
    fprintf(out, "webhook-id: %s\n", t->id);
    fprintf(out, "webhook-timestamp: %llu\n", seconds);
    fprintf(out, "webhook-signature: v1,%s\n", s->base64);
}

int hl_cli_sign(const struct hl_cli *cli)
{
    struct task t = {.cli = cli, .unix_s = (uint64_t)hl_clock_wall_ms() / 1000};
    struct hl_signature_text text;
    int status = read_task(&t);
    if (t.signature)
        status =
            hl_cli_usage_error(cli, "\"sign\" makes the signature; to check one use \"verify\"");
    if (status == HL_CLI_OK)
        status = hl_cli_load_config(cli, &t.config);
    if (status == HL_CLI_OK)
        status = compute(&t, &text);
    if (status == HL_CLI_OK)
        print_fields(&t, &text);
    hl_config_free(t.config);
    return status;
}

/* ---- verify ---- */

static bool is_same(struct hl_str a, const char *b, size_t n)
{
    unsigned char difference = 0;
    for (size_t i = 0; a.n == n && i < n; i++)
        difference |= (unsigned char)(a.p[i] ^ b[i]);
    return a.n == n && difference == 0;
}

/* Either scheme's value; several, as Standard Webhooks has them while keys change, are separated by
 * blanks. The scheme that fits, or NULL. */
static const char *find_match(const char *given, const struct hl_signature_text *s)
{
    struct hl_str rest = hl_str_from(given);
    while (rest.n > 0) {
        const char *blank = memchr(rest.p, ' ', rest.n);
        struct hl_str one = {rest.p, blank ? (size_t)(blank - rest.p) : rest.n};
        size_t used = one.n + (blank ? 1 : 0);
        rest = (struct hl_str){rest.p + used, rest.n - used};
        if (!hl_str_starts_with(one, HL_STR("v1,")))
            continue;
        struct hl_str value = {one.p + 3, one.n - 3};
        if (is_same(value, s->hex, HL_SIGNATURE_HEX))
            return "X-…-Webhook-Signature";
        if (is_same(value, s->base64, HL_SIGNATURE_BASE64))
            return "webhook-signature";
    }
    return NULL;
}

int hl_cli_verify(const struct hl_cli *cli)
{
    struct task t = {.cli = cli};
    struct hl_signature_text text;
    int status = read_task(&t);
    if (hl_cli_need(cli, "--timestamp", t.timestamp) != HL_CLI_OK)
        status = HL_CLI_USAGE;
    if (hl_cli_need(cli, "--signature", t.signature) != HL_CLI_OK)
        status = HL_CLI_USAGE;
    if (status == HL_CLI_OK)
        status = hl_cli_load_config(cli, &t.config);
    if (status == HL_CLI_OK)
        status = compute(&t, &text);
    hl_config_free(t.config);
    if (status != HL_CLI_OK)
        return status;
    const char *scheme = find_match(t.signature, &text);
    if (!scheme)
        return hl_cli_fail(cli, "not verified: the id, the timestamp, the secret or a byte of the "
                                "body is not what was signed");
    fprintf(cli->out, "verified (%s)\n", scheme);
    return HL_CLI_OK;
}
