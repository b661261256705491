#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/catalog.h"
#include "cli/cli.h"

/* A server that takes one connection, reads the request and gives its answer in two pieces. */
struct server {
    int fd;
    const char *answer; /* NULL: none, the connection stays open */
    char request[1024];
    pthread_t thread;
};

static char entry[64], errors[1024];

static void *answer_one(void *arg)
{
    struct server *server = arg;
    int fd = accept(server->fd, NULL, NULL);
    ssize_t n = read(fd, server->request, sizeof(server->request) - 1);
    server->request[n > 0 ? n : 0] = '\0';
    if (server->answer) {
        size_t half = strlen(server->answer) / 2;
        cr_assert_eq(write(fd, server->answer, half), (ssize_t)half);
        cr_assert_geq(write(fd, server->answer + half, strlen(server->answer) - half), 0);
        close(fd);
    }
    return NULL;
}

static void start_server(struct server *server, const char *answer)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(in);
    server->answer = answer;
    server->fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(server->fd, (struct sockaddr *)&in, sizeof(in)), 0);
    cr_assert_eq(listen(server->fd, 1), 0);
    cr_assert_eq(getsockname(server->fd, (struct sockaddr *)&in, &n), 0);
    snprintf(entry, sizeof(entry), "HOOKLINE_ADMIN_LISTEN=0.0.0.0:%d", ntohs(in.sin_port));
    cr_assert_eq(pthread_create(&server->thread, NULL, answer_one, server), 0);
}

static int run_health(void)
{
    char *variables[] = {entry, NULL};
    FILE *err = tmpfile();
    struct hl_cli cli = {.environ = variables, .out = stdout, .err = err};
    int status = hl_cli_health(&cli);
    rewind(err);
    errors[fread(errors, 1, sizeof(errors) - 1, err)] = '\0';
    fclose(err);
    return status;
}

Test(health, is_ready_on_200, .timeout = 180)
{
    struct server server;
    start_server(&server, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n");
    cr_assert_eq(run_health(), HL_CLI_OK);
    cr_assert_str_empty(errors);
    pthread_join(server.thread, NULL);
    cr_assert(strstr(server.request, "GET /readyz HTTP/1.1\r\nHost: "));
    cr_assert(strstr(server.request, "Connection: close\r\n"));
}

Test(health, says_in_one_line_why_not, .timeout = 180)
{
    struct server server;
    start_server(&server, "HTTP/1.1 503 Service Unavailable\r\n\r\nthe app is\n\x1b[1m starting\n");
    cr_assert_eq(run_health(), HL_CLI_FAILED);
    cr_assert_eq(strncmp(errors, "not ready: 0.0.0.0:", 19), 0);
    cr_assert(strstr(errors, ": 503 the app is  [1m starting \n"), "%s", errors);
    cr_assert_eq(strchr(errors, '\n'), errors + strlen(errors) - 1);
    pthread_join(server.thread, NULL);
}

Test(health, takes_nobody_elses_word, .timeout = 180)
{
    struct server server;
    start_server(&server, "220 smtp.example ESMTP\r\n");
    cr_assert_eq(run_health(), HL_CLI_FAILED);
    cr_assert(strstr(errors, "what answers there is not hookline\n"));
    pthread_join(server.thread, NULL);
}

Test(health, gives_up_on_a_silent_server, .timeout = 180)
{
    struct server server;
    uint64_t start = hl_clock_mono_ms();
    start_server(&server, NULL);
    cr_assert_eq(run_health(), HL_CLI_FAILED);
    uint64_t took = hl_clock_mono_ms() - start;
    cr_assert(took >= 2900 && took < 6000, "%d ms", (int)took);
    cr_assert(strstr(errors, "no answer in time\n"));
    pthread_join(server.thread, NULL);
}

Test(health, fails_when_nothing_listens, .timeout = 180)
{
    snprintf(entry, sizeof(entry), "HOOKLINE_ADMIN_LISTEN=127.0.0.1:1");
    cr_assert_eq(run_health(), HL_CLI_FAILED);
    cr_assert(strstr(errors, "not ready: 127.0.0.1:1: Connection refused\n"));
}

Test(health, tells_wrong_settings_from_not_ready, .timeout = 180)
{
    snprintf(entry, sizeof(entry), "HOOKLINE_ADMIN_LISTEN=nowhere");
    cr_assert_eq(run_health(), HL_CLI_USAGE);
    cr_assert(strstr(errors, "hookline: HOOKLINE_ADMIN_LISTEN: \"nowhere\" is not allowed"));
}
