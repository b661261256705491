/* test_listener_unix.c - listening on a unix socket: whose file it is, and what becomes of it. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop_fixture.h"
#include "net/listener.h"

static struct hl_listener listener, other;
static struct hl_stream stream;
static unsigned accepted, closed;
static char directory[] = "/tmp/hl-listener-XXXXXX", path[64];

static void on_event(struct hl_stream *s, const struct hl_stream_event *event)
{
    (void)s;
    closed += event->kind == HL_STREAM_CLOSED;
}

static bool may_accept(void *owner)
{
    (void)owner;
    return true;
}

static void on_connection(struct hl_listener *l)
{
    cr_assert_eq(hl_stream_init_unix(&stream, &loop, &reader, on_event), 0);
    cr_assert_eq(hl_listener_accept(l, &stream), 0);
    accepted++;
}

static int open_at(struct hl_listener *l, const char *where, mode_t mode)
{
    const struct hl_listener_host host = {
        .loop = &loop, .wheel = &wheel, .may_accept = may_accept, .on_connection = on_connection};
    return hl_listener_open_unix(l, &host, where, mode);
}

static struct sockaddr_un address_of(const char *where)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", where);
    return address;
}

static void begin(void)
{
    loop_begin();
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/app.sock", directory);
}

static void end(void)
{
    hl_listener_close(&listener);
    hl_listener_close(&other);
    if (accepted)
        hl_stream_close(&stream);
    loop_end();
    cr_assert_eq(closed, accepted);
    unlink(path);
    rmdir(directory);
}

TestSuite(listener_unix, .init = begin, .fini = end, .timeout = 180);

Test(listener_unix, accepts_at_its_path_and_removes_it_on_closing)
{
    cr_assert_eq(open_at(&listener, path, 0600), 0);
    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
    cr_assert_eq(hl_listener_port(&listener), 0);

    struct sockaddr_un address = address_of(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    UNTIL(accepted == 1);
    close(fd);

    hl_listener_close(&listener);
    cr_assert_neq(access(path, F_OK), 0);
}

Test(listener_unix, replaces_the_socket_of_a_process_that_died)
{
    struct sockaddr_un address = address_of(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    cr_assert_eq(open_at(&listener, path, 0600), 0);
}

Test(listener_unix, leaves_a_socket_alone_that_somebody_listens_on)
{
    cr_assert_eq(open_at(&listener, path, 0600), 0);
    cr_assert_eq(open_at(&other, path, 0600), UV_EADDRINUSE);
    cr_assert_eq(access(path, F_OK), 0);
}

Test(listener_unix, leaves_a_file_alone_that_is_no_socket)
{
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    cr_assert_eq(open_at(&listener, path, 0600), UV_EADDRINUSE);
    cr_assert_eq(access(path, F_OK), 0);
}

Test(listener_unix, refuses_a_path_that_no_socket_can_have)
{
    char long_path[200];
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    cr_assert_eq(open_at(&listener, long_path, 0600), UV_ENAMETOOLONG);
    cr_assert_eq(open_at(&listener, "", 0600), UV_ENAMETOOLONG);
}
