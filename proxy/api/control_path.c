/* control_path.c - the control socket's path. A socket's address has 108 bytes; a data directory with
 * a longer name is reached through a descriptor of it (proc(5), /proc/self/fd). */
#include "api/control_path.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool hl_control_path_init(struct hl_control_path *path, const char *data_dir)
{
    path->dir_fd = -1;
    int n = snprintf(path->text, sizeof(path->text), "%s/" HL_CONTROL_SOCKET, data_dir);
    if (n > 0 && (size_t)n < sizeof(path->text))
        return true;
    path->dir_fd = open(data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (path->dir_fd < 0)
        return false;
    snprintf(path->text, sizeof(path->text), "/proc/self/fd/%d/" HL_CONTROL_SOCKET, path->dir_fd);
    return true;
}

void hl_control_path_fini(struct hl_control_path *path)
{
    if (path->dir_fd >= 0)
        close(path->dir_fd);
    path->dir_fd = -1;
}
