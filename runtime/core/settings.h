/* settings.h - what a function host is told from outside: where to listen, how many calls at once.
 * The same for every language: from options of the command line, then from the environment.
 *
 *   --host ADDRESS      HOOKLINE_FUNCTION_HOST         127.0.0.1
 *   --port PORT         PORT                           8000
 *   --socket PATH       HOOKLINE_FUNCTION_SOCKET       listen on this unix socket instead
 *                       HOOKLINE_FUNCTION_CONCURRENCY  1: calls at once
 *                       HOOKLINE_FUNCTION_ENVELOPE     off
 *                       HOOKLINE_FUNCTION_MAX_BODY     64MiB: a request's body
 *                       HOOKLINE_MAX_REQUEST_BODY      the same, or what that is: a form's body
 *                       HOOKLINE_LOG_LEVEL             info: debug, info, warn, error
 *                       HOOKLINE_LOG_FORMAT            auto: json, text; auto is text on a terminal
 *
 * An option beats the environment; a socket beats a port of the same place. */
#ifndef HL_RUNTIME_SETTINGS_H
#define HL_RUNTIME_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"

#define HL_SETTINGS_MAX_CONCURRENCY 1024
#define HL_SETTINGS_WHY             512 /* room for the one line that says what is wrong */

struct hl_settings {
    char host[64];
    uint16_t port;                                            /* 0: the system chooses */
    char socket[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* empty: host and port count */
    uint32_t concurrency;
    bool has_envelope; /* results are wrapped as {"run_id","run_time_ms","result"} */
    uint64_t max_body;
    uint64_t max_upload;       /* of a form */
    uint64_t setup_timeout_ms; /* 0: none */
    enum hl_log_level log_level;
    enum hl_log_format log_format;
};

/* What the command line said; NULL: nothing. Borrowed for the call. */
struct hl_settings_options {
    const char *host, *port, *socket;
};

/* HL_ERR_INVALID: `why` is one line that names the setting, its value, and what is allowed. Reads
 * the environment: call it before threads start. */
HL_MUST_CHECK enum hl_err hl_settings_read(struct hl_settings *settings,
    const struct hl_settings_options *options, char why[HL_SETTINGS_WHY]);

#endif
