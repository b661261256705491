/* replica.h - another replica, as a follower sees it: one port on loopback, one connection, which says what the
 * test says. And a store that shares keys with it. */
#ifndef HL_TEST_BODY_REPLICA_H
#define HL_TEST_BODY_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of its listener. */
extern char replica_url[64];

/* The fake store's functions take it; passes can be written with it. */
struct hl_store *replica_store(void);

/* Anew, if it was closed. */
void replica_listen(void);
/* Somebody has connected. */
bool replica_is_called(void);
/* All that has come on the connection holds this. */
bool replica_has_got(const char *part);
/* A field's value in it, NUL-terminated; or NULL. */
const char *replica_field(const char *name);
void replica_say(const char *text);
/* What it says first about the run of whoever asks here. */
#define REPLICA_ABOUT "X-Request-Id: 01020300-0000-0000-0000-000000000000\r\n"
/* As much as its socket takes; returns how much. */
size_t replica_pour(const char *p, size_t n);
/* The other side has left. */
bool replica_is_left(void);
/* The connection, and the port. */
void replica_close(void);

#endif
