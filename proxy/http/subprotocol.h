/* subprotocol.h - Sec-WebSocket-Protocol (RFC 6455 11.3.4), and what hookline has to do with it: a
 * browser can set no other field on an upgrade, so a token may come as the subprotocol
 * `bearer.<token>` (contract 9). */
#ifndef HL_HTTP_SUBPROTOCOL_H
#define HL_HTTP_SUBPROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

struct hl_head;
struct hl_str;
struct hl_writer;

/* Takes the next subprotocol that a request offers: `*field` and `*rest` keep the place, both zero
 * at first. False: there are no more. */
bool hl_subprotocol_next(
    const struct hl_head *head, size_t *field, struct hl_str *rest, struct hl_str *out);

/* The token in a subprotocol of the form `bearer.<token>`; false: it is another. */
bool hl_subprotocol_token(struct hl_str protocol, struct hl_str *token);

/* `hookline` is offered: it is selected where the app selects none, for a browser that has offered
 * something takes no connection on which nothing was selected. */
bool hl_subprotocol_offers_own(const struct hl_head *head);

/* The field again without tokens; nothing when nothing is left. */
void hl_subprotocol_write_others(struct hl_writer *w, const struct hl_head *head);

#endif
