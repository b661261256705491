/* test_body_file.c - a body's file has its final name only once it was committed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/body_file.h"
#include "store/data_dir.h"

static struct hl_data_dir dir;
static char path[64];
static const struct hl_id id = {{1, 2, 3, 4, 5, 6, 0x77, 8, 0x89, 10, 11, 12, 13, 14, 15, 0xab}};

static void init(void)
{
    char why[256];
    strcpy(path, "/tmp/hookline-body-XXXXXX");
    cr_assert(mkdtemp(path));
    cr_assert_eq(hl_data_dir_open(&dir, path, why, sizeof(why)), HL_OK, "%s", why);
}

static void fini(void)
{
    char command[128];
    hl_data_dir_close(&dir);
    snprintf(command, sizeof(command), "rm -rf %s", path);
    cr_assert_eq(system(command), 0);
}

TestSuite(body_file, .init = init, .fini = fini);

Test(body_file, is_found_after_commit_only)
{
    int fd, reading;
    char bytes[8] = {0}, name[128];
    struct stat st;
    cr_assert_eq(hl_body_file_create(dir.path, &id, &fd), HL_OK);
    cr_assert_eq(hl_body_file_create(dir.path, &id, &reading), HL_ERR_EXISTS);
    cr_assert_eq(write(fd, "bytes", 5), 5);
    cr_assert_eq(hl_body_file_open(dir.path, &id, &reading), HL_ERR_NOT_FOUND);
    cr_assert_eq(hl_body_file_commit(dir.path, &id, fd), HL_OK);
    close(fd);

    cr_assert_eq(hl_body_file_open(dir.path, &id, &reading), HL_OK);
    cr_assert_eq(read(reading, bytes, sizeof(bytes)), 5);
    cr_assert_str_eq(bytes, "bytes");
    cr_assert_eq(fstat(reading, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
    close(reading);
    snprintf(name, sizeof(name), "%s/bodies/ab/01020304-0506-7708-890a-0b0c0d0e0fab", dir.path);
    cr_assert_eq(access(name, F_OK), 0);
    hl_body_file_remove(dir.path, &id);
    cr_assert_eq(hl_body_file_open(dir.path, &id, &reading), HL_ERR_NOT_FOUND);
}

Test(body_file, one_that_was_not_committed_can_be_removed)
{
    int fd;
    cr_assert_eq(hl_body_file_create(dir.path, &id, &fd), HL_OK);
    close(fd);
    hl_body_file_remove(dir.path, &id);
    cr_assert_eq(hl_body_file_create(dir.path, &id, &fd), HL_OK);
    close(fd);
}
