/* bundle.h - a program that was started from a bundle: a folder with the program, all its libraries and their loader.
 * Such a folder's launcher (deploy/bundle/launcher.c) starts the loader, and the loader the program; what the
 * launcher has to say to the program stands in these variables. */
#ifndef HL_BASE_BUNDLE_H
#define HL_BASE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>

/* The launcher's path, which is absolute. */
#define HL_BUNDLE_PROGRAM "HOOKLINE_BUNDLE_PROGRAM="
/* Stands before each variable that was meant for the system's loader, not for the folder's: LD_PRELOAD and the like. */
#define HL_BUNDLE_HIDDEN "HOOKLINE_BUNDLE_HIDDEN_"

/* The second thing in main: `environment` becomes again what the launcher was given, so that whoever is started
 * gets that, and the process has the program's name. Nothing happens outside of a bundle. */
void hl_bundle_enter(char **environment);

/* The path by which this program is started again, and beside which its parts lie. False: errno says why. */
bool hl_bundle_program(char *out, size_t out_len);

/* The folder's list of certificate authorities; NULL: outside of a bundle. Static. */
const char *hl_bundle_authorities(void);

#endif
