/* receiver.h - the webhook receiver of `hookline dev`: checks each delivery's signature, says what came, and
 * answers well or, when that is wanted, badly. GET shows the last deliveries as JSON. Loopback alone. */
#ifndef HL_DEV_RECEIVER_H
#define HL_DEV_RECEIVER_H

#include <stdbool.h>
#include <stdio.h>
#include <uv.h>

#include "base/list.h"
#include "base/str.h"
#include "net/listener.h"
#include "webhook/signature.h"

/* ---- what a delivery says of itself, looked at while it comes ---- */

struct hl_dev_delivery {
    char run_id[40], time[32], type[32];
    const char *verdict; /* static */
    char answer[16];
};

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

/* ---- the receiver ---- */

#define HL_DEV_HOOKS_PATH  "/_hookline/dev/hooks"
#define HL_DEV_HOOKS_SHOWN 50

struct hl_dev_receiver {
    struct hl_listener listener;
    struct hl_wheel wheel;
    uint16_t port;
    struct hl_str secret; /* borrowed */
    const char *failures; /* what is left of "500,timeout,reset"; NULL: none */
    FILE *out;
    struct hl_list connections;
    struct hl_dev_delivery shown[HL_DEV_HOOKS_SHOWN]; /* a ring */
    size_t count;                                     /* of all */
};

/* Whether that is a list of what a receiver may do wrong. */
bool hl_dev_failures_are_valid(const char *failures);
/* Listens at `port` of 127.0.0.1. A libuv code, or 0. */
int hl_dev_receiver_open(struct hl_dev_receiver *r, uv_loop_t *loop, uint16_t port);
void hl_dev_receiver_close(struct hl_dev_receiver *r);

#endif
