/* health.c - `hookline health`: asks the sidecar of this environment whether it is ready, so that a
 * container's health check needs no HTTP client in the image. */
#include "cli/health.h"

#include <errno.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "cli/socket.h"
#include "config/choice.h"
#include "config/config.h"
#include "net/address.h"

#define DEADLINE_MS 3000
#define ANSWER_MAX  4096 /* of an answer as much as says why not */

static int say(const struct hl_cli *cli, const struct hl_listen_address *listen, const char *what)
{
    fprintf(cli->err, "not ready: %s: %s\n", listen->text, what);
    return HL_CLI_FAILED;
}

/* `answer` ends with a NUL. */
static int judge(
    const struct hl_cli *cli, const struct hl_listen_address *listen, const char *answer)
{
    char line[256];
    int status = 0;
    if (sscanf(answer, "HTTP/1.1 %3d", &status) != 1)
        return say(cli, listen, "what answers there is not hookline");
    if (status == 200)
        return HL_CLI_OK;
    const char *body = strstr(answer, "\r\n\r\n");
    snprintf(line, sizeof(line), "%d %s", status, body ? body + 4 : "");
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    }
    return say(cli, listen, line);
}

static int ask(const struct hl_cli *cli, const struct hl_listen_address *listen)
{
    const struct hl_str request = HL_STR("GET /readyz HTTP/1.1\r\nHost: localhost\r\n"
                                         "User-Agent: hookline-health/" HL_VERSION "\r\n"
                                         "Connection: close\r\n\r\n");
    struct sockaddr_storage addr = hl_address_reach(&listen->addr);
    struct hl_cli_socket s = {.fd = -1};
    struct hl_buf answer;
    hl_buf_init(&answer, ANSWER_MAX);
    int error = hl_cli_socket_connect(&s, (struct sockaddr *)&addr, listen->addr_len, DEADLINE_MS);
    if (!error)
        error = hl_cli_socket_send(&s, request);
    if (!error)
        error = hl_cli_socket_read(&s, &answer);
    answer.max = 0;
    if (!error && hl_buf_append(&answer, "", 1) != HL_OK)
        error = ENOMEM;
    int status =
        error ? say(cli, listen, hl_cli_socket_error(error)) : judge(cli, listen, answer.p);
    hl_cli_socket_close(&s);
    hl_buf_fini(&answer);
    return status;
}

int hl_cli_health(const struct hl_cli *cli)
{
    struct hl_config *config;
    int status = hl_cli_load_config(cli, &config);
    if (status == HL_CLI_OK)
        status = ask(cli, &config->admin_listen.items[0]);
    hl_config_free(config);
    return status;
}
