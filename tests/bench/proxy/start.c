/* start.c - how long a program takes from fork to the first connection on its port, and its own
 * memory when it has been idle for a moment.
 *
 *   start PORT PROGRAM [ARGUMENT…]    prints "milliseconds KiB" */
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contender.h"
#include "exchange.h"

#define PAUSE_US 100
#define IDLE_US  700000
#define LIMIT_US 10000000

static bool connects(int port)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_connected = connect(fd, (struct sockaddr *)&in, sizeof in) == 0;
    close(fd);
    return is_connected;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int port = atoi(argv[1]);
    uint64_t start = exchange_now_us(), now;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    while (!connects(port)) {
        usleep(PAUSE_US);
        now = exchange_now_us();
        if (now > start + LIMIT_US || waitpid(pid, NULL, WNOHANG) != 0) {
            fprintf(stderr, "%s does not listen on port %d\n", argv[2], port);
            kill(pid, SIGKILL);
            return 1;
        }
    }
    now = exchange_now_us();
    usleep(IDLE_US);
    double kib = process_rss_kib(pid);
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    printf("%.1f %.0f\n", (double)(now - start) / 1000, kib);
    return 0;
}
