/* main.c - argv → subcommand. */
#include "cli/cli.h"
#include "serve.h"

extern char **environ;

int main(int argc, char **argv)
{
    return hl_cli_run(argc, argv, environ, hl_serve);
}
