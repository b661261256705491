#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"

static char directory[] = "/tmp/hookline-file-XXXXXX";
static struct sockaddr_un socket_address = {.sun_family = AF_UNIX};

static void begin(void)
{
    cr_assert(mkdtemp(directory));
    cr_assert_eq(chdir(directory), 0);
    int fd = open("plain", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_eq(write(fd, "x", 1), 1);
    close(fd);
    cr_assert_eq(symlink("plain", "link"), 0);
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    cr_assert_eq(symlink("fifo", "link-to-fifo"), 0);
    strcpy(socket_address.sun_path, "socket");
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&socket_address, sizeof(socket_address)), 0);
    close(fd);
}

static void end(void)
{
    static const char *const names[] = {"plain", "link", "fifo", "link-to-fifo", "socket"};
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
        unlink(names[i]);
    rmdir(directory);
}

TestSuite(file, .init = begin, .fini = end, .timeout = 180);

Test(file, opens_a_regular_file_and_a_link_to_one)
{
    static const char *const names[] = {"plain", "link"};
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
        char byte;
        int fd;
        cr_assert_eq(hl_file_open(names[i], &fd), HL_OK);
        cr_assert_eq(read(fd, &byte, 1), 1);
        close(fd);
    }
}

Test(file, refuses_at_once_what_is_no_regular_file)
{
    static const char *const names[] = {"fifo", "link-to-fifo", ".", "/dev/null", "socket"};
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
        int fd;
        cr_assert_eq(hl_file_open(names[i], &fd), HL_ERR_NO_FILE, "%s", names[i]);
        cr_assert_eq(fd, -1);
    }
}

Test(file, says_that_there_is_none)
{
    int fd;
    cr_assert_eq(hl_file_open("none", &fd), HL_ERR_NOT_FOUND);
}
