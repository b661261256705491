/* state.h - struct hl_auth: what the files of auth share. For them alone. */
#ifndef HL_AUTH_STATE_H
#define HL_AUTH_STATE_H

#include <semaphore.h>

#include "auth/checker.h"
#include "auth/claims.h"
#include "auth/key_keeper.h"
#include "auth/outsider.h"
#include "auth/registry.h"

struct hl_auth {
    const struct hl_config *config;
    struct hl_claim_rules rules;
    struct hl_store *store;
    _Atomic(struct hl_issuer *) issuer; /* NULL: its key is not read yet */
    struct hl_registry registry;
    struct hl_outsiders outsiders; /* none, unless the rules have limits */
    uint64_t identity_seed[2];
    struct hl_checker checker;
    struct hl_key_keeper keeper;
    bool has_curl;
    bool is_watching; /* struct hl_watch_accounts */
    struct hl_auth_late {
        struct hl_thread thread; /* reads what the store has, which opened later */
        bool is_started;
        _Atomic bool is_done;
        _Atomic bool stops;
        sem_t wake;
    } late;
};

#endif
