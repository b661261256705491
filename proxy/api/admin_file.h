/* admin_file.h - an answer whose body is a file, on the admin listener or the control socket: piece by piece, as
 * the peer takes them. Part of the answer to a request (admin_answer.h). */
#ifndef HL_API_ADMIN_FILE_H
#define HL_API_ADMIN_FILE_H

#include "base/buf.h"

struct hl_admin_connection;
struct hl_body;
struct hl_body_reader;

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

#endif
