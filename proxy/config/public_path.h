/* public_path.h - HOOKLINE_PUBLIC_PATHS: what is passed through to the app without a token. Pure. */
#ifndef HL_CONFIG_PUBLIC_PATH_H
#define HL_CONFIG_PUBLIC_PATH_H

#include <stdbool.h>

struct hl_str;

/* Comma-separated paths; a '*' at the end of one stands for any rest. None lies where hookline's own
 * routes are, and none could only match paths that are never public. */
bool hl_public_paths_are_valid(struct hl_str list);

/* Whether the raw `path` of a request, without its query, is one of them. A path that two readers
 * could take for different ones is not: with an encoded slash, backslash, dot or NUL, a backslash,
 * an empty or a dot segment, or ';'. */
bool hl_public_paths_have(struct hl_str list, struct hl_str path);

#endif
