/* app.c - an app that hookline starts and stops: answers each request with when it began and when it listened, and notes in a
 * file what came to it, and what came after its SIGTERM. One thread; HTTP as far as hookline speaks it to an app.
 *
 *   app BOOK LOAD_MS     PORT in the environment; LOAD_MS: so long it does not listen
 *   app BOOK LOAD_MS N   starts itself N times, asks each as soon as it answers, and prints how many ms beyond its own start
 *                        each took: the floor */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PEERS   256
#define GOES_MS 5 /* from SIGTERM to the end */

static volatile sig_atomic_t is_going;
static struct pollfd peers[PEERS];
static char inbox[PEERS][8192];
static size_t filled[PEERS];
static int book;
static double began_ms, listened_ms;

static void on_term(int signum)
{
    (void)signum;
    is_going = 1;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void note(const char *what, const char *id, int n)
{
    char line[160];
    int length = snprintf(line, sizeof(line), "%s %.*s\n", what, n, id);
    if (write(book, line, (size_t)length) != length)
        abort();
}

static void answer(int fd, const char *request)
{
    char body[128], out[512];
    const char *id = strcasestr(request, "\r\nx-request-id: ");
    int id_n = id ? (int)strcspn(id + 16, "\r") : 0;
    note(is_going ? "late" : "seen", id ? id + 16 : "", id_n);
    if (strcasestr(request, "\r\nupgrade: ")) {
        snprintf(out, sizeof(out),
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "
            "websocket\r\n\r\n");
    } else {
        int n = snprintf(
            body, sizeof(body), "{\"began\":%.3f,\"listened\":%.3f}", began_ms, listened_ms);
        snprintf(out, sizeof(out),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", n,
            body);
    }
    (void)!write(fd, out, strlen(out));
}

static void leave(int i)
{
    close(peers[i].fd);
    peers[i].fd = -1;
    filled[i] = 0;
}

/* Requests have no body. */
static void hear(int i)
{
    ssize_t n = read(peers[i].fd, inbox[i] + filled[i], sizeof(inbox[i]) - 1 - filled[i]);
    if (n <= 0) {
        leave(i);
        return;
    }
    filled[i] += (size_t)n;
    inbox[i][filled[i]] = '\0';
    if (!strstr(inbox[i], "\r\n\r\n"))
        return;
    filled[i] = 0;
    answer(peers[i].fd, inbox[i]);
}

static void meet(int fd)
{
    for (int i = 1; i < PEERS; i++)
        if (peers[i].fd < 0) {
            peers[i] = (struct pollfd){.fd = fd, .events = POLLIN};
            return;
        }
    close(fd);
}

static int open_listener(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(getenv("PORT"))),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(fd, 512) != 0)
        abort();
    return fd;
}

/* Connects again and again until it is answered: its own start, in ms. */
static double ask_soon(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(getenv("PORT"))),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static const char request[] = "POST /run HTTP/1.1\r\nHost: h\r\n\r\n";
    double began = 0, listened = 0;
    char in[1024];
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        ssize_t n = 0;
        if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
            write(fd, request, sizeof(request) - 1) > 0)
            n = read(fd, in, sizeof(in) - 1);
        close(fd);
        if (n > 0) {
            in[n] = '\0';
            sscanf(strchr(in, '{'), "{\"began\":%lf,\"listened\":%lf}", &began, &listened);
            return listened - began;
        }
        usleep(1000);
    }
}

static int find_floor(char **argv)
{
    for (int i = 0; i < atoi(argv[3]); i++) {
        double asked_ms = now_ms();
        pid_t pid = fork();
        if (pid == 0) {
            execl(argv[0], argv[0], argv[1], argv[2], NULL);
            _exit(1);
        }
        double own_ms = ask_soon();
        printf("%.3f\n", now_ms() - asked_ms - own_ms);
        kill(pid, SIGTERM);
        waitpid(pid, NULL, 0);
    }
    return 0;
}

int main(int argc, char **argv)
{
    began_ms = now_ms();
    if (argc == 4)
        return find_floor(argv);
    if (argc != 3)
        return 2;
    signal(SIGTERM, on_term);
    signal(SIGPIPE, SIG_IGN);
    book = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
    usleep((useconds_t)atoi(argv[2]) * 1000);
    for (int i = 0; i < PEERS; i++)
        peers[i].fd = -1;
    peers[0] = (struct pollfd){.fd = open_listener(), .events = POLLIN};
    listened_ms = now_ms();
    for (double gone_ms = 0; gone_ms == 0 || now_ms() - gone_ms < GOES_MS;) {
        poll(peers, PEERS, is_going ? 1 : -1);
        if (is_going && gone_ms == 0)
            gone_ms = now_ms();
        int fd;
        while ((fd = accept(peers[0].fd, NULL, NULL)) >= 0)
            meet(fd);
        for (int i = 1; i < PEERS; i++)
            if (peers[i].fd >= 0 && peers[i].revents)
                hear(i);
    }
    return 0;
}
