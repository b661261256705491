/* choice.h - the types of settings that are more than a number or a text: what may be chosen, where to listen, where
 * the app is. */
#ifndef HL_CONFIG_CHOICE_H
#define HL_CONFIG_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/str.h"

enum hl_auth_mode { HL_AUTH_JWT, HL_AUTH_NONE };
enum hl_admin_auth { HL_ADMIN_AUTH_AUTO, HL_ADMIN_AUTH_TOKEN, HL_ADMIN_AUTH_NONE };
enum hl_keep_requests { HL_KEEP_REQUESTS_FAILED, HL_KEEP_REQUESTS_ALL, HL_KEEP_REQUESTS_NONE };
enum hl_stream_keep { HL_STREAM_KEEP_ASK, HL_STREAM_KEEP_ALL, HL_STREAM_KEEP_OFF };
enum hl_caller_gone { HL_CALLER_GONE_CANCEL, HL_CALLER_GONE_FINISH };
enum hl_app_gate { HL_APP_GATE_START, HL_APP_GATE_ALWAYS, HL_APP_GATE_OFF };
enum hl_webhook_preset { HL_WEBHOOK_PRESET_CONTRACT, HL_WEBHOOK_PRESET_PRODUCTION };
enum hl_webhook_payload { HL_WEBHOOK_PAYLOAD_FULL, HL_WEBHOOK_PAYLOAD_THIN };
enum hl_proxy_resolve { HL_PROXY_RESOLVE_HOOKLINE, HL_PROXY_RESOLVE_PROXY };
enum hl_store_kind { HL_STORE_SQLITE, HL_STORE_MEMORY, HL_STORE_POSTGRES };
/* What a replica does: everything, or either half (contract 17). */
enum hl_replica_role { HL_REPLICA_ALL, HL_REPLICA_FRONT, HL_REPLICA_WORKER };

/* Where a listener binds. */
struct hl_listen_address {
    char *text; /* as written, for logs */
    struct sockaddr_storage addr;
    socklen_t addr_len;
};

struct hl_listen_list {
    struct hl_listen_address *items;
    size_t n;
};

/* Where the app is. */
struct hl_app_url {
    bool is_unix;
    bool is_tls;   /* https://; never unix */
    char *host;    /* TCP: name or address, without brackets; unix: NULL */
    uint16_t port; /* TCP */
    char *path;    /* unix: of the socket; TCP: NULL */
};

/* Web origins that may read our answers, as browsers write them in Origin. */
struct hl_origin_list {
    struct hl_str *items; /* owned */
    size_t n;
    bool has_any; /* "*" */
};

/* One of the two is 0. */
struct hl_store_limit {
    uint64_t bytes;
    uint32_t percent; /* of the volume's size, or of the store's limit */
};

static inline uint64_t hl_store_limit_bytes(const struct hl_store_limit *limit, uint64_t whole)
{
    return limit->bytes > 0 ? limit->bytes : whole / 100 * limit->percent;
}

#define HL_PUBLIC_URL_MAX  1024
#define HL_REPLICA_URL_MAX 512
#define HL_VIA_MAX         17 /* "hookline-" and 8 hex digits */

#endif
