/* story.h - `hookline runs show`: what happened to a run. Returns the exit status. */
#ifndef HL_CLI_STORY_H
#define HL_CLI_STORY_H

#include "cli/cli.h"

int hl_cli_runs_show(const struct hl_cli *cli);

#endif
