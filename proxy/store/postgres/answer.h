/* answer.h - questions. The store's thread. */
#ifndef HL_STORE_POSTGRES_ANSWER_H
#define HL_STORE_POSTGRES_ANSWER_H

#include <stdint.h>

struct hl_pg_store;
struct hl_store_msg;

/* A question; takes the message. */
void hl_pg_answer(struct hl_pg_store *s, struct hl_store_msg *m);
/* The reader has a connection: those that wait for it are asked. */
void hl_pg_answer_waiting(struct hl_pg_store *s);
/* Refuses those that have waited too long. When to look again (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_answer_expire(struct hl_pg_store *s, uint64_t now_ms);
/* Answers them with UNAVAILABLE: the store ends. */
void hl_pg_answer_refuse_all(struct hl_pg_store *s);

#endif
