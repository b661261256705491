/* browser.h - what browsers need: who may read an answer (WHATWG Fetch, 3.2), and a token that comes as a
 * subprotocol of a WebSocket. */
#ifndef HL_HTTP_BROWSER_H
#define HL_HTTP_BROWSER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct hl_head;
struct hl_writer;

/* ---- cross-origin answers ---- */

struct hl_cors {
    struct hl_str allowed; /* the origin whose page may read it, or "*"; empty: none */
    bool varies;           /* another origin would get another answer */
};

/* The fields for an answer of any kind; nothing for a struct of zeros. */
void hl_cors_write(struct hl_writer *w, const struct hl_cors *cors);

/* Whether a browser asks what it may send, before it sends it. */
bool hl_cors_is_preflight(const struct hl_head *head);

#define HL_CORS_PREFLIGHT_MAX 768
/* The further fields for the answer to that, NUL-terminated. */
void hl_cors_write_preflight(char out[HL_CORS_PREFLIGHT_MAX], const struct hl_head *head);

/* ---- Sec-WebSocket-Protocol ---- */

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
