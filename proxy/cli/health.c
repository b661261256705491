/* health.c - `hookline health`: asks the sidecar of this environment whether it is ready, so that a
 * container's health check needs no HTTP client in the image. One blocking socket, DEADLINE_MS in
 * all. */
#include "cli/cli.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"

#define DEADLINE_MS 3000
#define ANSWER_CAP  4096 /* of an answer as much as says why not */

struct probe {
    const struct hl_cli *cli;
    const struct hl_listen_address *listen;
    uint64_t deadline; /* hl_clock_mono_ms() */
    int fd;
    size_t n;
    char answer[ANSWER_CAP + 1];
};

static int say(const struct probe *probe, const char *what)
{
    fprintf(probe->cli->err, "not ready: %s: %s\n", probe->listen->text, what);
    return HL_CLI_FAILED;
}

/* A listener that is bound to any address is reached through the loopback one. */
static struct sockaddr_storage reachable(const struct hl_listen_address *listen)
{
    struct sockaddr_storage addr = listen->addr;
    struct sockaddr_in *in = (struct sockaddr_in *)&addr;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;
    if (addr.ss_family == AF_INET && in->sin_addr.s_addr == htonl(INADDR_ANY))
        in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (addr.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))
        in6->sin6_addr = in6addr_loopback;
    return addr;
}

/* What is left of the time becomes the limit of the next call. False: nothing is left. */
static bool limit_next_call(struct probe *probe)
{
    uint64_t now = hl_clock_mono_ms();
    if (now >= probe->deadline)
        return false;
    uint64_t left = probe->deadline - now;
    struct timeval tv = {(time_t)(left / 1000), (suseconds_t)(left % 1000 * 1000)};
    return setsockopt(probe->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) == 0 &&
           setsockopt(probe->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0;
}

/* Texts for errno after a call that may have met its time limit. */
static const char *why(void)
{
    bool is_late = errno == EAGAIN || errno == EINPROGRESS;
    return is_late ? "no answer in time" : strerror(errno);
}

static bool send_request(struct probe *probe)
{
    static const char request[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n"
                                  "User-Agent: hookline-health/" HL_VERSION "\r\n"
                                  "Connection: close\r\n\r\n";
    struct sockaddr_storage addr = reachable(probe->listen);
    errno = EAGAIN;
    return limit_next_call(probe) &&
           connect(probe->fd, (struct sockaddr *)&addr, probe->listen->addr_len) == 0 &&
           send(probe->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == sizeof(request) - 1;
}

static bool read_answer(struct probe *probe)
{
    for (;;) {
        errno = EAGAIN;
        if (!limit_next_call(probe))
            return false;
        ssize_t n = recv(probe->fd, probe->answer + probe->n, ANSWER_CAP - probe->n, 0);
        if (n < 0)
            return false;
        probe->n += (size_t)n;
        if (n == 0 || probe->n == ANSWER_CAP)
            break;
    }
    probe->answer[probe->n] = '\0';
    return true;
}

static int judge(const struct probe *probe)
{
    char line[256];
    int status = 0;
    if (sscanf(probe->answer, "HTTP/1.1 %3d", &status) != 1)
        return say(probe, "what answers there is not hookline");
    if (status == 200)
        return HL_CLI_OK;
    const char *body = strstr(probe->answer, "\r\n\r\n");
    snprintf(line, sizeof(line), "%d %s", status, body ? body + 4 : "");
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    }
    return say(probe, line);
}

static int ask(struct probe *probe)
{
    int status;
    probe->fd = socket(probe->listen->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe->fd < 0)
        return say(probe, strerror(errno));
    status = send_request(probe) && read_answer(probe) ? judge(probe) : say(probe, why());
    close(probe->fd);
    return status;
}

int hl_cli_health(const struct hl_cli *cli)
{
    struct hl_config *config;
    int status = hl_cli_load_config(cli, &config);
    if (status == HL_CLI_OK) {
        struct probe probe = {.cli = cli,
            .listen = &config->admin_listen.items[0],
            .deadline = hl_clock_mono_ms() + DEADLINE_MS};
        status = ask(&probe);
    }
    hl_config_free(config);
    return status;
}
