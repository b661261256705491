/* flood.c - somebody who sends calls at a rate of his choice, on 64 connections: with bad tokens, each another one, all of them
 * well-formed, of a known key and in time, so that only the signature tells; or without, with a query.
 *
 *   flood PORT CALLS_PER_SECOND SECONDS TOKEN      TOKEN is "header.claims"
 *   flood PORT CALLS_PER_SECOND SECONDS ?QUERY
 *
 * Prints how many were answered with which status. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exchange.h"

#define CONNECTIONS 64
#define SIGNATURE   86 /* characters: 64 bytes in base64url */

struct caller {
    int fd;
    size_t got;
    char answer[4096];
};

static struct caller callers[CONNECTIONS];
static uint64_t statuses[600];

static int open_caller(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        perror("flood: connect");
        exit(1);
    }
    return fd;
}

static int write_plain(char *text, size_t size, const char *query)
{
    return snprintf(
        text, size, "POST /v4/p/a/run%s HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", query);
}

static int write_signed(char *text, size_t size, const char *token)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char signature[SIGNATURE + 1];
    for (size_t i = 0; i < SIGNATURE - 1; i++)
        signature[i] = letters[rand() % 64];
    signature[SIGNATURE - 1] = 'A'; /* no bits left over */
    signature[SIGNATURE] = '\0';
    return snprintf(text, size,
        "POST /v4/p/a/run HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s.%s\r\n"
        "Content-Length: 0\r\n\r\n",
        token, signature);
}

static void send_call(struct caller *caller, const char *what)
{
    char text[4096];
    int n = (*what == '?' ? write_plain : write_signed)(text, sizeof text, what);
    caller->got = 0;
    if (write(caller->fd, text, (size_t)n) != n) {
        perror("flood: write");
        exit(1);
    }
}

/* True: the answer is whole. hookline's own have a Content-Length. */
static int take_answer(struct caller *caller)
{
    ssize_t n =
        read(caller->fd, caller->answer + caller->got, sizeof caller->answer - 1 - caller->got);
    if (n <= 0) {
        fprintf(stderr, "flood: a connection ended\n");
        exit(1);
    }
    caller->got += (size_t)n;
    caller->answer[caller->got] = '\0';
    const char *end = strstr(caller->answer, "\r\n\r\n");
    const char *length = strstr(caller->answer, "Content-Length: ");
    if (!end || !length ||
        caller->got < (size_t)(end + 4 - caller->answer) + (size_t)atol(length + 16))
        return 0;
    statuses[atoi(caller->answer + 9) % 600]++;
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    struct pollfd polls[CONNECTIONS];
    double rate = atof(argv[2]), seconds = atof(argv[3]);
    for (int i = 0; i < CONNECTIONS; i++) {
        callers[i].fd = open_caller(atoi(argv[1]));
        polls[i] = (struct pollfd){.fd = callers[i].fd};
    }
    uint64_t start = exchange_now_us(), sent = 0;
    for (double at = 0; at < seconds; at = (double)(exchange_now_us() - start) / 1e6) {
        for (int i = 0; i < CONNECTIONS && (double)sent < rate * at; i++) {
            if (polls[i].events)
                continue;
            send_call(&callers[i], argv[4]);
            polls[i].events = POLLIN;
            sent++;
        }
        if (poll(polls, CONNECTIONS, 1) < 0 && errno != EINTR)
            return 1;
        for (int i = 0; i < CONNECTIONS; i++)
            if ((polls[i].revents & POLLIN) && take_answer(&callers[i]))
                polls[i].events = 0;
    }
    printf("beside them: %lu answered with 202, %lu with 401, %lu with 503, in %.1f s\n",
        statuses[202], statuses[401], statuses[503], seconds);
    return 0;
}
