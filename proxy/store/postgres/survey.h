/* survey.h - gauges of all replicas together, and of what the server has to bear. The store's thread. */
#ifndef HL_STORE_POSTGRES_SURVEY_H
#define HL_STORE_POSTGRES_SURVEY_H

#include <stdint.h>

struct hl_pg_store;

/* What is due is asked; nothing before this replica has joined. */
void hl_pg_survey_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When something is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_survey_due_ms(const struct hl_pg_store *s);
/* The server is gone, or back: nothing is known until it is asked, which is due. */
void hl_pg_survey_forget(struct hl_pg_store *s);

#endif
