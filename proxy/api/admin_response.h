/* admin_response.h - an answer that is there in one piece, on the admin listener or the control socket; and the
 * end of any. Part of the answer to a request (admin_answer.h). */
#ifndef HL_API_ADMIN_RESPONSE_H
#define HL_API_ADMIN_RESPONSE_H

struct hl_api_response;
struct hl_refusal;
struct hl_str;

struct hl_admin_connection;

/* The request is over once it is written; what cannot be written closes the connection. */
void hl_admin_response_write(struct hl_admin_connection *c, const struct hl_api_response *response);
void hl_admin_response_refuse(struct hl_admin_connection *c, const struct hl_refusal *why);
void hl_admin_response_json(struct hl_admin_connection *c, struct hl_str json);

/* The answer is written, by whomever: the request is over. */
void hl_admin_response_end(struct hl_admin_connection *c);

#endif
