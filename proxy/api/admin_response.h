/* admin_response.h - an answer on the admin listener or the control socket: in one piece, a file, or somebody who
 * follows a run's events. Parts of the answer to a request (admin_answer.h). */
#ifndef HL_API_ADMIN_RESPONSE_H
#define HL_API_ADMIN_RESPONSE_H

#include "api/representation.h"
#include "base/buf.h"

struct hl_admin_connection;
struct hl_api_response;
struct hl_body;
struct hl_body_reader;
struct hl_follow;
struct hl_refusal;
struct hl_str;

/* ---- an answer that is there in one piece, and the end of any ---- */

/* The request is over once it is written; what cannot be written closes the connection. */
void hl_admin_response_write(struct hl_admin_connection *c, const struct hl_api_response *response);
void hl_admin_response_refuse(struct hl_admin_connection *c, const struct hl_refusal *why);
/* What the present request says of the form of its answer. */
struct hl_taste hl_admin_response_taste(const struct hl_admin_connection *c);
void hl_admin_response_json(struct hl_admin_connection *c, struct hl_str json);

/* The answer is written, by whomever: the request is over. */
void hl_admin_response_end(struct hl_admin_connection *c);

/* ---- a file, piece by piece, as the peer takes them ---- */

struct hl_admin_file {
    struct hl_body_reader *reader; /* NULL: the answer is no file */
    struct hl_buf head;            /* until the first piece is there */
    bool is_reading;
};

/* Takes `head`, and of `body` what a reader takes. Whoever begins lets the connection go on. */
void hl_admin_file_begin(struct hl_admin_connection *c, struct hl_buf head, struct hl_body *body);
/* The socket takes bytes again. */
void hl_admin_file_drained(struct hl_admin_connection *c);
/* Nobody waits for it any more. */
void hl_admin_file_drop(struct hl_admin_connection *c);

/* ---- somebody who follows a run's events ---- */

/* Takes the grant; the answer is what the follower reads. */
void hl_admin_follow_begin(struct hl_admin_connection *c, struct hl_follow *grant);
/* The socket takes bytes again. */
void hl_admin_follow_drained(struct hl_admin_connection *c);
/* Nobody follows any more. */
void hl_admin_follow_drop(struct hl_admin_connection *c);

#endif
