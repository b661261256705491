#include <criterion/criterion.h>
#include <unistd.h>

#include "base/str.h"
#include "config/user.h"

static struct hl_user user;
static char why[64];

static enum hl_err find(const char *text)
{
    return hl_user_find(hl_str_from(text), &user, why, sizeof(why));
}

static bool is_in_group(gid_t gid)
{
    for (int i = 0; i < user.group_count; i++)
        if (user.groups[i] == gid)
            return true;
    return false;
}

Test(user, is_found_by_name_with_its_groups_and_home)
{
    cr_assert_eq(find("root"), HL_OK);
    cr_assert_eq(user.uid, 0);
    cr_assert_eq(user.gid, 0);
    cr_assert(is_in_group(0));
    cr_assert_str_eq(user.name, "root");
    cr_assert_str_eq(user.home, "/root");
    cr_assert_eq(find("daemon"), HL_OK);
    cr_assert_eq(user.uid, 1);
}

Test(user, is_found_by_number)
{
    cr_assert_eq(find("1"), HL_OK);
    cr_assert_str_eq(user.name, "daemon");
    cr_assert_eq(user.uid, 1);
    cr_assert_eq(user.gid, 1);
}

Test(user, that_no_passwd_knows_has_the_group_of_its_number_and_no_other)
{
    cr_assert_eq(find("54321"), HL_OK);
    cr_assert_eq(user.uid, 54321);
    cr_assert_eq(user.gid, 54321);
    cr_assert_eq(user.group_count, 1);
    cr_assert(is_in_group(54321));
    cr_assert_str_eq(user.name, "");
}

Test(user, with_a_group_is_in_that_one_alone)
{
    cr_assert_eq(find("54321:54322"), HL_OK);
    cr_assert_eq(user.gid, 54322);
    cr_assert_eq(find("root:daemon"), HL_OK);
    cr_assert_eq(user.uid, 0);
    cr_assert_eq(user.gid, 1);
    cr_assert_eq(user.group_count, 1);
    cr_assert(is_in_group(1));
}

Test(user, that_does_not_exist_is_refused_with_a_reason)
{
    static const char *const nobodies[] = {"", ":", "no-such-user", "-1", "4294967295",
        "4294967296", "1x", "root:no-such-group", "root:", "0:4294967295"};
    for (size_t i = 0; i < HL_ARRAY_LEN(nobodies); i++) {
        cr_assert_eq(find(nobodies[i]), HL_ERR_INVALID, "%s", nobodies[i]);
        cr_assert(strstr(why, "of this system"), "%s: %s", nobodies[i], why);
    }
}
