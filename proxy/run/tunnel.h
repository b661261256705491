/* tunnel.h - what follows a 101: bytes both ways, each as it comes. What the caller sends goes as the rest of a request does
 * (forward.h). After each of these the run may have ENDED. */
#ifndef HL_RUN_TUNNEL_H
#define HL_RUN_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>

struct hl_passage;
struct hl_run;

/* The app has switched protocols: its head, in `pass`, is sent. False: nothing is to be passed on. */
bool hl_tunnel_begin(struct hl_run *run, struct hl_passage *pass);
/* Bytes from the app. */
void hl_tunnel_pass(struct hl_run *run, const char *p, size_t n);
/* The app ended its side, or the connection broke. */
void hl_tunnel_end(struct hl_run *run, bool is_clean);
/* Ends both sides, behind what was sent already. */
void hl_tunnel_close(struct hl_run *run);

#endif
