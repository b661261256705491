#include "config/replica.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

Test(replica, has_the_name_of_the_host)
{
    char name[HL_REPLICA_MAX + 1], host[HL_REPLICA_MAX + 1] = "";
    hl_replica_by_host(name);
    cr_assert(hl_replica_is_valid(hl_str_from(name)));
    if (gethostname(host, sizeof(host)) == 0 && hl_replica_is_valid(hl_str_from(host)))
        cr_assert_str_eq(name, host);
    else
        cr_assert_str_eq(name, "hookline");
}

Test(replica, has_a_name_that_lines_and_labels_can_hold)
{
    static char longest[HL_REPLICA_MAX + 1];
    memset(longest, 'x', sizeof(longest));
    cr_assert(hl_replica_is_valid(HL_STR("words-0.words:8080/a")));
    cr_assert(hl_replica_is_valid((struct hl_str){longest, HL_REPLICA_MAX}));
    cr_assert_not(hl_replica_is_valid((struct hl_str){longest, HL_REPLICA_MAX + 1}));
    cr_assert_not(hl_replica_is_valid(HL_STR("")));
    cr_assert_not(hl_replica_is_valid(HL_STR("two words")));
    cr_assert_not(hl_replica_is_valid(HL_STR("a\tb")));
    cr_assert_not(hl_replica_is_valid(HL_STR("\xc3\xbc")));
}
