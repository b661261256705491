/* test_upload.c - forms, on a disk that does as the test says. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/server.h"
#include "house.h"

#define FORM  "Content-Type: multipart/form-data; boundary=b\r\n"
#define LIMIT (64 * 1024 * 1024)

/* ---- the disk ---- */

static struct {
    atomic_bool is_still, is_full;
    atomic_uint waiting; /* writes */
} disk;

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    struct stat file;
    bool is_upload = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 0;
    if (!is_upload)
        return __real_write(fd, p, n);
    atomic_fetch_add(&disk.waiting, 1);
    while (atomic_load(&disk.is_still))
        house_rest();
    atomic_fetch_sub(&disk.waiting, 1);
    if (!atomic_load(&disk.is_full))
        return __real_write(fd, p, n < 10000 ? n : 10000);
    errno = ENOSPC;
    return -1;
}

/* Files without a name that this process has open. */
static unsigned count_files(void)
{
    unsigned count = 0;
    DIR *open_ones = opendir("/proc/self/fd");
    for (const struct dirent *entry; (entry = readdir(open_ones)) != NULL;) {
        struct stat file;
        if (fstatat(dirfd(open_ones), entry->d_name, &file, 0) == 0)
            count += S_ISREG(file.st_mode) && file.st_nlink == 0;
    }
    closedir(open_ones);
    return count;
}

static unsigned files_before;

static void begin(void)
{
    house_prepare();
    house.settings.max_upload = LIMIT;
    files_before = count_files();
}

static void end(void)
{
    atomic_store(&disk.is_still, false);
    house_close();
    cr_assert_eq(count_files(), files_before);
}

TestSuite(upload, .init = begin, .fini = end, .timeout = 180);

#define UNTIL_FILES(n) UNTIL(count_files() == files_before + (n))

/* ---- callers ---- */

/* A text of `n` letters. */
static const char *letters(size_t n)
{
    static char text[512 * 1024];
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + i * 7 % 26 + i / 1000 % 2);
    text[n] = '\0';
    return text;
}

/* Of a form whose first `n` letters come. */
static int begin_form(size_t length, size_t n)
{
    char head[256];
    int fd = caller_open();
    snprintf(head, sizeof(head),
        "POST /form HTTP/1.1\r\nHost: x\r\n" FORM "Content-Length: %zu\r\n\r\n", length);
    caller_send(fd, head);
    caller_send(fd, letters(n));
    return fd;
}

static void assert_answered(int fd, const char *status, const char *body)
{
    const char *got = caller_read_until(fd, body);
    cr_assert(strstr(got, status), "%.300s", got);
}

/* ---- tests ---- */

Test(upload, is_the_same_whatever_its_length_and_the_connection_goes_on)
{
    static const size_t lengths[] = {0, 1, 4000, 65535, 65536, 300000};
    house_open();
    int fd = caller_open();
    for (size_t i = 0; i < HL_ARRAY_LEN(lengths); i++) {
        char mark[64];
        snprintf(mark, sizeof(mark), "\r\nContent-Length: %zu\r\n", lengths[i]);
        caller_post(fd, "/form", FORM, letters(lengths[i]));
        caller_post(fd, "/echo", "", "{\"next\":1}"); /* what is read ahead stays behind it */
        const char *got = caller_read_until(fd, "{\"next\":1}");
        cr_assert(strstr(got, mark) && strstr(got, letters(lengths[i])));
    }
    close(fd);
    UNTIL_FILES(0);
}

Test(upload, is_the_same_in_chunks_of_any_size)
{
    house_open();
    int fd = caller_open();
    const char *text = letters(2000);
    caller_send(fd, "POST /form HTTP/1.1\r\nHost: x\r\n" FORM "Transfer-Encoding: chunked\r\n\r\n");
    for (size_t at = 0, n = 1; at < 2000; at += n, n = n % 7 + 1) {
        char chunk[32];
        n = n < 2000 - at ? n : 2000 - at;
        snprintf(chunk, sizeof(chunk), "%zx\r\n%.*s\r\n", n, (int)n, text + at);
        caller_send(fd, chunk);
    }
    caller_send(fd, "0\r\n\r\n");
    assert_answered(fd, " 200 ", text);
    close(fd);
}

Test(upload, to_a_disk_that_stands_still_holds_up_nobody_else)
{
    house_open();
    atomic_store(&disk.is_still, true);
    int part = begin_form(1000, 500), whole = begin_form(1000, 1000);
    UNTIL(atomic_load(&disk.waiting) == 2);
    cr_assert(strstr(caller_ask("GET /healthz HTTP/1.0\r\n\r\n"), " 200 "));
    cr_assert(strstr(
        caller_ask("POST /echo HTTP/1.0\r\nContent-Length: 7\r\n\r\n{\"a\":1}"), "{\"a\":1}"));
    atomic_store(&disk.is_still, false);
    assert_answered(whole, " 200 ", letters(1000));
    caller_send(part, letters(1000) + 500);
    assert_answered(part, " 200 ", letters(1000));
    close(part);
    close(whole);
}

Test(upload, is_read_no_faster_than_the_disk_takes_it)
{
    house_open();
    atomic_store(&disk.is_still, true);
    int fd = begin_form(LIMIT, 1000), refusals = 0;
    UNTIL(atomic_load(&disk.waiting) == 1);
    size_t sent = 1000;
    const char *text = letters(400000);
    while (sent < LIMIT && refusals < 5) {
        ssize_t n = send(
            fd, text, sent + 400000 < LIMIT ? 400000 : LIMIT - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        refusals = n < 0 ? refusals + 1 : 0;
        sent += n < 0 ? 0 : (size_t)n;
        if (n < 0)
            house_catch_up();
    }
    cr_assert_lt(sent, (size_t)LIMIT);
    close(fd);
}

Test(upload, that_does_not_come_to_its_end_leaves_nothing)
{
    house.settings.max_upload = 2000;
    house_open();
    int gone = begin_form(1000, 500); /* while it comes */
    UNTIL_FILES(1);
    close(gone);
    UNTIL_FILES(0);

    atomic_store(&disk.is_still, true);
    int part = begin_form(1000, 500), whole = begin_form(1000, 1000); /* while it is written */
    UNTIL(atomic_load(&disk.waiting) == 2);
    close(part);
    close(whole);
    house_catch_up();
    atomic_store(&disk.is_still, false);
    UNTIL_FILES(0);

    int fd = caller_open(); /* longer than it may be */
    caller_send(
        fd, "POST /form HTTP/1.1\r\nHost: x\r\n" FORM "Transfer-Encoding: chunked\r\n\r\n3e8\r\n");
    caller_send(fd, letters(1000));
    UNTIL_FILES(1);
    caller_send(fd, "\r\n3e9\r\n");
    caller_send(fd, letters(1001));
    assert_answered(fd, " 413 ", "\r\n\r\n{");
    UNTIL_FILES(0);
    close(fd);
}

Test(upload, is_refused_where_the_disk_takes_no_more)
{
    house_open();
    atomic_store(&disk.is_full, true);
    int part = begin_form(1000, 500), whole = begin_form(1000, 1000);
    assert_answered(part, " 503 ", "TMPDIR");
    assert_answered(whole, " 503 ", "TMPDIR");
    UNTIL_FILES(0);
    close(part);
    close(whole);
    setenv("TMPDIR", "/nowhere", true);
    int fd = begin_form(1000, 0);
    assert_answered(fd, " 503 ", "TMPDIR");
    close(fd);
}

Test(upload, is_written_to_its_end_when_the_host_stops)
{
    house_open();
    atomic_store(&disk.is_still, true);
    int answered = begin_form(1000, 1000), gone = begin_form(1000, 1000);
    UNTIL(atomic_load(&disk.waiting) == 2);
    hl_server_stop(house.server);
    close(gone);
    UNTIL(hl_server_is_stopping(house.server));
    atomic_store(&disk.is_still, false);
    assert_answered(answered, " 200 ", letters(1000));
    house_close();
    cr_assert_eq(count_files(), files_before);
    close(answered);
}

Test(upload, that_still_comes_is_not_open_in_a_forked_process)
{
    house_open();
    int fd = begin_form(1000, 500), status;
    UNTIL_FILES(1);
    pid_t child = fork();
    if (child == 0)
        _exit((int)count_files());
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(WEXITSTATUS(status), files_before);
    caller_send(fd, letters(1000) + 500);
    assert_answered(fd, " 200 ", letters(1000));
    close(fd);
}
