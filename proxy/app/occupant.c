/* occupant.c - who listens at the app's address before our own process does.
 * Owns: nothing; files in /proc for the length of a call. Thread: control.
 * Promise: what listens since the app was started counts as the app's, whoever started it (a
 * container engine may listen for it); what listened before and still does never does.
 * Not here: what follows from it (readiness.c, upstream_wait.c). */
#include "app/occupant.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/compiler.h"
#include "config/choice.h"
#include "net/address.h"

#define LISTENS 0x0a /* TCP_LISTEN, as /proc writes it */

struct listener {
    struct hl_ip ip;
    unsigned port;
    unsigned long inode;
};

/* ---- /proc/net/tcp and tcp6 ---- */

/* "0100007F" or four of those: words in network order, written as numbers of this machine. */
static bool parse_ip(const char *text, struct hl_ip *out)
{
    uint32_t words[4] = {0, 0, htonl(0xffff), 0};
    size_t n = strlen(text);
    if (n != 8 && n != 32)
        return false;
    for (size_t i = 0; i < n / 8; i++) {
        char word[9] = {0};
        memcpy(word, text + 8 * i, 8);
        words[n == 8 ? 3 : i] = (uint32_t)strtoul(word, NULL, 16);
    }
    memcpy(out->b, words, sizeof(out->b));
    return true;
}

/* False: the line is not a listener's. */
static bool parse_line(const char *line, struct listener *out)
{
    char ip[33];
    unsigned state;
    return sscanf(line, "%*d: %32[0-9A-F]:%x %*s %x %*s %*s %*s %*u %*u %lu", ip, &out->port,
               &state, &out->inode) == 4 &&
           state == LISTENS && parse_ip(ip, &out->ip);
}

/* Tells all sockets that listen on the port, of both families. The kernel lists those that listen
 * before the others, which may be many. */
static void each_listener(
    uint16_t port, void (*tell)(void *arg, const struct listener *listener), void *arg)
{
    static const char *const files[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    for (size_t i = 0; i < HL_ARRAY_LEN(files); i++) {
        char line[512];
        struct listener listener;
        FILE *file = fopen(files[i], "re");
        if (!file)
            continue;
        bool has_more = fgets(line, sizeof(line), file) != NULL; /* the heading */
        while (has_more && fgets(line, sizeof(line), file) && parse_line(line, &listener))
            if (listener.port == port)
                tell(arg, &listener);
        fclose(file);
    }
}

/* ---- before the start ---- */

/* Whoever listens there, at any address of the family, is in the way of this; a family that there is not is free. */
static bool is_free(int family, uint16_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const struct sockaddr *any = (const struct sockaddr *)&v4;
    socklen_t n = sizeof(v4);
    if (family == AF_INET6) {
        any = (const struct sockaddr *)&v6;
        n = sizeof(v6);
    }
    int on = 1, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno == EAFNOSUPPORT;
    /* What has been a connection of the last app's is in nobody's way. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    bool is_bound = bind(fd, any, n) == 0 || errno == EADDRNOTAVAIL;
    close(fd);
    return is_bound;
}

static void note_listener(void *arg, const struct listener *listener)
{
    struct hl_occupant *o = arg;
    if (o->count < HL_OCCUPANT_MAX)
        o->inodes[o->count++] = listener->inode;
}

void hl_occupant_note(struct hl_occupant *o, const struct hl_app_url *url)
{
    memset(o, 0, sizeof(*o));
    o->port = url->port;
    if (!url->is_unix && is_free(AF_INET, url->port) && is_free(AF_INET6, url->port))
        return; /* the kernel's lists are long: some ms */
    if (!url->is_unix)
        each_listener(url->port, note_listener, o);
    else if (lstat(url->path, &o->socket) != 0 || !S_ISSOCK(o->socket.st_mode))
        o->socket.st_ino = 0;
}

/* ---- after it ---- */

static bool is_any(const struct hl_ip *ip)
{
    static const struct hl_ip any = {{0}};
    static const struct hl_ip any_v4 = {{[10] = 0xff, [11] = 0xff}};
    return memcmp(ip, &any, sizeof(any)) == 0 || memcmp(ip, &any_v4, sizeof(any_v4)) == 0;
}

static bool takes(const struct hl_ip *listening, const struct hl_ip *asked)
{
    static const struct hl_ip any = {{0}}; /* takes both families */
    if (is_any(listening))
        return hl_ip_is_v4(listening) == hl_ip_is_v4(asked) ||
               memcmp(listening, &any, sizeof(any)) == 0;
    return memcmp(listening, asked, sizeof(*asked)) == 0;
}

static bool is_noted(const struct hl_occupant *o, unsigned long inode)
{
    for (unsigned i = 0; i < o->count; i++)
        if (o->inodes[i] == inode)
            return true;
    return false;
}

struct look {
    const struct hl_occupant *occupant;
    struct hl_ip asked;
    unsigned noted, others;
};

static void look_at_listener(void *arg, const struct listener *listener)
{
    struct look *look = arg;
    if (!takes(&listener->ip, &look->asked))
        return;
    if (is_noted(look->occupant, listener->inode))
        look->noted++;
    else
        look->others++;
}

/* Only addresses of this machine can be bound. */
static bool is_local(const struct sockaddr *address)
{
    struct sockaddr_storage any_port = {0};
    socklen_t n =
        address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    memcpy(&any_port, address, n);
    if (address->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)&any_port)->sin6_port = 0;
    else
        ((struct sockaddr_in *)&any_port)->sin_port = 0;
    int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool is_ours = bind(fd, (struct sockaddr *)&any_port, n) == 0;
    close(fd);
    return is_ours;
}

static bool is_same_socket(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

bool hl_occupant_holds(
    const struct hl_occupant *o, const struct hl_app_url *url, const struct sockaddr *address)
{
    struct stat now;
    struct look look = {.occupant = o};
    if (hl_occupant_is_nobody(o))
        return false;
    if (url->is_unix)
        return lstat(url->path, &now) == 0 && is_same_socket(&now, &o->socket);
    if (!hl_ip_from_sockaddr(address, &look.asked) || !is_local(address))
        return false;
    each_listener(o->port, look_at_listener, &look);
    return look.noted > 0 && look.others == 0;
}

/* ---- who it is ---- */

static bool has_socket(const char *process, const struct hl_occupant *o)
{
    char path[64];
    bool has = false;
    snprintf(path, sizeof(path), "/proc/%.20s/fd", process);
    DIR *list = opendir(path);
    if (!list)
        return false;
    struct dirent *entry;
    while (!has && (entry = readdir(list)) != NULL) {
        char target[64];
        unsigned long inode;
        ssize_t n = readlinkat(dirfd(list), entry->d_name, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        has = sscanf(target, "socket:[%lu]", &inode) == 1 && is_noted(o, inode);
    }
    closedir(list);
    return has;
}

static void read_name(struct hl_occupant_process *process)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)process->pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (fgets(process->name, sizeof(process->name), file))
        process->name[strcspn(process->name, "\n")] = '\0';
    fclose(file);
}

struct hl_occupant_process hl_occupant_find(const struct hl_occupant *o)
{
    struct hl_occupant_process found = {0};
    struct dirent *entry;
    DIR *processes = o->count > 0 ? opendir("/proc") : NULL;
    if (!processes)
        return found;
    while (found.pid == 0 && (entry = readdir(processes)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) && has_socket(entry->d_name, o))
            found.pid = (pid_t)strtol(entry->d_name, NULL, 10);
    closedir(processes);
    if (found.pid != 0)
        read_name(&found);
    return found;
}

/* ---- a socket that nobody listens on ---- */

void hl_occupant_clear_socket(const struct hl_app_url *url)
{
    struct stat st;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!url->is_unix || lstat(url->path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", url->path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED)
        unlink(url->path);
    close(fd);
}
