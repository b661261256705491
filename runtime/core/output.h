/* output.h - an answer of a connection, on its way to the socket. The loop's thread. */
#ifndef HL_RUNTIME_OUTPUT_H
#define HL_RUNTIME_OUTPUT_H

struct hl_connection;
struct hl_piece;

/* Takes the piece. */
void hl_output_add(struct hl_connection *c, struct hl_piece *piece);
/* Writes what the socket takes. */
void hl_output_pump(struct hl_connection *c);
/* The present request has its whole answer. */
void hl_output_end(struct hl_connection *c);

#endif
