/* rest_replica.h - the processes that share the store. */
#ifndef HL_API_REST_REPLICA_H
#define HL_API_REST_REPLICA_H

#include "api/rest_call.h"

hl_rest_handler hl_rest_list_replicas;

/* One, with its members. A new reference, NULL: out of memory. */
json_t *hl_rest_replica_json(const struct hl_replica_row *row);

#endif
