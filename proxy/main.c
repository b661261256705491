/* main.c - argv → subcommand. */
#include <malloc.h>
#include <stdlib.h>

#include "base/bundle.h"
#include "base/file.h"
#include "cli/command.h"
#include "serve.h"

#define OWN_PAGES_FROM (512 * 1024)

extern char **environ;

int main(int argc, char **argv)
{
    if (!hl_standard_fds_fill())
        return EXIT_FAILURE; /* nobody could be told */
    hl_bundle_enter(environ);
#ifdef M_MMAP_THRESHOLD
    /* glibc learns from the first large piece that is freed to keep such pieces in its arenas, one a
     * thread, forever: bodies that were behind a disk for a moment. */
    mallopt(M_MMAP_THRESHOLD, OWN_PAGES_FROM);
#endif
    return hl_cli_run(argc, argv, environ, hl_serve);
}
