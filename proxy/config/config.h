/* config.h - the settings of one process: read once from the environment at start, never changed
 * after, read by every thread without a lock.
 *
 * A field is called like its variable in lower case, without HOOKLINE_: durations end in _ms, sizes
 * are bytes. What each means, its default and bounds: config/option.c, the one table. */
#ifndef HL_CONFIG_CONFIG_H
#define HL_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "config/choice.h"
#include "config/retry_rule.h"
#include "net/address.h"

#define HL_WARMUP_BODY_MAX (16 * 1024 * 1024)

/* Strings are NUL-terminated beyond their length; an empty one means "not set". */
struct hl_config {
    /* listeners and routes */
    struct hl_listen_list listen;
    struct hl_listen_list admin_listen;
    struct hl_str tls_cert_file; /* both or none: the run listener speaks TLS, or does not */
    struct hl_str tls_key_file;
    struct hl_str tls_client_ca_file; /* empty: callers need no certificate */
    bool admin_tls;                   /* the admin listener speaks it, too */
    struct hl_str project_id;
    struct hl_str app_name;
    bool passthrough;
    bool own_parameters;        /* names that are nearly ours are refused */
    struct hl_str public_paths; /* see config/access.h */
    /* empty, or an absolute URL without a query; perhaps with a / at its end */
    struct hl_str public_url;
    struct hl_cidr_list trusted_proxies;
    struct hl_origin_list cors_origins;

    /* who may call */
    enum hl_auth_mode auth;
    struct hl_str jwt_project_claim; /* empty: tokens from outside reach every project */
    struct hl_str jwt_role_claim;    /* empty: tokens from outside are never admin */
    struct hl_str jwt_jwks_file;
    struct hl_str jwt_jwks_url;
    struct hl_str jwt_ca_file;         /* only where keys are fetched */
    struct hl_str jwt_keys_token_file; /* likewise */
    struct hl_str jwt_secret;          /* secret: never logged or shown */
    struct hl_str jwt_issuer;
    bool jwt_finds_keys; /* after loading: the issuer is a URL, and nothing else names keys */
    struct hl_str jwt_audience;
    struct hl_str jwt_limits;       /* hl_limits_parse; empty: none */
    struct hl_str jwt_limit_claims; /* hl_limit_names_parse; empty: none */
    bool forward_authorization;
    enum hl_admin_auth admin_auth; /* see config/access.h */
    struct hl_str admin_hosts;
    struct hl_str hosts; /* empty: the run listener is called by any name */

    /* the app */
    struct hl_app_url app_url;
    struct hl_str app_ca_file;          /* of an app with TLS; empty: the system's */
    struct hl_str app_client_cert_file; /* both or none: it is shown to the app */
    struct hl_str app_client_key_file;
    struct hl_str app_run_path;
    struct hl_str app_health_path;    /* empty: a TCP connect is the test */
    enum hl_app_gate app_health_gate; /* see app/gate.h */
    struct hl_str app_warmup;         /* "POST /run"; empty: none; see app/warmup.h */
    struct hl_str app_warmup_body_file;
    struct hl_str app_command; /* empty: somebody else starts the app; see config/command.h */
    struct hl_str app_user;    /* empty: hookline's own; see config/command.h */
    bool app_log;              /* its output */
    uint64_t app_stop_timeout_ms;
    uint64_t app_start_timeout_ms;
    uint64_t app_start_limit_ms;   /* 0: none; else there is a command */
    uint64_t app_restart_after_ms; /* 0: off; else there are a command and a health path */
    uint64_t app_idle_stop_ms;     /* 0: off; else there is a command; see app/sleep.h */
    uint64_t app_idle_sleep_ms;    /* 0: off; else there are both calls */
    struct hl_str app_sleep_call;  /* "POST /sleep"; empty: none; as the next */
    struct hl_str app_wake_call;
    uint64_t app_wake_timeout_ms;
    enum hl_caller_gone on_caller_gone;
    bool app_keepalive;       /* connections are used again */
    uint32_t app_concurrency; /* 0: no limit */
    uint32_t app_queue;
    uint64_t app_queue_timeout_ms;
    uint64_t app_head_timeout_ms; /* never 0 after loading: the grace period stands in */
    uint64_t app_idle_timeout_ms; /* 0: off */
    uint64_t connect_timeout_ms;

    /* runs */
    uint64_t response_grace_period_ms;
    uint64_t sync_timeout_ms;  /* 0: none, as the next two */
    uint64_t queue_timeout_ms; /* asynchronous runs */
    uint64_t stream_idle_timeout_ms;
    uint64_t sse_heartbeat_ms; /* 0: off */
    uint64_t retention_ms;
    enum hl_keep_requests keep_requests;
    enum hl_stream_keep stream_keep;
    struct hl_store_limit stream_keep_max_bytes; /* percent: of the store's limit */
    uint64_t stream_retention_ms;                /* of kept streams of synchronous calls */
    uint32_t max_followers;
    uint32_t run_attempts;
    struct hl_str run_retry_on;  /* as it was said; after loading it is `retry_on` */
    struct hl_retry_on retry_on; /* with several attempts and an empty list: interrupted */
    uint64_t run_retry_delay_ms;
    uint32_t async_concurrency; /* after loading at most app_concurrency, if that is set */
    uint32_t max_queued_runs;
    uint64_t max_wait_ms; /* whole seconds */
    uint32_t max_waiters;

    /* webhooks */
    enum hl_webhook_preset webhook_preset; /* the default of the two that follow */
    struct hl_str webhook_schedule;        /* as it was said; after loading it is `schedule` */
    struct hl_schedule schedule;           /* see config/retry_rule.h */
    struct hl_str webhook_retry_on;        /* likewise */
    struct hl_webhook_retry_on retried;
    /* after loading the number there is: the schedule's, if none was said */
    uint32_t webhook_attempts;
    uint64_t webhook_timeout_ms;
    uint32_t webhook_concurrency;
    uint32_t webhook_per_host;
    uint32_t max_pending_deliveries;
    struct hl_cidr_list webhook_allow;
    bool webhook_https_only;
    struct hl_str webhook_ca_file;
    struct hl_str webhook_secret;           /* secret: never logged or shown */
    struct hl_str webhook_previous_secret;  /* secret; only with webhook_secret */
    struct hl_str webhook_trusted_hosts;    /* see config/webhook_setting.h */
    struct hl_str webhook_headers;          /* secret; see config/webhook_setting.h */
    struct hl_str webhook_client_cert_file; /* both or none */
    struct hl_str webhook_client_key_file;
    struct hl_str webhook_proxy; /* secret, as it may have a password; http or https */
    enum hl_proxy_resolve webhook_proxy_resolve;
    enum hl_webhook_payload webhook_payload; /* thin: public_url is there */
    uint64_t webhook_max_body;               /* 0: no limit; else public_url is there */

    /* alerts */
    struct hl_str alert_url; /* empty: none; a secret may be in it, as in many such URLs */
    uint64_t alert_queue_age_ms;
    uint64_t alert_app_after_ms;
    struct hl_str service_name;

    /* empty: OpenTelemetry's own variables say it (trace/setting.c) */
    struct hl_str otel_service_name;

    /* limits on callers */
    uint64_t max_head;
    uint64_t max_request_body;
    uint64_t max_sync_body; /* 0: unlimited */
    uint64_t max_kept_response;
    uint64_t head_timeout_ms;
    uint64_t body_timeout_ms;
    uint64_t keepalive_timeout_ms;
    uint64_t write_timeout_ms;
    uint32_t max_connections; /* never 0 after loading: taken from RLIMIT_NOFILE */

    /* the store */
    enum hl_store_kind store;
    struct hl_str data_dir; /* never empty after loading; with postgres for scratch alone */
    struct hl_str key_file; /* empty: a file in the data directory; with postgres, see `key` */
    struct hl_str key;      /* secret; with postgres either this or key_file is set after loading */
    struct hl_str previous_key; /* secret */
    struct hl_store_limit store_max_bytes;

    /* replicas: read with postgres alone */
    struct hl_str postgres_url; /* secret, as it has a password; see config/postgres_url.h */
    struct hl_str postgres_schema;
    bool postgres_unsafe;
    bool postgres_prepare;
    struct hl_str replica;     /* never empty after loading */
    struct hl_str replica_url; /* empty: by address */
    uint64_t replica_ttl_ms;
    enum hl_replica_role role;
    uint64_t front_timeout_ms; /* FRONT: of a synchronous call */

    /* the process */
    uint32_t workers; /* never 0 after loading: hl_cpu_count() */
    uint64_t shutdown_delay_ms;
    uint64_t drain_timeout_ms; /* never 0 after loading: the grace period stands in */
    uint64_t tunnel_drain_ms;
    uint64_t idle_exit_ms; /* 0: off */
    enum hl_log_level log_level;
    enum hl_log_format log_format; /* `auto` is decided when loading: plain on a terminal */
    bool access_log;
    bool core_dumps;

    /* What this process is called in Via: no other one is, and nobody learns anything of it or its machine
     * from it. In `via_room`. */
    struct hl_str via;
    char via_room[HL_VIA_MAX + 1];

    /* What each entry of the table was set from, in its order: for `hookline config show`. Owned.
     */
    struct hl_config_source *sources;
};

struct hl_config_source {
    char *text; /* the variable's value as written; NULL: not set */
    char *file; /* a secret's …_FILE variant: the path; NULL: not set */
};

/* Reads `variables` ("NAME=value" each, ends with NULL). An empty value counts as not set.
 *
 * HL_ERR_INVALID: `problems` has one line for each variable that is wrong: its name, the value
 * (masked if secret), what is allowed; `*out` is NULL. Otherwise `*out` is owned by the caller. In
 * both cases `warnings` has one line for each HOOKLINE_ name that is not known. Lines end in '\n';
 * both buffers are appended to. HL_ERR_NOMEM. (contract 11) */
HL_MUST_CHECK enum hl_err hl_config_load(struct hl_config **out, char *const *variables,
    struct hl_buf *problems, struct hl_buf *warnings);
void hl_config_free(struct hl_config *config); /* NULL-safe */

#endif
