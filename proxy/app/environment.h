/* environment.h - what the app that we start finds in its environment. */
#ifndef HL_APP_ENVIRONMENT_H
#define HL_APP_ENVIRONMENT_H

struct hl_config;
struct hl_user;

/* Ours, without every variable that is a secret of hookline's or names the file of one (with
 * HOOKLINE_STORE=postgres libpq's too), and with
 *   PORT    the port of HOOKLINE_APP_URL; or, when that is a unix socket,
 *   SOCKET  its path, which HOOKLINE_FUNCTION_SOCKET says to the function hosts as well;
 *   HOME, USER, LOGNAME of `user`, if that is given and has a name.
 * One allocation, to be freed, that borrows the entries it keeps. NULL: out of memory. */
char **hl_environment_for_app(
    char *const *environment, const struct hl_config *config, const struct hl_user *user);

#endif
