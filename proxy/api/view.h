/* view.h - what the handlers of the admin listener may read: nothing here is theirs to change. */
#ifndef HL_API_VIEW_H
#define HL_API_VIEW_H

#include <stdint.h>

struct hl_config;
struct hl_service;
struct hl_store;
struct hl_sender;
struct hl_history;
struct hl_rest;

/* Borrowed; everything in it outlives the admin listener. */
struct hl_api_view {
    const struct hl_config *config;
    const struct hl_service *service;
    const struct hl_store *store;
    const struct hl_sender *sender;
    const struct hl_history *history; /* the last hour: api/now.c */
    struct hl_tls_seat *tls;          /* the admin listener's; NULL: it speaks none */
    struct hl_rest *rest;             /* contract 8 */
    int64_t started_ms;               /* wall time at which the process began */
};

#endif
