/* prefer.h - the preferences that hookline honours (RFC 7240 4.1 and 4.3). */
#ifndef HL_HTTP_PREFER_H
#define HL_HTTP_PREFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "http/writer.h"

struct hl_head;
struct hl_str;

/* Whether one of the two is there, fit for use or not. */
bool hl_prefers_ours(const struct hl_head *head);
/* Whether some Prefer field lists respond-async, with or without parameters. */
bool hl_prefers_async(const struct hl_head *head);
/* The first `wait` of all, as hl_wait_parse reads it; false: there is none, or none that can be used. */
bool hl_prefers_wait(const struct hl_head *head, uint64_t max_ms, uint64_t *ms);

/* Prefer again, one line without those two; none when nothing is left. */
void hl_prefer_write_others(struct hl_writer *w, const struct hl_head *head);

/* A number of seconds; more than `max_ms` counts as that. */
HL_MUST_CHECK bool hl_wait_parse(struct hl_str text, uint64_t max_ms, uint64_t *ms);

#endif
