/* script.h - what a file of the corpus connection/ means: a conversation of up to four callers, the
 * app and a worker.
 *
 * A digit for the configuration, then steps. A step begins with a backtick and a letter:
 *
 *   `c text    the caller sends it                 `a text    the app sends it
 *   `n         another caller; steps are its now   `u digit   steps are that app connection's now
 *   `1 … `4    steps are that caller's now
 *   `e `x      the caller ends, closes             `f `z      the app ends, closes
 *   `v digit   so much is taken by the caller      `w digit   by the app
 *   `t digit   time passes                         `d digit   the app takes connections, or not
 *   `s digit   what the store does                 `q digit   the worker is told to stop
 *
 * After each step the loop runs until nothing happens. Text is taken as it stands; "``" is a
 * backtick. The app's steps are those of the connection that it got bytes on last, until `u. */
#ifndef HL_FUZZ_SCRIPT_H
#define HL_FUZZ_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

struct world;

/* Called behind each step; `digit` is 0 where the step has none. */
typedef void script_on_step(const struct world *world, char letter, unsigned digit);

/* Plays all steps in a world of its own, which goes on: world_finish ends it. `on_step` may be
 * NULL. */
struct world *script_play(const uint8_t *data, size_t size, script_on_step *on_step);

/* What a digit means: bytes that a socket takes, SIZE_MAX for any number; how much time passes. */
size_t script_room(unsigned digit);
uint64_t script_time(unsigned digit);

#endif
