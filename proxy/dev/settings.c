/* settings.c - see settings.h. */
#include "dev/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/bundle.h"
#include "base/random.h"
#include "dev/dev.h"

/* ---- ports of 127.0.0.1 ---- */

#define TRIES 1000

static bool ask_port(uint16_t port, int (*what)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    bool is_good = what(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
    close(fd);
    return is_good;
}

/* Ports are chosen before the programs start that will listen there: until then a name says that one is
 * taken. It is an abstract one (unix(7)): of a network namespace, as ports are, in nobody's way, and gone with the
 * process. False: another process holds it. Where there are no such names, nothing is held, and none is refused. */
static bool hold_port(uint16_t port, int *held)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "hookline-dev-%u", port);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    *held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*held < 0 || bind(*held, (struct sockaddr *)&at, length) == 0)
        return true;
    bool is_taken = errno == EADDRINUSE;
    close(*held);
    *held = -1;
    return !is_taken;
}

/* One that is bound to all addresses has it as well. Held first: who held it before has it by then. */
static bool take_port(struct hl_dev_port *taken, uint16_t port)
{
    if (!hold_port(port, &taken->held))
        return false;
    taken->number = port;
    if (!hl_dev_port_answers(port) && ask_port(port, bind))
        return true;
    if (taken->held >= 0)
        close(taken->held);
    taken->held = -1;
    return false;
}

static bool find_port(struct hl_dev_port *found, uint16_t wanted)
{
    for (uint32_t port = wanted; port < (uint32_t)wanted + TRIES && port <= UINT16_MAX; port++)
        if (take_port(found, (uint16_t)port))
            return true;
    return false;
}

bool hl_dev_port_answers(uint16_t port)
{
    return ask_port(port, connect);
}

/* ---- settings ---- */

static bool fail(const struct hl_dev_plan *plan, const char *what, const char *why)
{
    fprintf(plan->err, "hookline dev: %s: %s\n", what, why);
    return false;
}

/* ---- texts ---- */

static bool add(struct hl_dev_texts *t, const char *format, ...) HL_PRINTF(2, 3);

static bool add(struct hl_dev_texts *t, const char *format, ...)
{
    char **items = realloc(t->items, (t->n + 2) * sizeof(*items));
    if (!items)
        return false;
    t->items = items;
    va_list args;
    va_start(args, format);
    bool is_made = vasprintf(&items[t->n], format, args) >= 0;
    va_end(args);
    t->n += is_made;
    items[t->n] = NULL;
    return is_made;
}

static void drop(struct hl_dev_texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct hl_dev_texts){NULL, 0};
}

/* ---- where things are ---- */

#define NODE_HOST "bin/hookline-functions.mjs"

static const char *folder_of(char path[4096])
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return path;
}

/* The folder that `package` is in: beside the program in a build, else where it is installed. */
static bool find_package(
    const struct hl_dev_settings *s, const char *language, const char *package, char out[4096])
{
    static const char *const places[] = {"", "../lib/hookline/"};
    char folder[4096], probe[4096 + 64];
    snprintf(folder, sizeof(folder), "%s", s->program);
    folder_of(folder);
    for (size_t i = 0; i < HL_ARRAY_LEN(places); i++) {
        snprintf(probe, sizeof(probe), "%s/%s%s/%s", folder, places[i], language, package);
        if (access(probe, R_OK) == 0)
            return snprintf(out, 4096, "%s/%s%s", folder, places[i], language) < 4096;
    }
    return false;
}

/* Beside the program. */
static bool find_host(struct hl_dev_settings *s)
{
    char folder[4096];
    snprintf(folder, sizeof(folder), "%s", s->program);
    return snprintf(s->host, sizeof(s->host), "%s/hookline-function", folder_of(folder)) <
               (int)sizeof(s->host) &&
           access(s->host, X_OK) == 0;
}

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* What runs the functions. */
static bool find_runtime(struct hl_dev_settings *s, const struct hl_dev_plan *plan)
{
    if (plan->app == HL_DEV_MODULE)
        return find_host(s) || fail(plan, "the C function host is missing",
                                   "build the target hookline-function, or start the app yourself "
                                   "and give its URL");
    if (plan->app == HL_DEV_SCRIPT)
        return find_package(s, "node", "hookline-functions/" NODE_HOST, s->node) ||
               fail(plan, "the Node function host is missing",
                   "it belongs into lib/hookline/node beside this program's bin; or start the app "
                   "yourself and give its URL");
    return find_package(s, "python", "hookline_runtime", s->python) ||
           fail(plan, "the Python function host is missing",
               "build the target hookline_python, or start the app yourself and give its URL");
}

static bool find_all(struct hl_dev_settings *s, const struct hl_dev_plan *plan)
{
    if (!hl_bundle_program(s->program, sizeof(s->program)))
        return fail(plan, "/proc/self/exe", strerror(errno));
    if (!hl_dev_has_host(plan))
        return getcwd(s->folder, sizeof(s->folder)) || fail(plan, "getcwd", strerror(errno));
    if (!realpath(plan->file, s->folder))
        return fail(plan, plan->file, strerror(errno));
    if (!is_file(s->folder))
        return fail(
            plan, plan->file, "it is a folder: name the file in it that holds the functions");
    snprintf(s->file, sizeof(s->file), "%s", s->folder);
    folder_of(s->folder);
    return find_runtime(s, plan);
}

static bool find_ports(struct hl_dev_settings *s, const struct hl_dev_plan *plan)
{
    if (find_port(&s->run, 8080) && find_port(&s->admin, 9090) && find_port(&s->app, 8000) &&
        find_port(&s->hooks, 9000))
        return true;
    return fail(plan, "127.0.0.1", "there is no free port");
}

static void make_secret(struct hl_dev_settings *s)
{
    uint8_t random[24];
    hl_random_fill(random, sizeof(random));
    hl_hex_write(s->secret, random, sizeof(random));
    s->secret[2 * sizeof(random)] = '\0';
}

/* ---- what the programs are given ---- */

/* Functions read a few settings of their own from variables of that kind. */
static bool is_ours(const char *variable)
{
    return strncmp(variable, "HOOKLINE_", 9) == 0;
}

static bool is_functions(const char *variable)
{
    return strncmp(variable, "HOOKLINE_FUNCTION_", 18) == 0;
}

static bool add_surroundings(
    struct hl_dev_texts *t, const struct hl_dev_plan *plan, const char *left_out, bool is_app)
{
    bool is_good = true;
    for (char *const *v = plan->environ; *v && is_good; v++)
        if ((!is_ours(*v) || (is_app && is_functions(*v))) &&
            strncmp(*v, left_out, strlen(left_out)) != 0)
            is_good = add(t, "%s", *v);
    return is_good;
}

static bool note_ignored(struct hl_dev_settings *s, const struct hl_dev_plan *plan)
{
    enum hl_err err = HL_OK;
    for (char *const *v = plan->environ; *v && !err; v++)
        if (is_ours(*v) && !is_functions(*v))
            err = hl_buf_printf(&s->ignored, " %.*s", (int)strcspn(*v, "="), *v);
    return err == HL_OK;
}

/* The program and its arguments, where a host runs the app's functions. */
static bool make_host(struct hl_dev_settings *s, const struct hl_dev_plan *plan)
{
    struct hl_dev_texts *argv = &s->argv;
    bool is_good;
    if (plan->app == HL_DEV_FILE)
        is_good = add(argv, "python3") && add(argv, "-m") && add(argv, "hookline_runtime") &&
                  add(argv, "%s", plan->file);
    else if (plan->app == HL_DEV_SCRIPT)
        is_good = add(argv, "node") && add(argv, "%s/hookline-functions/" NODE_HOST, s->node) &&
                  add(argv, "%s", plan->file);
    else
        is_good = add(argv, "%s", s->host) && add(argv, "%s", s->file);
    return is_good && add(argv, "--port") && add(argv, "%u", s->app.number);
}

static bool make_app(struct hl_dev_settings *s, const struct hl_dev_plan *plan)
{
    struct hl_dev_texts *texts = &s->app_texts;
    bool is_good = true;
    if (plan->app == HL_DEV_FILE)
        is_good = add_surroundings(texts, plan, "PYTHONPATH=", true) &&
                  add(texts, "PYTHONPATH=%s", s->python) &&
                  add(texts, "PYTHONDONTWRITEBYTECODE=1"); /* the folder is the user's */
    else
        is_good = add_surroundings(texts, plan, "PORT=", true);
    if (is_good && hl_dev_has_host(plan))
        is_good = make_host(s, plan) && add(texts, "HOOKLINE_LOG_FORMAT=json");
    else if (is_good)
        is_good = add(texts, "PORT=%u", s->app.number);
    s->app_argv = s->argv.items ? s->argv.items : plan->command;
    s->app_environment = texts->items;
    return is_good;
}

/* A folder that cannot be: else there would be a control socket in the default one, in place of that of a hookline
 * that this machine runs. */
#define NOWHERE "/dev/null/hookline-dev"

static bool make_hookline(struct hl_dev_settings *s, const struct hl_dev_plan *plan)
{
    struct hl_dev_texts *t = &s->texts;
    bool is_good = add_surroundings(t, plan, "HOOKLINE_", false) &&
                   add(t, "HOOKLINE_LISTEN=127.0.0.1:%u", s->run.number) &&
                   add(t, "HOOKLINE_ADMIN_LISTEN=127.0.0.1:%u", s->admin.number) &&
                   add(t, "HOOKLINE_AUTH=none") && add(t, "HOOKLINE_HOSTS=localhost") &&
                   add(t, "HOOKLINE_STORE=memory") && add(t, "HOOKLINE_DATA_DIR=" NOWHERE) &&
                   add(t, "HOOKLINE_STREAM_KEEP=all") &&
                   add(t, "HOOKLINE_WEBHOOK_ALLOW=127.0.0.0/8,::1/128") &&
                   add(t, "HOOKLINE_WEBHOOK_SECRET=%s", s->secret) &&
                   add(t, "HOOKLINE_SHUTDOWN_DELAY=0s") && add(t, "HOOKLINE_DRAIN_TIMEOUT=1s") &&
                   add(t, "HOOKLINE_LOG_FORMAT=json") && add(t, "HOOKLINE_LOG_LEVEL=info") &&
                   add(t, "HOOKLINE_ACCESS_LOG=on");
    if (is_good && plan->app == HL_DEV_URL)
        is_good = add(t, "HOOKLINE_APP_URL=%s", plan->url);
    else if (is_good)
        is_good = add(t, "HOOKLINE_APP_URL=http://127.0.0.1:%u", s->app.number);
    s->environment = t->items;
    return is_good;
}

bool hl_dev_settings_make(struct hl_dev_settings *s, const struct hl_dev_plan *plan)
{
    *s = (struct hl_dev_settings){
        .run.held = -1, .admin.held = -1, .app.held = -1, .hooks.held = -1};
    hl_buf_init(&s->ignored, 0);
    make_secret(s);
    if (find_all(s, plan) && find_ports(s, plan)) {
        if (note_ignored(s, plan) && make_app(s, plan) && make_hookline(s, plan))
            return true;
        fail(plan, "dev", "out of memory");
    }
    hl_dev_settings_fini(s);
    return false;
}

void hl_dev_settings_fini(struct hl_dev_settings *s)
{
    drop(&s->argv);
    drop(&s->app_texts);
    drop(&s->texts);
    hl_buf_fini(&s->ignored);
    const int held[] = {s->run.held, s->admin.held, s->app.held, s->hooks.held};
    for (size_t i = 0; i < HL_ARRAY_LEN(held); i++)
        if (held[i] >= 0)
            close(held[i]);
}
