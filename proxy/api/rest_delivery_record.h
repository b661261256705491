/* rest_delivery_record.h - deliveries and their attempts as JSON. New references; NULL: out of memory. */
#ifndef HL_API_REST_DELIVERY_RECORD_H
#define HL_API_REST_DELIVERY_RECORD_H

#include <jansson.h>

struct hl_delivery_row;
struct hl_get_delivery;

/* How much is told (contract 8): who may only see the run learns nothing by which an inner network could be
 * read through its webhooks. */
enum hl_rest_telling {
    HL_REST_LISTED, /* to admins, one of many: without the attempts' reports */
    HL_REST_PLAIN,  /* to anybody: times and outcomes */
    HL_REST_WHOLE,  /* to admins */
};

json_t *hl_rest_delivery_json(const struct hl_delivery_row *delivery, enum hl_rest_telling telling);
/* WHOLE, with the webhook's URL; of a reply OK. */
json_t *hl_rest_found_delivery_json(const struct hl_get_delivery *found);

#endif
