/* launch.h - what HOOKLINE_APP_COMMAND and HOOKLINE_APP_USER say of the app's process: its program and words, its
 * environment, its user. Read once, before other threads are there. */
#ifndef HL_APP_LAUNCH_H
#define HL_APP_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "config/command.h"

struct hl_config;

/* All zeros: there is no command. */
struct hl_launch {
    struct hl_command command;
    char **environment; /* owned; of hl_environment_for_app */
    struct hl_user user;
    bool has_user;
};

/* `environment` is what hookline was started with. False: `why` has one line, and hl_launch_fini is still due. */
HL_MUST_CHECK bool hl_launch_init(struct hl_launch *launch, const struct hl_config *config,
    char *const *environment, char *why, size_t why_len);
void hl_launch_fini(struct hl_launch *launch); /* leaves it empty */

static inline bool hl_launch_is_wanted(const struct hl_launch *launch)
{
    return launch->command.argv != NULL;
}

#define HL_LAUNCH_PROGRAM_LOST "the app's program does not exist or cannot be executed"

/* Whether the program could be run, as far as that can be told without the shell. False: `why` has one line. */
HL_MUST_CHECK bool hl_launch_check(
    const struct hl_config *config, char *const *environment, char *why, size_t why_len);

#endif
