/* standard_fd.h - descriptors 0 to 2, which a program may be started without. */
#ifndef HL_BASE_STANDARD_FD_H
#define HL_BASE_STANDARD_FD_H

#include <stdbool.h>

/* The first thing in main: whatever is opened later, by libraries too, never gets one of these numbers.
 * Where one was closed, reading and writing go on failing as they did (EBADF). False: errno says why
 * that cannot be; the program must not go on. */
bool hl_standard_fds_fill(void);

#endif
