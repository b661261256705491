/* judge.h - whether what hookline sent is what it was given, after a world has ended. */
#ifndef HL_FUZZ_JUDGE_H
#define HL_FUZZ_JUDGE_H

struct world;

/* Ends the process unless:
 * - the app got strict messages only, each of them a request that a caller sent, by the independent
 *   reader's view of the caller's bytes, with the same meaning, no request twice but one that may be
 *   repeated, whole only if it came whole;
 * - each caller got strict messages only, one final one for each of its requests and in their order:
 *   the app's answer to that request with the same meaning, whole only if it came whole, or one of
 *   hookline's own; nothing after one that says close;
 * - tunnels carried the bytes as they were;
 * - the store was told of each accepted run once how it ended, with the app's bytes. */
void judge(const struct world *world);

#endif
