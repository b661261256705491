/* fail_alloc.c - preloaded: has an allocation of the program, or of a library it uses, find no memory.
 *
 * The file FAIL_ALLOC is four numbers that the test and the process share: which allocation fails,
 * counted from when the test set `seen` to 0 (0: none does), how many in a row do, how many there were,
 * and how many have failed. In front of a sanitizer's allocator it hands on to that, so what is lost
 * or used after its end is seen as ever. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__interceptor_malloc(size_t n) __attribute__((weak));
extern void *__interceptor_calloc(size_t n, size_t size) __attribute__((weak));
extern void *__interceptor_realloc(void *p, size_t n) __attribute__((weak));
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

static struct {
    _Atomic uint64_t at, count, seen, failed;
} * plan;
static bool is_told; /* FAIL_ALLOC_TRACE: where each failed one was asked for */
static int (*real_getattr)(pthread_t thread, pthread_attr_t *attr);
static _Thread_local bool is_spared;

__attribute__((constructor)) static void read_plan(void)
{
    *(void **)&real_getattr = dlsym(RTLD_NEXT, "pthread_getattr_np");
    const char *path = getenv("FAIL_ALLOC");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *p = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    is_told = getenv("FAIL_ALLOC_TRACE") != NULL;
    if (p != MAP_FAILED)
        plan = p;
    unsetenv("FAIL_ALLOC"); /* what the process starts has memory */
    unsetenv("LD_PRELOAD");
}

static bool fails(void)
{
    uint64_t at = plan ? atomic_load(&plan->at) : 0;
    if (at == 0 || is_spared)
        return false;
    uint64_t n = atomic_fetch_add(&plan->seen, 1) + 1;
    if (n < at || n >= at + atomic_load(&plan->count))
        return false;
    atomic_fetch_add(&plan->failed, 1);
    if (is_told && __sanitizer_print_stack_trace)
        __sanitizer_print_stack_trace();
    errno = ENOMEM;
    return true;
}

static void *get(size_t n)
{
    return __interceptor_malloc ? __interceptor_malloc(n) : __libc_malloc(n);
}

void *malloc(size_t n)
{
    return fails() ? NULL : get(n);
}

void *calloc(size_t n, size_t size)
{
    if (fails())
        return NULL;
    return __interceptor_calloc ? __interceptor_calloc(n, size) : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    if (fails())
        return NULL;
    return __interceptor_realloc ? __interceptor_realloc(p, n) : __libc_realloc(p, n);
}

char *strndup(const char *text, size_t most)
{
    size_t n = strnlen(text, most);
    char *copy = fails() ? NULL : get(n + 1);
    if (copy)
        *(char *)mempcpy(copy, text, n) = '\0';
    return copy;
}

char *strdup(const char *text)
{
    return strndup(text, strlen(text));
}

/* A sanitizer asks for each new thread's stack by this, and aborts where it finds no memory. */
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
    is_spared = true;
    int rc = real_getattr(thread, attr);
    is_spared = false;
    return rc;
}
