/* output.h - what the app writes to stdout and stderr, line by line into the log.
 *
 * The app never waits for us for long; what is too much is dropped and counted. Lines beyond
 * HL_OUTPUT_LINES a second are. While whoever reads our log lags, the app waits, for
 * HL_OUTPUT_WAIT_MS of each second; then lines that find no room are dropped. Beyond HL_OUTPUT_BYTES
 * a second reading pauses until the second is over. */
#ifndef HL_APP_OUTPUT_H
#define HL_APP_OUTPUT_H

#include <uv.h>

#include "app/arrival.h"
#include "loop/wheel.h"

struct hl_counter;
struct hl_visits;

#define HL_OUTPUT_LINES   5000
#define HL_OUTPUT_BYTES   (UINT64_C(16) << 20)
#define HL_OUTPUT_WAIT_MS 250

struct hl_output_source; /* one of the two pipes */

struct hl_output {
    struct hl_visits *const *visits; /* who is inside the app, by worker; NULL: nobody says */
    uint32_t visits_n;
    struct hl_arrival arrival;
    bool is_off; /* nothing of it is logged or counted */
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_output_source *sources[2]; /* stdout, stderr; NULL: not open */
    struct hl_timer retry;               /* armed while lines wait for room in the log */
    struct hl_timer second;              /* armed while one is being counted */
    uint32_t lines_left, wait_left_ms;   /* of this second, as are the next two */
    uint64_t bytes_left, dropped;
    struct hl_counter *lines_logged, *lines_dropped;
};

/* Borrows all; the counters are written by this thread. */
void hl_output_init(struct hl_output *o, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_counter *lines_logged, struct hl_counter *lines_dropped);

/* From here on a line that names no run is the run's that alone was inside when the app wrote it. Borrows
 * `visits`. */
void hl_output_attribute(struct hl_output *o, struct hl_visits *const *visits, uint32_t n);

/* Logs what the app has written until now, as far as that is possible at once. */
void hl_output_catch_up(struct hl_output *o);

/* Takes the read ends of a process's stdout and stderr. False: out of memory for one of them, which
 * is closed. */
bool hl_output_open(struct hl_output *o, const int fds[2]);

/* The process has ended: takes what it wrote last, then closes the pipes, whoever else has them. Its
 * last words may wait a quarter of a second for room in the log. */
void hl_output_finish(struct hl_output *o);

/* No more of it; `o` stays valid until the loop has run its close callbacks. */
void hl_output_close(struct hl_output *o);

#endif
