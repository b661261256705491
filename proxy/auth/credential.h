/* credential.h - where a request carries its token: `Authorization: Bearer`, or, for a WebSocket,
 * the subprotocol `bearer.<token>` (contract 9). Never the query. */
#ifndef HL_AUTH_CREDENTIAL_H
#define HL_AUTH_CREDENTIAL_H

#include <stdbool.h>

struct hl_head;
struct hl_refusal;
struct hl_str;

/* The one token of a request. False: `*why` (401 when there is none, 400 when there are several).
 * `token` is a slice of the head. */
bool hl_credential_find(const struct hl_head *head, struct hl_str *token, struct hl_refusal *why);

#endif
