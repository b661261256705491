/* cause.h - why the app is not reached or not ready, in words: the same for /readyz, the log and the
 * answer to a call. The texts are static and name settings, never addresses. */
#ifndef HL_APP_CAUSE_H
#define HL_APP_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

/* What tells more stands further down: of several addresses the most telling one is shown. */
enum hl_cause_kind {
    HL_CAUSE_NONE,
    HL_CAUSE_OTHER,   /* `error` is all that is known */
    HL_CAUSE_SHORT,   /* this process has no descriptor or no memory: nothing is known of the app */
    HL_CAUSE_NO_PORT, /* on this machine */
    HL_CAUSE_UNRESOLVED,
    HL_CAUSE_NO_NAME_SERVER,
    HL_CAUSE_NO_ROUTE,
    HL_CAUSE_NO_SOCKET, /* the path of a unix: address */
    HL_CAUSE_NOT_PERMITTED,
    HL_CAUSE_REFUSED,
    HL_CAUSE_CONNECT_TIMEOUT,
    HL_CAUSE_TLS_OTHER, /* tls/tls.h */
    HL_CAUSE_TLS_LEFT,
    HL_CAUSE_TLS_REFUSED,
    HL_CAUSE_TLS_PLAIN,
    HL_CAUSE_TLS_UNTRUSTED,
    HL_CAUSE_TLS_NAME,
    HL_CAUSE_TLS_DATES,
    HL_CAUSE_HEALTH_TIMEOUT,
    HL_CAUSE_HEALTH_CLOSED,
    HL_CAUSE_HEALTH_NO_HTTP,
    HL_CAUSE_HEALTH_STATUS,
    HL_CAUSE_OCCUPIED, /* app/occupant.h */
    HL_CAUSE_COUNT
};

struct hl_cause {
    enum hl_cause_kind kind;
    uint16_t status; /* HEALTH_STATUS */
    int error;       /* libuv's, or a hl_tls_fault, behind it; 0: none */
};

/* Of a connect, a handshake or a look-up that ended with this code. */
struct hl_cause hl_cause_of(int error);
/* Static. */
const char *hl_cause_text(struct hl_cause cause);

/* It is not the app that lacks something. */
static inline bool hl_cause_is_lack(struct hl_cause cause)
{
    return cause.kind == HL_CAUSE_NO_PORT || cause.kind == HL_CAUSE_SHORT;
}

/* The app may just be busy. */
static inline bool hl_cause_is_timeout(struct hl_cause cause)
{
    return cause.kind == HL_CAUSE_CONNECT_TIMEOUT || cause.kind == HL_CAUSE_HEALTH_TIMEOUT;
}

#endif
