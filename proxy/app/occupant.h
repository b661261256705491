/* occupant.h - the process that already listens at the app's address before we start the app: it
 * is not the app, whatever it answers, and ours will fail to bind there. */
#ifndef HL_APP_OCCUPANT_H
#define HL_APP_OCCUPANT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

struct hl_app_url;
struct sockaddr;

#define HL_OCCUPANT_MAX 16

/* All zeros: nobody. */
struct hl_occupant {
    unsigned long inodes[HL_OCCUPANT_MAX]; /* of sockets that listen on the port */
    unsigned count;
    uint16_t port;
    struct stat socket; /* st_ino 0: none at the path */
};

struct hl_occupant_process {
    pid_t pid; /* 0: not known, such as one of another user */
    char name[16];
};

/* Who listens now. Reads /proc/net/tcp up to the last listener; nobody where that cannot be read. */
void hl_occupant_note(struct hl_occupant *o, const struct hl_app_url *url);
/* Whether they alone still listen at that address of this machine; NULL: at the unix: path. */
bool hl_occupant_holds(
    const struct hl_occupant *o, const struct hl_app_url *url, const struct sockaddr *address);
/* A server that was killed leaves its socket behind, and the next one cannot bind: at a unix: path where nobody listens
 * it goes. */
void hl_occupant_clear_socket(const struct hl_app_url *url);
/* Looks through /proc for the process. */
struct hl_occupant_process hl_occupant_find(const struct hl_occupant *o);

static inline bool hl_occupant_is_nobody(const struct hl_occupant *o)
{
    return o->count == 0 && o->socket.st_ino == 0;
}

#endif
