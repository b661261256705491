/* launch.c - see launch.h.
 * Not here: fork and exec, and the environment's making (child.c); when it is done (supervisor.c). */
#include "app/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/child.h"
#include "config/config.h"

bool hl_launch_init(struct hl_launch *launch, const struct hl_config *config,
    char *const *environment, char *why, size_t why_len)
{
    *launch = (struct hl_launch){.has_user = config->app_user.n > 0};
    if (config->app_command.n == 0)
        return true;
    if (launch->has_user && hl_user_find(config->app_user, &launch->user, why, why_len) != HL_OK)
        return false;
    launch->environment =
        hl_environment_for_app(environment, config, launch->has_user ? &launch->user : NULL);
    if (launch->environment && hl_command_parse(config->app_command, &launch->command) == HL_OK)
        return true;
    snprintf(why, why_len, "out of memory");
    return false;
}

void hl_launch_fini(struct hl_launch *launch)
{
    hl_command_fini(&launch->command);
    free(launch->environment);
    launch->environment = NULL;
}

bool hl_launch_check(
    const struct hl_config *config, char *const *environment, char *why, size_t why_len)
{
    struct hl_launch launch;
    char path[4096];
    bool is_good = hl_launch_init(&launch, config, environment, why, why_len);
    if (is_good && launch.command.program &&
        !hl_child_find(launch.command.program, launch.environment, path, sizeof(path))) {
        snprintf(why, why_len,
            "HOOKLINE_APP_COMMAND: " HL_LAUNCH_PROGRAM_LOST ": %s: %s; hookline would "
            "start and never be ready",
            launch.command.program, strerror(errno));
        is_good = false;
    }
    hl_launch_fini(&launch);
    return is_good;
}
