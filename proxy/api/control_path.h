/* control_path.h - where the control socket is: in the data directory, however long its name is. */
#ifndef HL_API_CONTROL_PATH_H
#define HL_API_CONTROL_PATH_H

#include <stdbool.h>
#include <sys/un.h>

/* In the data directory: who may connect has the rights of an admin of every project. */
#define HL_CONTROL_SOCKET "control.sock"

struct hl_control_path {
    char text[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int dir_fd; /* -1, or what `text` goes through: it is valid as long as this is open */
};

/* False: errno says why; there is nothing to end then. */
bool hl_control_path_init(struct hl_control_path *path, const char *data_dir);
void hl_control_path_fini(struct hl_control_path *path);

#endif
