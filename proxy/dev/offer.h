/* offer.h - what an app says of itself, for calls to paste: a function host its functions, others /openapi.json. */
#ifndef HL_DEV_OFFER_H
#define HL_DEV_OFFER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct hl_dev_function;

struct hl_dev_offer {
    const char *method; /* static */
    char path[256];     /* behind the first slash */
    char body[2048];    /* JSON; empty: none */
};

/* The answer to `GET path` of 127.0.0.1, if it is JSON; owned. `status`: 0 without an answer. Waits at most a few
 * seconds. */
json_t *hl_dev_ask(uint16_t port, const char *path, int *status);

void hl_dev_offer_of_function(const struct hl_dev_function *function, struct hl_dev_offer *offer);
/* One call out of such a list of functions, or of an OpenAPI description: the main one, or the first. False: there is none. */
bool hl_dev_offer_of_functions(const json_t *list, struct hl_dev_offer *offer);
bool hl_dev_offer_of_openapi(const json_t *description, struct hl_dev_offer *offer);

#endif
