/* globals.c - makes LeakSanitizer look for pointers in those pages of global variables that were ever written, and in no others.
 *
 * At the end of a process it reads all writable segments of the program and its libraries: 11 MB of hookline, a megabyte of
 * each unit test, and 5 MB of the sanitizer's own, nearly all of which nobody has touched. Each page of them is a fault or
 * two, which is most of what the end of a short process costs. A page that this process has not written is as the file has
 * it, or zero: no pointer to what was allocated is there. So it finds the same leaks.
 *
 * It asks for the segments by dl_iterate_phdr; this one shows those that may be written in pieces, from when the process
 * begins to end. Whoever else asks then, as for the names of functions, looks at the other segments. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE   4096ul
#define PIECES 1024
/* Of an entry of /proc/self/pagemap (the kernel's Documentation/admin-guide/mm/pagemap.rst). */
#define IS_PRESENT   (1ull << 63)
#define IS_SWAPPED   (1ull << 62)
#define IS_OF_A_FILE (1ull << 61)

typedef int visitor(struct dl_phdr_info *info, size_t size, void *data);
typedef int iterator(visitor *visit, void *data);

static iterator *of_libc;
static bool is_ending;

struct request {
    visitor *visit;
    void *data;
    int pagemap;
};

/* What one module is shown with; not on a stack, for that is the sanitizer's own, and small. */
static ElfW(Phdr) pieces[PIECES];

static bool may_have_pointers(uint64_t entry)
{
    return (entry & IS_SWAPPED) || ((entry & IS_PRESENT) && !(entry & IS_OF_A_FILE));
}

/* Adds to `n` pieces those of a segment; SIZE_MAX: they are too many, or nobody says which they are. The process stands
 * still: only the kernel is called. */
static size_t add_pieces(int pagemap, ElfW(Addr) base, const ElfW(Phdr) * segment, size_t n)
{
    static uint64_t entries[512];
    uintptr_t begin = base + segment->p_vaddr, end = begin + segment->p_memsz;
    bool is_open = false;
    for (uintptr_t page = begin & ~(PAGE - 1); page < end;) {
        size_t left = (end - page + PAGE - 1) / PAGE, wanted = left < 512 ? left : 512;
        long got = syscall(SYS_pread64, pagemap, entries, wanted * 8, page / PAGE * 8);
        if (got != (long)(wanted * 8))
            return SIZE_MAX;
        for (size_t i = 0; i < wanted; i++, page += PAGE) {
            if (!may_have_pointers(entries[i])) {
                is_open = false;
                continue;
            }
            uintptr_t from = page < begin ? begin : page,
                      to = page + PAGE < end ? page + PAGE : end;
            if (!is_open) {
                if (n == PIECES)
                    return SIZE_MAX;
                pieces[n] = *segment;
                pieces[n].p_vaddr = from - base;
                n++;
            }
            is_open = true;
            pieces[n - 1].p_memsz = to - base - pieces[n - 1].p_vaddr;
        }
    }
    return n;
}

static int show_pieces(struct dl_phdr_info *info, size_t size, void *data)
{
    struct request *request = data;
    struct dl_phdr_info shown = *info;
    size_t n = 0;
    for (size_t i = 0; i < info->dlpi_phnum && n != SIZE_MAX; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W))
            n = add_pieces(request->pagemap, info->dlpi_addr, segment, n);
        else if (n < PIECES)
            pieces[n++] = *segment;
        else
            n = SIZE_MAX;
    }
    if (n == SIZE_MAX)
        return request->visit(info, size, request->data);
    shown.dlpi_phdr = pieces;
    shown.dlpi_phnum = n;
    return request->visit(&shown, size < sizeof(shown) ? size : sizeof(shown), request->data);
}

int dl_iterate_phdr(visitor *visit, void *data)
{
    struct request request = {visit, data, -1};
    if (!of_libc)
        *(void **)&of_libc = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    if (!is_ending)
        return of_libc(visit, data);
    request.pagemap =
        (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (request.pagemap < 0)
        return of_libc(visit, data);
    int result = of_libc(show_pieces, &request);
    syscall(SYS_close, request.pagemap);
    return result;
}

__attribute__((destructor)) static void end(void)
{
    is_ending = true;
}
