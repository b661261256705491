/* test_near_name.c - names that are hookline's but for their case, their separators or one letter. */
#include "route/near_name.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/compiler.h"

static const char *near_of(const char *query)
{
    struct hl_str found;
    const char *ours = NULL;
    return hl_near_name_find(hl_str_from(query), &found, &ours) ? ours : "";
}

Test(near_name, is_ours_but_for_case_separators_or_one_letter)
{
    static const char *const of_async[] = {"Async=true", "ASYNC", "asyncx=1", "asyn=1", "asnyc=1",
        "azync=1", "a_sync=1", "-async", "%41sync=1", "x=1&&Async=1&y"};
    static const char *const of_webhook[] = {"webhookendpoint=x", "webhook_endpoint=x",
        "web_hook_endpoint=x", "Webhook-Endpoint=x", "WEBHOOK_ENDPOINT", "webhookEndpoints=x",
        "webhookEndpont=x", "webhookEnpdoint=x", "webhook%5fendpoint=x"};
    for (size_t i = 0; i < HL_ARRAY_LEN(of_async); i++)
        cr_assert_str_eq(near_of(of_async[i]), "async", "%s", of_async[i]);
    for (size_t i = 0; i < HL_ARRAY_LEN(of_webhook); i++)
        cr_assert_str_eq(near_of(of_webhook[i]), "webhookEndpoint", "%s", of_webhook[i]);
}

Test(near_name, is_neither_ours_nor_one_of_the_apps)
{
    static const char *const cases[] = {"", "&&", "=", "async=true", "%61sync=1",
        "webhookEndpoint=x", "webhook%45ndpoint=x", "x=Async", "sync=true", "Sync=1", "asyncio=1",
        "rsync=1", "fsync=1", "vsync=true", "x_sync=1", "as=1", "a", "webhook=x", "endpoint=x",
        "webhook_url=x", "Async%00=1", "asyn%zzc=1", "webhookEndpointOfTheOtherOne=x",
        "_________________________________async"};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_str_eq(near_of(cases[i]), "", "%s", cases[i]);
}

Test(near_name, is_given_as_it_stands_there)
{
    struct hl_str found;
    const char *ours;
    cr_assert(hl_near_name_find(HL_STR("x=1&%41sync=true"), &found, &ours));
    cr_assert(hl_str_eq(found, HL_STR("%41sync")));
}
