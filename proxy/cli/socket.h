/* socket.h - one blocking question to a running sidecar: a request out, an answer in, all within a
 * deadline. */
#ifndef HL_CLI_SOCKET_H
#define HL_CLI_SOCKET_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/compiler.h"

struct hl_buf;
struct hl_str;

struct hl_cli_socket {
    int fd;            /* -1: not open */
    uint64_t deadline; /* hl_clock_mono_ms() */
};

/* All return 0 or an errno value; ETIMEDOUT: the deadline has passed. */
HL_MUST_CHECK int hl_cli_socket_connect(
    struct hl_cli_socket *s, const struct sockaddr *address, socklen_t len, uint64_t deadline_ms);
HL_MUST_CHECK int hl_cli_socket_send(struct hl_cli_socket *s, struct hl_str bytes);
/* What has come, once anything has; nothing is appended once the peer has closed. */
HL_MUST_CHECK int hl_cli_socket_read_some(struct hl_cli_socket *s, struct hl_buf *out);
/* Until the peer closes, or `out` is full (which is no error). */
HL_MUST_CHECK int hl_cli_socket_read(struct hl_cli_socket *s, struct hl_buf *out);
void hl_cli_socket_close(struct hl_cli_socket *s);

/* In words; the deadline as "no answer in time". */
const char *hl_cli_socket_error(int error);

#endif
