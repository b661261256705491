/* forked.c - stands for boxfort, nanomsg and the patterns of --filter in the programs of tests. With them criterion
 * executes the program anew for each test and hears of it by way of sockets with a thread at each end: a start of the
 * sanitizers, of thirty libraries and of that thread, which is far more than most tests are. Here a test is a process
 * that is forked from the program, which has no other thread, and tells of itself by a pair of sockets. Criterion's part
 * stays: what it registers, asserts, counts and prints. A debugger follows a test by itself (gdb's `set follow-fork-mode
 * child`); --debug has none.
 *
 * What is defined here is declared by boxfort, nanomsg and criterion's sources, as far as criterion 2.4 calls it. */
#include <boxfort.h>
#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_TESTS   64 /* side by side */
#define MAX_OBJECTS 16 /* a test is told of */

/* --- what a test is told ---------------------------------------------------------------------- */

struct object {
    const char *name;
    const void *ptr;
    void (*fn)(void);
};

struct bxf_context_s {
    size_t n;
    struct object objects[MAX_OBJECTS];
};

static bxf_context own; /* of the test that this process is */

int bxf_context_init(bxf_context *ctx)
{
    *ctx = calloc(1, sizeof(**ctx));
    return *ctx ? 0 : -ENOMEM;
}

int bxf_context_term(bxf_context ctx)
{
    free(ctx);
    return 0;
}

bxf_context bxf_context_current(void)
{
    return own;
}

static int add(bxf_context ctx, const char *name, const void *ptr, void (*fn)(void))
{
    if (ctx->n == MAX_OBJECTS)
        return -ENOMEM;
    ctx->objects[ctx->n++] = (struct object){name, ptr, fn};
    return 0;
}

int bxf_context_addobject(bxf_context ctx, const char *name, const void *ptr, size_t size)
{
    (void)size; /* it is there as long as the context is, and in the test's process */
    return add(ctx, name, ptr, NULL);
}

int bxf_context_addfnaddr(bxf_context ctx, const char *name, void (*fn)(void))
{
    return add(ctx, name, NULL, fn);
}

/* NULL: there is none of that name. */
static const struct object *find(bxf_context ctx, const char *name)
{
    for (size_t i = 0; i < ctx->n; i++)
        if (strcmp(ctx->objects[i].name, name) == 0)
            return &ctx->objects[i];
    return NULL;
}

int bxf_context_getobject(bxf_context ctx, const char *name, void **ptr)
{
    const struct object *object = find(ctx, name);
    if (object)
        *ptr = (void *)(uintptr_t)object->ptr;
    return object != NULL;
}

int bxf_context_getfnaddr(bxf_context ctx, const char *name, void (**fn)(void))
{
    const struct object *object = find(ctx, name);
    if (object)
        *fn = object->fn;
    return object != NULL;
}

/* --- what a forked process has by itself ------------------------------------------------------- */

int bxf_context_addstatic(bxf_context ctx, const void *ptr, size_t size)
{
    (void)ctx;
    (void)ptr;
    (void)size;
    return 0;
}

int bxf_context_addarena(bxf_context ctx, bxf_arena arena)
{
    (void)ctx;
    (void)arena;
    return 0;
}

int bxf_arena_init(size_t initial, int flags, bxf_arena *arena)
{
    (void)initial;
    (void)flags;
    *arena = NULL;
    return 0;
}

int bxf_arena_term(bxf_arena *arena)
{
    (void)arena;
    return 0;
}

bxf_ptr bxf_arena_alloc(bxf_arena *arena, size_t size)
{
    (void)arena;
    void *p = malloc(size);
    return p ? (bxf_ptr)p : -ENOMEM;
}

bxf_ptr bxf_arena_realloc(bxf_arena *arena, bxf_ptr ptr, size_t newsize)
{
    (void)arena;
    void *p = realloc((void *)ptr, newsize);
    return p ? (bxf_ptr)p : -ENOMEM;
}

int bxf_arena_free(bxf_arena *arena, bxf_ptr ptr)
{
    (void)arena;
    free((void *)ptr);
    return 0;
}

void *bxf_arena_ptr(bxf_arena arena, bxf_ptr ptr)
{
    (void)arena;
    return (void *)ptr;
}

/* --- tests that run ----------------------------------------------------------------------------- */

struct test {
    struct bxf_instance_s seen; /* by criterion */
    bxf_callback *callback;
    int socket;        /* -1: it says no more */
    int pidfd;         /* -1: it has ended */
    uint64_t began_ns; /* monotonic */
    uint64_t limit_ns; /* 0: none */
};

static struct test *tests[MAX_TESTS];
static size_t n_tests;
static int to_runner = -1; /* the socket of the test that this process is */
/* By which the program tells itself of an end: where it hears it, and where it says it. */
static int itself[2] = {-1, -1};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* It says no more, but is not over: what it leaves is looked for. */
static void hang_up(struct test *test)
{
    if (test->socket >= 0)
        close(test->socket);
    test->socket = -1;
}

/* Nothing but what it has from its parent's parent: the other tests' sockets are not its. */
static void become_test(bxf_spawn_params params, int socket, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setsid();
    for (size_t i = 0; i < n_tests; i++) {
        hang_up(tests[i]);
        if (tests[i]->pidfd >= 0)
            close(tests[i]->pidfd);
    }
    for (int i = 0; i < 2; i++) {
        close(itself[i]);
        itself[i] = -1;
    }
    own = params->inherit.context;
    to_runner = socket;
    exit(params->fn());
}

static int begin(struct test *test, bxf_spawn_params params)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return -errno;
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(pair[0]);
        become_test(params, pair[1], parent);
    }
    close(pair[1]);
    test->socket = pair[0];
    test->pidfd = pid < 0 ? -1 : pidfd_open(pid, 0);
    if (test->pidfd < 0) {
        close(test->socket);
        return -errno;
    }
    test->seen.pid = (bxf_pid)pid;
    return 0;
}

int bxf_spawn_struct(bxf_instance **out, bxf_spawn_params params)
{
    if (params->debug.debugger || params->suspended || n_tests == MAX_TESTS)
        return -ENOTSUP;
    struct test *test = calloc(1, sizeof(*test));
    if (!test)
        return -ENOMEM;
    test->callback = params->callback;
    test->seen.status.alive = 1;
    test->seen.user = params->user;
    test->began_ns = now_ns();
    test->limit_ns = (uint64_t)(params->iquotas.runtime * 1e9);
    int err = begin(test, params);
    if (err) {
        free(test);
        return err;
    }
    tests[n_tests++] = test;
    *out = &test->seen;
    return 0;
}

/* Criterion asks when it was told that the test has ended. */
int bxf_wait(bxf_instance *instance, double timeout)
{
    (void)timeout;
    return instance->status.alive ? -EINVAL : 0;
}

int bxf_term(bxf_instance *instance)
{
    for (size_t i = 0; i < n_tests; i++)
        if (&tests[i]->seen == instance) {
            hang_up(tests[i]);
            free(tests[i]);
            tests[i] = tests[--n_tests];
            return 0;
        }
    return -EINVAL;
}

static void end(struct test *test)
{
    int status;
    while (waitpid((pid_t)test->seen.pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(test->pidfd);
    test->pidfd = -1;
    test->seen.time.elapsed = now_ns() - test->began_ns;
    test->seen.status.alive = 0;
    if (WIFEXITED(status))
        test->seen.status.exit = WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        test->seen.status.signal = WTERMSIG(status);
    test->callback(&test->seen);
}

/* How long to wait for a message, ms; what has run for too long is killed, and ends as any other. */
static int end_late(void)
{
    int wait_ms = -1;
    uint64_t now = now_ns();
    for (size_t i = 0; i < n_tests; i++) {
        struct test *test = tests[i];
        if (test->limit_ns == 0 || test->pidfd < 0 || test->seen.status.timed_out)
            continue;
        uint64_t due = test->began_ns + test->limit_ns;
        if (now >= due) {
            test->seen.status.timed_out = 1;
            kill((pid_t)test->seen.pid, SIGKILL);
        } else if (wait_ms < 0 || (due - now) / 1000000 < (uint64_t)wait_ms) {
            wait_ms = (int)((due - now) / 1000000) + 1;
        }
    }
    return wait_ms;
}

/* --- which tests run ----------------------------------------------------------------------------- */

/* Criterion's own leaves 20 MB behind in the sanitizer's quarantine, which each test would have, and would be looked
 * through for leaks. */
static const char *pattern;

int compile_pattern(const char *of_option);
int match(const char *name);
void free_pattern(void);

int compile_pattern(const char *of_option)
{
    pattern = of_option;
    return 1;
}

int match(const char *name)
{
    return fnmatch(pattern, name, FNM_EXTMATCH) == 0;
}

void free_pattern(void)
{
    pattern = NULL;
}

/* --- messages ----------------------------------------------------------------------------------- */

static struct test *asker; /* waits for an answer; NULL: the program does not */

static bool move_all(int socket, void *bytes, size_t n, bool sends)
{
    for (size_t done = 0; done < n;) {
        char *at = (char *)bytes + done;
        ssize_t k =
            sends ? send(socket, at, n - done, MSG_NOSIGNAL) : recv(socket, at, n - done, 0);
        if (k == 0 || (k < 0 && errno != EINTR))
            return false;
        done += k > 0 ? (size_t)k : 0;
    }
    return true;
}

static int send_to(int socket, const void *bytes, size_t n)
{
    uint32_t size = (uint32_t)n;
    bool is_sent = move_all(socket, &size, sizeof(size), true) &&
                   move_all(socket, (void *)(uintptr_t)bytes, n, true);
    return is_sent ? (int)n : -1;
}

static int receive(int socket, void **bytes)
{
    uint32_t size;
    if (!move_all(socket, &size, sizeof(size), false) || !(*bytes = malloc(size)))
        return -1;
    return move_all(socket, *bytes, size, false) ? (int)size : -1;
}

/* The next message of any test: what it said before it ended comes before its end. */
static int next_message(void **bytes)
{
    for (;;) {
        struct pollfd all[2 * MAX_TESTS + 1];
        for (size_t i = 0; i < n_tests; i++) {
            all[2 * i] = (struct pollfd){.fd = tests[i]->socket, .events = POLLIN};
            all[2 * i + 1] = (struct pollfd){.fd = tests[i]->pidfd, .events = POLLIN};
        }
        all[2 * n_tests] = (struct pollfd){.fd = itself[0], .events = POLLIN};
        if (poll(all, 2 * n_tests + 1, end_late()) < 0 && errno != EINTR)
            return -1;
        if (all[2 * n_tests].revents & POLLIN) {
            asker = NULL;
            return receive(itself[0], bytes);
        }
        for (size_t i = 0; i < n_tests; i++) {
            asker = tests[i];
            if (all[2 * i].revents & POLLIN) {
                int n = receive(asker->socket, bytes);
                if (n >= 0)
                    return n;
                hang_up(asker);
            }
            if (all[2 * i + 1].revents & POLLIN)
                end(asker);
        }
    }
}

int nn_socket(int domain, int protocol);
int nn_bind(int socket, const char *address);
int nn_connect(int socket, const char *address);
int nn_close(int socket);
int nn_send(int socket, const void *bytes, size_t n, int flags);
int nn_recv(int socket, void *bytes, size_t n, int flags);
int nn_freemsg(void *bytes);
const char *nn_strerror(int number);

/* The program makes two: that of the runner, and one by which it tells it of ends. */
int nn_socket(int domain, int protocol)
{
    (void)domain;
    (void)protocol;
    if (to_runner >= 0)
        return to_runner;
    if (itself[0] >= 0)
        return itself[1];
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, itself) ? -1 : itself[0];
}

int nn_bind(int socket, const char *address)
{
    (void)socket;
    (void)address;
    return 0;
}

int nn_connect(int socket, const char *address)
{
    (void)socket;
    (void)address;
    return 0;
}

int nn_close(int socket)
{
    return close(socket);
}

int nn_send(int socket, const void *bytes, size_t n, int flags)
{
    (void)flags;
    if (socket != itself[0])
        return send_to(socket, bytes, n);
    if (asker && asker->socket >= 0)
        (void)send_to(asker->socket, bytes, n); /* it may have ended meanwhile */
    return (int)n;
}

/* `bytes` is where the address of a message goes: NN_MSG is all that criterion asks for. The program does not wait for
 * its own answer. */
int nn_recv(int socket, void *bytes, size_t n, int flags)
{
    /* ack { status_code: OK } of criterion.proto */
    static const char ok[] = {8, 0};
    (void)n;
    (void)flags;
    void **message = bytes;
    if (socket == itself[0])
        return next_message(message);
    if (socket != itself[1])
        return receive(socket, message);
    *message = malloc(sizeof(ok));
    if (*message)
        memcpy(*message, ok, sizeof(ok));
    return *message ? (int)sizeof(ok) : -1;
}

int nn_freemsg(void *bytes)
{
    free(bytes);
    return 0;
}

const char *nn_strerror(int number)
{
    return strerror(number);
}
