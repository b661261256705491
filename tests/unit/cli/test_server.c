#include <criterion/criterion.h>

#include "cli/server.h"

Test(target, is_of_one_project_or_of_all)
{
    static const char *const projects[] = {"a b", NULL};
    static const char *const texts[] = {"/v2/projects/a%20b/runs", "/v2/runs"};
    for (int i = 0; i < 2; i++) {
        struct hl_cli_target t;
        hl_cli_target_init(&t);
        hl_cli_target_of(&t, projects[i], "/runs");
        cr_assert_str_eq(hl_cli_target_text(&t), texts[i]);
        hl_cli_target_fini(&t);
    }
}

Test(target, encodes_what_somebody_typed)
{
    struct hl_cli_target t;
    hl_cli_target_init(&t);
    hl_cli_target_path(&t, "/v2/runs/");
    hl_cli_target_segment(&t, "../a?b#c%\n\xc3\xbc~");
    hl_cli_target_query(&t, "none", NULL);
    hl_cli_target_query(&t, "app", "a&b=c d");
    hl_cli_target_query_time(&t, "since", 1700000000123);
    cr_assert_str_eq(hl_cli_target_text(&t),
        "/v2/runs/..%2Fa%3Fb%23c%25%0A%C3%BC~?app=a%26b%3Dc%20d&since=1700000000123");
    hl_cli_target_fini(&t);
}
