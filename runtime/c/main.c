/* main.c - hookline-function: serves the functions of a shared object over HTTP.
 * Owns: the module, the server, the threads that run functions. Thread: main, which only waits. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bundle.h"
#include "base/file.h"
#include "base/log.h"
#include "c/crash.h"
#include "c/module.h"
#include "c/task.h"
#include "core/call.h"
#include "core/fork.h"
#include "core/host_log.h"
#include "core/server.h"
#include "loop/thread.h"

enum { EXIT_USAGE = 2 };

struct program {
    const char *path;
    bool only_lists;
    struct hl_settings settings;
    struct hl_module module;
    struct hl_server *server;
    struct hl_thread *threads;
    uint32_t thread_count;
};

/* ---- the command line ---- */

static const char usage[] =
    "usage: hookline-function [options] FILE.so\n"
    "\n"
    "Serves the functions of a shared object (hookline/function.h): POST /{name}, GET /healthz.\n"
    "\n"
    "  --port PORT      default: PORT, else 8000; 0 lets the system choose\n"
    "  --host ADDRESS   default: HOOKLINE_FUNCTION_HOST, else 127.0.0.1\n"
    "  --socket PATH    a unix socket instead; default: HOOKLINE_FUNCTION_SOCKET\n"
    "  --list           print the functions' names and end\n"
    "  --help, --version\n"
    "\n"
    "  HOOKLINE_FUNCTION_CONCURRENCY   calls at once; default: 1\n"
    "  HOOKLINE_FUNCTION_ENVELOPE      on: results as {\"run_id\",\"run_time_ms\",\"result\"}\n"
    "  HOOKLINE_FUNCTION_MAX_BODY      a request's body, and a result that is collected; default: "
    "64MiB\n"
    "  HOOKLINE_LOG_LEVEL, HOOKLINE_LOG_FORMAT   as for hookline\n";

enum choice {
    OPTION_PORT = 1,
    OPTION_HOST,
    OPTION_SOCKET,
    OPTION_LIST,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option options[] = {
    {"port", required_argument, NULL, OPTION_PORT},
    {"host", required_argument, NULL, OPTION_HOST},
    {"socket", required_argument, NULL, OPTION_SOCKET},
    {"list", no_argument, NULL, OPTION_LIST},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {0},
};

/* -1: go on; else the program's end. */
static int read_arguments(
    struct program *program, struct hl_settings_options *from, int argc, char **argv)
{
    for (int found; (found = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (found) {
        case OPTION_PORT:
            from->port = optarg;
            break;
        case OPTION_HOST:
            from->host = optarg;
            break;
        case OPTION_SOCKET:
            from->socket = optarg;
            break;
        case OPTION_LIST:
            program->only_lists = true;
            break;
        case OPTION_HELP:
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        case OPTION_VERSION:
            printf(
                "hookline-function %s, functions of versions 1 to %d\n", HL_VERSION, HL_FN_VERSION);
            return EXIT_SUCCESS;
        default:
            fputs(usage, stderr);
            return EXIT_USAGE;
        }
    }
    if (argc - optind != 1) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    program->path = argv[optind];
    return -1;
}

static int complain(const char *why)
{
    fprintf(stderr, "hookline-function: %s\n", why);
    return EXIT_FAILURE;
}

/* ---- serving ---- */

static void work(void *arg)
{
    struct program *program = arg;
    struct hl_call *call;
    hl_crash_begin_thread();
    while ((call = hl_call_take(program->server)) != NULL)
        hl_task_run(call, &program->module.face->functions[hl_call_callee(call)],
            program->settings.max_body);
    hl_crash_end_thread();
}

static int start_threads(struct program *program)
{
    uint32_t wanted = program->settings.concurrency;
    program->threads = calloc(wanted, sizeof(program->threads[0]));
    for (uint32_t i = 0; program->threads && i < wanted; i++) {
        if (hl_thread_start(&program->threads[i], "hl-function", work, program) != 0)
            break;
        program->thread_count++;
    }
    return program->thread_count == wanted ? 0 : -1;
}

static void tell_where(const struct program *program)
{
    const struct hl_settings *s = &program->settings;
    char where[sizeof(s->socket) + 16];
    if (s->socket[0])
        snprintf(where, sizeof(where), "unix:%s", s->socket);
    else
        snprintf(where, sizeof(where), "%s port %u", s->host, hl_server_port(program->server));
    HL_LOG(INFO, "listening", HL_LOG_TEXT("address", where),
        HL_LOG_INT("functions", program->module.count), HL_LOG_INT("concurrency", s->concurrency));
}

/* Returns when all calls have ended after a signal. */
static int serve(struct program *program, char *why)
{
    const struct hl_fn_module *face = program->module.face;
    int rc = face->setup ? face->setup(&hl_task_host) : 0;
    hl_task_end_child(rc);
    if (rc != 0) {
        snprintf(why, HL_SETTINGS_WHY, "the module's setup returned %d", rc);
        return complain(why);
    }
    if (hl_server_start(&program->server, &program->settings, program->module.callees,
            program->module.count, true, why) != HL_OK)
        return complain(why);
    int status = EXIT_SUCCESS;
    if (start_threads(program) == 0) {
        tell_where(program);
    } else {
        status = complain("cannot start the threads for HOOKLINE_FUNCTION_CONCURRENCY");
        hl_server_stop(program->server);
    }
    for (uint32_t i = 0; i < program->thread_count; i++)
        hl_thread_join(&program->threads[i]);
    hl_server_free(program->server);
    free(program->threads);
    if (face->teardown)
        face->teardown();
    HL_LOG(INFO, "stopped");
    return status;
}

static int list(const struct program *program)
{
    for (size_t i = 0; i < program->module.count; i++)
        puts(program->module.callees[i].name);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (!hl_standard_fds_fill())
        return EXIT_FAILURE; /* nobody could be told */
    hl_bundle_enter(environ);
    static struct program program;
    struct hl_settings_options from = {0};
    char why[HL_SETTINGS_WHY];
    int status = read_arguments(&program, &from, argc, argv);
    if (status >= 0)
        return status;
    if (hl_settings_read(&program.settings, &from, why) != HL_OK)
        return complain(why);
    hl_log_setup(program.settings.log_level, program.settings.log_format);
    hl_crash_init();
    if (hl_fork_watch() != HL_OK)
        return complain("out of memory");
    hl_host_log_start();
    if (hl_module_load(&program.module, program.path, why) != HL_OK)
        status = complain(why);
    else
        status = program.only_lists ? list(&program) : serve(&program, why);
    hl_module_fini(&program.module);
    return status;
}
