/* app.c - an app for any root file system, built for its libc or for none: an HTTP server on PORT that answers each
 * request with its environment, what it was called, and the files that lie in its memory, a line each. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

static void tell_files(FILE *out)
{
    char line[4096], *path;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        if ((path = strchr(line, '/')))
            fprintf(out, "file %s", path);
    if (maps)
        fclose(maps);
}

static void answer(int fd, const char *name)
{
    char head[16384], *body = NULL;
    size_t got = 0, len = 0;
    while (got < sizeof(head) - 1 && !memmem(head, got, "\r\n\r\n", 4)) {
        ssize_t n = read(fd, head + got, sizeof(head) - 1 - got);
        if (n <= 0)
            return;
        got += (size_t)n;
    }
    FILE *out = open_memstream(&body, &len);
    fprintf(out, "name %s\nuser %u:%u\n", name, (unsigned)getuid(), (unsigned)getgid());
    for (char **entry = environ; *entry; entry++)
        fprintf(out, "variable %s\n", *entry);
    tell_files(out);
    fclose(out);
    dprintf(fd,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: "
        "%zu\r\n\r\n%s",
        len, body);
    free(body);
}

int main(int argc, char **argv)
{
    const char *port = getenv("PORT");
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET,
        .sin_port = htons((unsigned short)atoi(port ? port : "0")),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    signal(SIGPIPE, SIG_IGN);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (argc < 1 || bind(listener, (struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(listener, 64) != 0)
        return perror("app"), 1;
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd))
        answer(fd, argv[0]);
    return 0;
}
