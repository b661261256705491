/* receiver.c - a thread per connection with blocking sockets: as plain as a server can be. It ends
 * with the test's process. */
#include "receiver.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct peer {
    struct receiver *receiver;
    int fd;
};

static void *serve(void *arg);
static void *talk(void *arg);

void receiver_start(struct receiver *r)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    *r = (struct receiver){.fd = socket(AF_INET, SOCK_STREAM, 0)};
    pthread_mutex_init(&r->lock, NULL);
    cr_assert_eq(bind(r->fd, (struct sockaddr *)&address, len), 0);
    cr_assert_eq(listen(r->fd, 128), 0);
    cr_assert_eq(getsockname(r->fd, (struct sockaddr *)&address, &len), 0);
    r->port = ntohs(address.sin_port);
    cr_assert_eq(pthread_create(&r->thread, NULL, serve, r), 0);
}

static void *serve(void *arg)
{
    struct receiver *r = arg;
    for (;;) {
        struct peer *peer = malloc(sizeof *peer);
        *peer = (struct peer){r, accept(r->fd, NULL, NULL)};
        pthread_t thread;
        pthread_mutex_lock(&r->lock);
        r->connections++;
        pthread_mutex_unlock(&r->lock);
        pthread_create(&thread, NULL, talk, peer);
        pthread_detach(thread);
    }
    return NULL;
}

static bool read_head(int fd, struct received *got)
{
    size_t n = 0;
    while (n < 4 || memcmp(got->head + n - 4, "\r\n\r\n", 4) != 0)
        if (n + 1 == sizeof got->head || recv(fd, got->head + n++, 1, 0) != 1)
            return false;
    got->head[n] = '\0';
    return sscanf(got->head, "POST %63s HTTP/1.1", got->path) == 1;
}

static bool read_body(int fd, struct received *got)
{
    const char *length = received_field(got, "Content-Length");
    got->body_n = length ? strtoul(length, NULL, 10) : 0;
    got->body = calloc(1, got->body_n + 1);
    return recv(fd, got->body, got->body_n, MSG_WAITALL) == (ssize_t)got->body_n;
}

static unsigned keep(struct receiver *r, const struct received *got)
{
    unsigned same = 1;
    pthread_mutex_lock(&r->lock);
    for (unsigned i = 0; i < r->count; i++)
        same += strcmp(r->got[i].path, got->path) == 0;
    cr_assert_lt(r->count, RECEIVER_KEPT);
    r->got[r->count++] = *got;
    r->now_in++;
    r->most_in = r->now_in > r->most_in ? r->now_in : r->most_in;
    pthread_mutex_unlock(&r->lock);
    return same;
}

static void say(int fd, const char *text)
{
    send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void say_status(int fd, unsigned status)
{
    char text[160];
    bool has_body = status != 204 && status != 304;
    snprintf(text, sizeof text, "HTTP/1.1 %u Any\r\nLocation: /elsewhere\r\n%s\r\n%s", status,
        has_body ? "Content-Length: 2\r\n" : "", has_body ? "ok" : "");
    say(fd, text);
}

static void say_later(int fd, unsigned status, unsigned seconds)
{
    char text[160];
    snprintf(text, sizeof text,
        "HTTP/1.1 %u Any\r\nRetry-After: %u\r\nContent-Type: text/plain\r\n"
        "Content-Length: 7\r\n\r\nnot now",
        status, seconds);
    say(fd, text);
}

/* False: the connection is over. */
static bool answer(int fd, const char *path, unsigned nth)
{
    unsigned status, seconds;
    if (sscanf(path, "/status/%u", &status) == 1)
        say_status(fd, status);
    else if (sscanf(path, "/later/%u/%u", &status, &seconds) == 2)
        say_later(fd, status, seconds);
    else if (sscanf(path, "/then/%u", &status) == 1)
        sleep(nth > 1 && strstr(path, "slow") ? 1 : 0), say_status(fd, nth == 1 ? status : 200);
    else if (strcmp(path, "/slow") == 0)
        usleep(200 * 1000), say_status(fd, 200);
    else if (strcmp(path, "/cut") == 0)
        return say(fd, "HTTP/1.1 200 OK\r\nX-Half: "), false;
    else if (strcmp(path, "/stall") == 0)
        return sleep(60), false;
    else if (strcmp(path, "/stall-body") == 0)
        return say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok"), sleep(60), false;
    else if (strcmp(path, "/drip") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\n\r\n");
        while (send(fd, "x", 1, MSG_NOSIGNAL) > 0)
            usleep(100 * 1000);
        return false;
    } else if (strcmp(path, "/large-head") == 0) {
        char block[1024];
        memset(block, 'x', sizeof block);
        say(fd, "HTTP/1.1 200 OK\r\nX-Large: ");
        for (unsigned i = 0; i < 200; i++)
            send(fd, block, sizeof block, MSG_NOSIGNAL);
        return say(fd, "\r\n\r\n"), sleep(60), false;
    } else if (strcmp(path, "/endless") == 0) {
        char block[4096] = {0};
        say(fd, "HTTP/1.1 200 OK\r\n\r\n");
        while (send(fd, block, sizeof block, MSG_NOSIGNAL) > 0)
            ;
        return false;
    } else
        return false;
    return true;
}

static void *talk(void *arg)
{
    struct peer *peer = arg;
    struct received got = {0};
    bool is_open = true;
    while (is_open && read_head(peer->fd, &got)) {
        if (strcmp(got.path, "/early") == 0) {
            keep(peer->receiver, &got);
            say(peer->fd, "HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            shutdown(peer->fd, SHUT_WR);
            while (recv(peer->fd, got.head, sizeof got.head, 0) > 0)
                ; /* closing with bytes unread would reset the connection and lose the answer */
            break;
        }
        if (!read_body(peer->fd, &got)) {
            free(got.body);
            break;
        }
        unsigned nth = keep(peer->receiver, &got);
        is_open = answer(peer->fd, got.path, nth);
        pthread_mutex_lock(&peer->receiver->lock);
        peer->receiver->now_in--;
        pthread_mutex_unlock(&peer->receiver->lock);
        got = (struct received){0};
    }
    close(peer->fd);
    free(peer);
    return NULL;
}

unsigned receiver_count(struct receiver *r, const char *path)
{
    unsigned n = 0;
    pthread_mutex_lock(&r->lock);
    for (unsigned i = 0; i < r->count; i++)
        n += strcmp(r->got[i].path, path) == 0;
    pthread_mutex_unlock(&r->lock);
    return n;
}

const struct received *receiver_got(struct receiver *r, unsigned i)
{
    pthread_mutex_lock(&r->lock);
    cr_assert_lt(i, r->count);
    pthread_mutex_unlock(&r->lock);
    return &r->got[i];
}

const char *received_field(const struct received *got, const char *name)
{
    static _Thread_local char value[512];
    size_t name_n = strlen(name);
    for (const char *line = got->head; line; line = strstr(line, "\r\n")) {
        line += line == got->head ? 0 : 2;
        if (strncasecmp(line, name, name_n) != 0 || line[name_n] != ':')
            continue;
        const char *from = line + name_n + 1 + (line[name_n + 1] == ' ');
        snprintf(value, sizeof value, "%.*s", (int)strcspn(from, "\r"), from);
        return value;
    }
    return NULL;
}
