/* backend.h - what stands behind store.h: a store that one process owns (local.c), or one that many
 * share (postgres/). What is above knows only messages. */
#ifndef HL_STORE_BACKEND_H
#define HL_STORE_BACKEND_H

#include "store/store.h"

struct hl_shared_keys;

struct hl_store_vt {
    void (*hear_app)(
        struct hl_store *store); /* hl_store_note_app; NULL: nobody is told. Any thread */
    enum hl_err (*post)(struct hl_store *store, struct hl_store_msg *m); /* hl_store_post */
    bool (*is_destination_full)(const struct hl_store *store, struct hl_str webhook_url);
    /* Kept streams that have ended are in the way of those that go on; NULL: it looks by itself. */
    void (*trim_streams)(struct hl_store *store);
    void (*close)(struct hl_store *store); /* hl_store_close */
};

struct hl_store {
    const struct hl_store_vt *vt;
    _Atomic enum hl_store_standing standing; /* hl_store_standing */
    const char *refusal;                     /* once it is HL_STORE_REFUSED */
    const struct hl_store_gauges *gauges;
    const char *data_dir;       /* hl_store_data_dir */
    const uint8_t *signing_key; /* as it was found at the opening */
    size_t signing_key_n;       /* 0: there was none */
    bool keeps_keys;
    bool is_shared;                           /* hl_store_is_shared */
    const struct hl_shared_keys *shared_keys; /* NULL: nobody shares any */
    _Atomic int presence;                     /* hl_store_note_app: enum hl_app_presence */
    atomic_bool sleeps;                       /* likewise */
    _Atomic int64_t live_streams;             /* hl_store_note_stream */
    struct hl_quotas *_Atomic quotas;         /* hl_store_heed_quotas; NULL: none */
    struct hl_lender *lender;                 /* hl_store_get_lender */
};

/* As hl_store_open. */
HL_MUST_CHECK enum hl_err hl_local_store_open(
    struct hl_store **out, const struct hl_config *config, char *why, size_t why_len);

#endif
