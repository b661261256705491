/* health.c - `hookline health`: asks the sidecar of this environment whether it is ready, so that a
 * container's health check needs no HTTP client in the image. By the admin listener, or the
 * control socket in HOOKLINE_DATA_DIR where nothing answers there.
 *
 * With HOOKLINE_ADMIN_TLS the certificate is for the names that admins use, not for this machine's address, and
 * is not verified: nothing secret is sent, and what is said is whether this machine's own listener is ready. */
#include "cli/catalog.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/fetch.h"
#include "cli/server.h"
#include "config/choice.h"
#include "config/config.h"
#include "net/address.h"

#define DEADLINE_MS 3000
#define ANSWER_MAX  4096 /* of an answer as much as says why not */

static int say(const struct hl_cli *cli, const char *where, const char *what)
{
    fprintf(cli->err, "not ready: %s: %s\n", where, what);
    return HL_CLI_FAILED;
}

struct answer {
    struct hl_cli_fetch fetch;
    char text[ANSWER_MAX]; /* the beginning of its body */
    size_t n;
};

static bool on_bytes(struct hl_cli_fetch *fetch, struct hl_str bytes)
{
    struct answer *a = HL_CONTAINER_OF(fetch, struct answer, fetch);
    size_t room = sizeof(a->text) - a->n, n = bytes.n < room ? bytes.n : room;
    memcpy(a->text + a->n, bytes.p, n);
    a->n += n;
    return a->n < sizeof(a->text);
}

static int judge(const struct hl_cli *cli, const char *where, const struct answer *a)
{
    char line[256];
    if (a->fetch.status == 200)
        return HL_CLI_OK;
    snprintf(line, sizeof(line), "%u %.*s", a->fetch.status, (int)a->n, a->text);
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    }
    return say(cli, where, line);
}

/* What is no HTTP is not told in libcurl's words for it. */
static const char *failure(const struct hl_cli_fetch *fetch)
{
    return fetch->is_late || fetch->error ? hl_cli_fetch_error(fetch)
                                          : "what answers there is not hookline";
}

/* By the control socket: where the admin listener is, this environment need not know. False: nobody
 * answers there. */
static bool ask_by_socket(const struct hl_config *config, struct answer *a)
{
    struct hl_cli_server server;
    struct hl_cli_fetch connecting;
    if (!hl_cli_server_open_here(&server, config->data_dir.p, &connecting))
        return false;
    a->fetch = (struct hl_cli_fetch){.method = "GET",
        .url = "http://localhost/readyz",
        .socket_path = server.control.text,
        .limit_ms = DEADLINE_MS,
        .on_bytes = on_bytes};
    a->n = 0;
    bool is_whole = hl_cli_fetch_try(&a->fetch) || a->fetch.status > 0;
    hl_cli_server_close(&server);
    return is_whole;
}

static int ask(const struct hl_cli *cli, const struct hl_config *config)
{
    const struct hl_listen_address *listen = &config->admin_listen.items[0];
    static const char *const fields[] = {
        "User-Agent: hookline-health/" HL_VERSION, "Connection: close", NULL};
    char host[HL_ADDRESS_HOST], url[HL_ADDRESS_HOST + 32];
    struct sockaddr_storage addr = hl_address_reach(&listen->addr);
    hl_address_write_host(&addr, host);
    snprintf(url, sizeof(url), "%s://%s%s/readyz", config->admin_tls ? "https" : "http", host,
        strrchr(listen->text, ':'));
    struct answer a = {.fetch = {.method = "GET",
                           .url = url,
                           .fields = fields,
                           .is_here = true,
                           .is_believed = true,
                           .limit_ms = DEADLINE_MS,
                           .on_bytes = on_bytes}};
    bool is_whole = hl_cli_fetch_try(&a.fetch);
    if (is_whole || (a.fetch.status > 0 && !a.fetch.is_late))
        return judge(cli, listen->text, &a);
    struct answer other = {.n = 0};
    if (ask_by_socket(config, &other))
        return judge(cli, "the control socket", &other);
    return say(cli, listen->text, failure(&a.fetch));
}

int hl_cli_health(const struct hl_cli *cli)
{
    struct hl_config *config;
    int status = hl_cli_load_config(cli, &config);
    if (status == HL_CLI_OK)
        status = ask(cli, config);
    hl_config_free(config);
    return status;
}
