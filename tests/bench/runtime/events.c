/* events.c - how long a yielded value takes to its caller: each event is the time (CLOCK_MONOTONIC,
 * nanoseconds) at which the function yielded it.
 *
 *   events [-n EVENTS] name:port:path…    medians over the events, after the first few */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX 4096
#define WARM       20 /* events that do not count */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int open_stream(int port, const char *path, int events)
{
    char request[512], body[64];
    struct sockaddr_in in = {.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&in, sizeof in) != 0)
        fail("connect");
    int body_n = snprintf(body, sizeof body, "{\"n\": %d}", events);
    int n = snprintf(request, sizeof request,
        "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n"
        "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
        path, body_n, body);
    if (write(fd, request, (size_t)n) != n)
        fail("write");
    return fd;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A read is one event as long as the events are further apart than they take. */
static int read_delays(int fd, int events, int64_t *delays)
{
    char bytes[4096];
    int n = 0;
    for (ssize_t got; n < events && (got = read(fd, bytes, sizeof bytes - 1)) > 0;) {
        int64_t now = now_ns();
        bytes[got] = 0;
        const char *data = strstr(bytes, "data: ");
        if (data)
            delays[n++] = now - strtoll(data + 6, NULL, 10);
    }
    return n;
}

static void measure(const char *contender, int events)
{
    static int64_t delays[EVENTS_MAX];
    char name[24], path[64];
    int port;
    if (sscanf(contender, "%23[^:]:%d:%63s", name, &port, path) != 3)
        exit(2);
    int fd = open_stream(port, path, events + WARM);
    int n = read_delays(fd, events + WARM, delays) - WARM;
    close(fd);
    if (n <= 0) {
        fprintf(stderr, "%s: no events\n", name);
        exit(1);
    }
    qsort(delays + WARM, (size_t)n, sizeof *delays, compare);
    printf("%-18s %9.1f %9.1f\n", name, (double)delays[WARM + n / 2] / 1e3,
        (double)delays[WARM + n * 99 / 100] / 1e3);
}

int main(int argc, char **argv)
{
    int events = 500;
    for (int option; (option = getopt(argc, argv, "n:")) > 0;)
        events = option == 'n' ? atoi(optarg) : 0;
    if (optind == argc || events <= 0 || events > EVENTS_MAX - WARM)
        exit(2);
    printf("%-18s %9s %9s\n", "", "p50 us", "p99 us");
    for (int i = optind; i < argc; i++)
        measure(argv[i], events);
    return 0;
}
