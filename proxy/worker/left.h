/* left.h - what a stop would have to wait for: what is inside this process at one moment, and the deliveries that the
 * store would keep. */
#ifndef HL_WORKER_LEFT_H
#define HL_WORKER_LEFT_H

#include <stdbool.h>
#include <stdint.h>

struct hl_service;

struct hl_left {
    uint64_t calls; /* of callers that are neither of the next two */
    uint64_t tunnels, streams;
    uint64_t runs;       /* asynchronous ones inside the app */
    uint64_t deliveries; /* that are not done; with replicas: of all of them */
};

/* Any thread; the workers go on counting meanwhile. */
struct hl_left hl_left_count(const struct hl_service *service);

/* Nothing is inside: what is left would not be lost by an end. */
bool hl_left_is_done(const struct hl_left *left);

#define HL_LEFT_TEXT 160
/* "2 calls, 1 stream, 14 deliveries", without what there is none of; "nothing". */
void hl_left_write(const struct hl_left *left, char out[HL_LEFT_TEXT]);

#define HL_STANDING_TEXT 320
/* What /readyz says (hl_service_state), and while it drains what is left. */
void hl_left_write_standing(
    const struct hl_service *service, bool *is_ready, char out[HL_STANDING_TEXT]);

#endif
