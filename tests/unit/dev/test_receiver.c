#include <criterion/criterion.h>

#include "base/id.h"
#include "base/str.h"
#include "dev/receiver.h"

#define RUN_ID "01020304-0506-7708-8910-111213141516"

static const char body[] = "{\"type\":\"run.success\",\"run_id\":\"" RUN_ID "\"}";

static void sign(char out[80], const char *secret)
{
    struct hl_signature signature;
    struct hl_signature_text text;
    struct hl_id id;
    cr_assert(hl_id_parse(HL_STR(RUN_ID), &id));
    cr_assert_eq(hl_signature_init(&signature, hl_str_from(secret)), HL_OK);
    hl_signature_begin(&signature, &id, 17);
    hl_signature_feed(&signature, body, sizeof(body) - 1);
    hl_signature_end(&signature, &text);
    hl_signature_fini(&signature);
    snprintf(out, 80, "v1,%s", text.hex);
}

static struct hl_dev_delivery inspect(const char *run_id, const char *signature)
{
    struct hl_dev_inspection i = {.n = 0};
    struct hl_dev_delivery out;
    hl_dev_inspection_begin(&i);
    hl_dev_inspection_field(&i, HL_STR("x-request-id"), hl_str_from(run_id));
    hl_dev_inspection_field(&i, HL_STR("X-Service-Webhook-Timestamp"), HL_STR("17"));
    hl_dev_inspection_field(&i, HL_STR("X-Service-Webhook-Signature"), hl_str_from(signature));
    hl_dev_inspection_head(&i, HL_STR("secret"));
    hl_dev_inspection_body(&i, (struct hl_str){body, 20});
    hl_dev_inspection_body(&i, (struct hl_str){body + 20, sizeof(body) - 21});
    hl_dev_inspection_read(&i, &out);
    hl_dev_inspection_end(&i);
    return out;
}

Test(delivery, is_verified_with_the_secret_it_was_signed_with)
{
    char signature[80];
    sign(signature, "secret");
    struct hl_dev_delivery d = inspect(RUN_ID, signature);
    cr_assert_str_eq(d.verdict, "signature verified");
    cr_assert_str_eq(d.type, "run.success");
    cr_assert_str_eq(d.run_id, RUN_ID);
    sign(signature, "another");
    cr_assert_str_eq(inspect(RUN_ID, signature).verdict,
        "signed with another secret: the call's own, if it had one");
    cr_assert_str_eq(inspect(RUN_ID, "").verdict, "not signed");
}

Test(delivery, shows_no_id_that_is_none)
{
    struct hl_dev_delivery d = inspect("\"},{\"", "v1,00");
    cr_assert_str_eq(d.run_id, "");
    cr_assert_str_eq(d.verdict, "signature without a run id or timestamp");
}
