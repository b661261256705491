/* test_inquiry.c - who asks the REST interface, as the control thread hears it. */
#include "auth/principal.h"
#include "worker/inquiry.h"

#include <criterion/criterion.h>
#include <string.h>

static struct hl_asker asker;

Test(inquiry, comes_from_somebody_unknown_where_nobody_is_asked)
{
    hl_asker_init(&asker, NULL);
    cr_assert(asker.is_unknown);
    cr_assert(asker.role == HL_ROLE_INVOKE && !asker.has_all_projects);
    cr_assert_str_eq(asker.project, "");
}

Test(inquiry, has_the_role_and_the_project_of_its_token)
{
    struct hl_principal who = {
        .role = HL_ROLE_ADMIN, .project = HL_STR("p"), .subject = HL_STR("ci")};
    hl_asker_init(&asker, &who);
    cr_assert(asker.role == HL_ROLE_ADMIN && !asker.is_unknown && !asker.has_all_projects);
    cr_assert_str_eq(asker.project, "p");
    cr_assert_str_eq(asker.subject, "ci");
    who.role = HL_ROLE_INVOKE;
    who.has_all_projects = true;
    hl_asker_init(&asker, &who);
    cr_assert(asker.role == HL_ROLE_INVOKE && asker.has_all_projects);
}

/* Cut, it could be another's. */
Test(inquiry, has_no_project_whose_name_is_too_long_for_one)
{
    char name[HL_NAME_MAX + 2], subject[HL_ASKER_SUBJECT + 50];
    memset(name, 'p', sizeof(name));
    memset(subject, 's', sizeof(subject));
    struct hl_principal who = {
        .project = {name, sizeof(name) - 1}, .subject = {subject, sizeof(subject)}};
    hl_asker_init(&asker, &who);
    cr_assert_str_eq(asker.project, "");
    cr_assert_eq(strlen(asker.subject), HL_ASKER_SUBJECT, "it is for people to read");
    who.project.n = HL_NAME_MAX;
    hl_asker_init(&asker, &who);
    cr_assert_eq(strlen(asker.project), HL_NAME_MAX);
}
