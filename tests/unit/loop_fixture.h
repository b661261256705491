/* loop_fixture.h - the loop of a test, with what stands on every loop of hookline's: a wheel for
 * deadlines and a reader for sockets. */
#ifndef HL_TEST_LOOP_FIXTURE_H
#define HL_TEST_LOOP_FIXTURE_H

#include <criterion/criterion.h>

#include "base/clock.h"
#include "loop/wheel.h"
#include "net/stream.h"

#define PATIENCE_MS 60000

extern uv_loop_t loop;
extern struct hl_wheel wheel;
extern struct hl_reader reader;

void loop_begin(void);
/* What the test has opened on the loop is closed before: a handle that is still open is a failure. */
void loop_end(void);

/* A turn waits for something to happen, but for a few ms at most. */
void loop_turns(unsigned n);
/* Nothing is under way: no work with the pool, no handle that is active but the fixture's own. */
bool loop_is_idle(void);

/* Runs the loop, with a step behind each turn, until a claim holds; fails the test when it does not
 * come true. */
#define UNTIL_WITH(step, claim)                                                                    \
    do {                                                                                           \
        uint64_t give_up = hl_clock_mono_ms() + PATIENCE_MS;                                       \
        while (!(claim)) {                                                                         \
            cr_assert_lt(hl_clock_mono_ms(), give_up, "%s", "never: " #claim);                     \
            loop_turns(1);                                                                         \
            step;                                                                                  \
        }                                                                                          \
    } while (0)
#define UNTIL(claim) UNTIL_WITH((void)0, claim)

#endif
