/* cause.c - why the app is not reached or not ready.
 * Thread: any; constants.
 * Not here: what follows from it (readiness.c, upstream_wait.c). */
#include "app/cause.h"

#include <uv.h>

#include "base/compiler.h"
#include "tls/tls.h"

#define UNREACHED "the app cannot be reached: "
#define UNSAFE    UNREACHED "its certificate "

static const char *const texts[HL_CAUSE_COUNT] = {
    [HL_CAUSE_NONE] = "the app is not ready yet",
    [HL_CAUSE_OTHER] = "the app cannot be reached; the log has the error",
    [HL_CAUSE_SHORT] = "hookline itself is out of file descriptors or memory; raise the limit of "
                       "open files, or lower HOOKLINE_MAX_CONNECTIONS",
    [HL_CAUSE_NO_PORT] = UNREACHED "no local address or port is free for another connection",
    [HL_CAUSE_UNRESOLVED] = UNREACHED "its host name does not resolve; check HOOKLINE_APP_URL",
    [HL_CAUSE_NO_NAME_SERVER] = UNREACHED "no name server answers for its host name",
    [HL_CAUSE_NO_ROUTE] = UNREACHED "no route to its host; check HOOKLINE_APP_URL",
    [HL_CAUSE_NO_SOCKET] = UNREACHED "its unix socket does not exist; it is not running, or not "
                                     "listening where HOOKLINE_APP_URL says",
    [HL_CAUSE_NOT_PERMITTED] = UNREACHED "permission denied; hookline's user must be allowed to "
                                         "write to the socket of HOOKLINE_APP_URL",
    [HL_CAUSE_REFUSED] = UNREACHED
    "connection refused; it is not running, or not listening where HOOKLINE_APP_URL says",
    [HL_CAUSE_CONNECT_TIMEOUT] =
        UNREACHED "connecting timed out; check HOOKLINE_APP_URL and the network in between",
    [HL_CAUSE_TLS_OTHER] =
        UNREACHED "the TLS handshake with it failed; the log has more at level debug",
    [HL_CAUSE_TLS_LEFT] =
        UNREACHED "it closed the connection during the TLS handshake; does it speak TLS "
                  "where HOOKLINE_APP_URL says?",
    [HL_CAUSE_TLS_REFUSED] =
        UNREACHED "it refused the TLS handshake; it wants a client certificate that it trusts "
                  "(HOOKLINE_APP_CLIENT_CERT_FILE), or has no TLS 1.2",
    [HL_CAUSE_TLS_PLAIN] =
        UNREACHED "it does not speak TLS; HOOKLINE_APP_URL should begin with http://",
    [HL_CAUSE_TLS_UNTRUSTED] =
        UNSAFE "was not issued by a CA of HOOKLINE_APP_CA_FILE (not set: of the system), "
               "or is not for servers",
    [HL_CAUSE_TLS_NAME] = UNSAFE "does not name the host of HOOKLINE_APP_URL",
    [HL_CAUSE_TLS_DATES] = UNSAFE "has expired or is not valid yet",
    [HL_CAUSE_HEALTH_TIMEOUT] =
        "the app does not answer at HOOKLINE_APP_HEALTH_PATH within 2 seconds; if it serves one "
        "connection at a time, set HOOKLINE_APP_KEEPALIVE=off",
    [HL_CAUSE_HEALTH_CLOSED] =
        "the app closes the connection without an answer at HOOKLINE_APP_HEALTH_PATH",
    [HL_CAUSE_HEALTH_NO_HTTP] =
        "the app's answer at HOOKLINE_APP_HEALTH_PATH is not HTTP/1.1; check HOOKLINE_APP_URL",
    [HL_CAUSE_HEALTH_STATUS] =
        "the app answers with a status other than 2xx at HOOKLINE_APP_HEALTH_PATH",
    [HL_CAUSE_OCCUPIED] = "another process is listening where the app of HOOKLINE_APP_COMMAND "
                          "should; stop it, or choose another port in HOOKLINE_APP_URL",
};

/* Statuses that health paths are seen to answer with. */
/* clang-format off */
#define STATUSES(X)                                                                                \
    X(301) X(302) X(303) X(307) X(308)                                                             \
    X(400) X(401) X(403) X(404) X(405) X(406) X(408) X(410) X(421) X(425) X(426) X(429)            \
    X(500) X(501) X(502) X(503) X(504)
/* clang-format on */
#define STATUS_TEXT(status)                                                                        \
    {status, "the app answers with " #status ", not 2xx, at HOOKLINE_APP_HEALTH_PATH"},

static const struct {
    uint16_t status;
    const char *text;
} status_texts[] = {STATUSES(STATUS_TEXT)};

static const struct {
    int error;
    enum hl_cause_kind kind;
} kinds[] = {
    {UV_EMFILE, HL_CAUSE_SHORT}, {UV_ENFILE, HL_CAUSE_SHORT}, {UV_ENOMEM, HL_CAUSE_SHORT},
    {UV_ENOBUFS, HL_CAUSE_SHORT}, {UV_EAI_MEMORY, HL_CAUSE_SHORT},
    {UV_EADDRNOTAVAIL, HL_CAUSE_NO_PORT}, {UV_EAI_AGAIN, HL_CAUSE_NO_NAME_SERVER},
    {UV_EAI_FAIL, HL_CAUSE_UNRESOLVED}, {UV_EAI_NODATA, HL_CAUSE_UNRESOLVED},
    {UV_EAI_NONAME, HL_CAUSE_UNRESOLVED}, {UV_EAI_ADDRFAMILY, HL_CAUSE_UNRESOLVED},
    {UV_EHOSTUNREACH, HL_CAUSE_NO_ROUTE}, {UV_ENETUNREACH, HL_CAUSE_NO_ROUTE},
    {UV_ENOENT, HL_CAUSE_NO_SOCKET}, {UV_ENOTDIR, HL_CAUSE_NO_SOCKET},
    {UV_EACCES, HL_CAUSE_NOT_PERMITTED}, {UV_EPERM, HL_CAUSE_NOT_PERMITTED},
    {UV_ECONNREFUSED, HL_CAUSE_REFUSED}, {UV_ETIMEDOUT, HL_CAUSE_CONNECT_TIMEOUT},
    {HL_TLS_FAULT_OTHER, HL_CAUSE_TLS_OTHER}, {HL_TLS_FAULT_LEFT, HL_CAUSE_TLS_LEFT},
    {HL_TLS_FAULT_REFUSED, HL_CAUSE_TLS_REFUSED}, {HL_TLS_FAULT_PLAIN, HL_CAUSE_TLS_PLAIN},
    {HL_TLS_FAULT_UNTRUSTED, HL_CAUSE_TLS_UNTRUSTED}, {HL_TLS_FAULT_NAME, HL_CAUSE_TLS_NAME},
    {HL_TLS_FAULT_DATES, HL_CAUSE_TLS_DATES},
    {UV_EAGAIN, HL_CAUSE_CONNECT_TIMEOUT}, /* unix: as many wait to be accepted as may */
};

struct hl_cause hl_cause_of(int error)
{
    struct hl_cause cause = {.kind = HL_CAUSE_OTHER, .error = error};
    for (size_t i = 0; i < HL_ARRAY_LEN(kinds); i++)
        if (kinds[i].error == error)
            cause.kind = kinds[i].kind;
    return cause;
}

const char *hl_cause_text(struct hl_cause cause)
{
    for (size_t i = 0; cause.kind == HL_CAUSE_HEALTH_STATUS && i < HL_ARRAY_LEN(status_texts); i++)
        if (status_texts[i].status == cause.status)
            return status_texts[i].text;
    return texts[cause.kind];
}
