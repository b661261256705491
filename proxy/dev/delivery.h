/* delivery.h - what a delivery says of itself, looked at while it comes: its fields, whether its signature is
 * that of its bytes, its type. Pure. */
#ifndef HL_DEV_DELIVERY_H
#define HL_DEV_DELIVERY_H

#include <stdbool.h>

#include "webhook/signature.h"

struct hl_dev_delivery;
struct hl_str;

struct hl_dev_inspection {
    char run_id[40], timestamp[24], signature[80];
    struct hl_signature hmac;
    bool has_hmac;
    char beginning[256]; /* of the body */
    size_t n;
};

void hl_dev_inspection_begin(struct hl_dev_inspection *i);
void hl_dev_inspection_field(struct hl_dev_inspection *i, struct hl_str name, struct hl_str value);
/* All fields have come. */
void hl_dev_inspection_head(struct hl_dev_inspection *i, struct hl_str secret);
void hl_dev_inspection_body(struct hl_dev_inspection *i, struct hl_str bytes);
/* All of it has come. */
void hl_dev_inspection_read(struct hl_dev_inspection *i, struct hl_dev_delivery *out);
void hl_dev_inspection_end(struct hl_dev_inspection *i);

#endif
