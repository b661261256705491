/* test_request.c - the head fields of an attempt and their names. */
#include "base/id.h"
#include "base/str.h"
#include "webhook/request.h"
#include "webhook/signature.h"

#include <criterion/criterion.h>

static const struct hl_signature_text signature = {.hex = "abcd", .base64 = "QUJD"};
static const struct hl_signature_text previous = {.hex = "ef01", .base64 = "REVG"};
static const struct hl_webhook_proof proof = {.signature = &signature};

static void expect_fields(const struct hl_webhook_request *r, const char *const *lines, size_t n)
{
    const struct curl_slist *field = r->fields;
    for (size_t i = 0; i < n; i++, field = field->next) {
        cr_assert_not_null(field, "%s is missing", lines[i]);
        cr_assert_str_eq(field->data, lines[i]);
    }
    cr_assert_null(field);
}

static struct hl_id parse_id(void)
{
    struct hl_id id;
    cr_assert(hl_id_parse(HL_STR("0193b5a0-0000-7000-8000-000000000001"), &id));
    return id;
}

Test(request, carries_the_service_name_in_its_field_names)
{
    struct hl_webhook_names names;
    cr_assert_eq(hl_webhook_names_init(&names, HL_STR("Acme")), HL_OK);
    cr_assert_str_eq(names.timestamp, "X-Acme-Webhook-Timestamp:");
    cr_assert_str_eq(names.signature, "X-Acme-Webhook-Signature:");
}

Test(request, refuses_a_service_name_that_is_no_token)
{
    struct hl_webhook_names names;
    char longest[HL_SERVICE_NAME_MAX + 1];
    memset(longest, 'n', sizeof longest);
    cr_assert_eq(hl_webhook_names_init(&names, HL_STR("")), HL_ERR_INVALID);
    cr_assert_eq(hl_webhook_names_init(&names, HL_STR("a b")), HL_ERR_INVALID);
    cr_assert_eq(hl_webhook_names_init(&names, HL_STR("a:")), HL_ERR_INVALID);
    cr_assert_eq(hl_webhook_names_init(&names, HL_STR("a\r\nb")), HL_ERR_INVALID);
    cr_assert_eq(
        hl_webhook_names_init(&names, (struct hl_str){longest, sizeof longest}), HL_ERR_INVALID);
    cr_assert_eq(
        hl_webhook_names_init(&names, (struct hl_str){longest, HL_SERVICE_NAME_MAX}), HL_OK);
}

Test(request, lists_all_fields_of_a_signed_delivery)
{
    static const char *const lines[] = {
        "Content-Type: application/json",
        "Expect:",
        "X-Request-Id: 0193b5a0-0000-7000-8000-000000000001",
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "X-Service-Webhook-Timestamp: 1700000000",
        "X-Service-Webhook-Signature: v1,abcd",
        "webhook-id: 0193b5a0-0000-7000-8000-000000000001",
        "webhook-timestamp: 1700000000",
        "webhook-signature: v1,QUJD",
    };
    struct hl_webhook_names names;
    struct hl_webhook_request r;
    struct hl_id id = parse_id();
    cr_assert_eq(hl_webhook_names_init(&names, HL_STR("Service")), HL_OK);
    cr_assert_eq(hl_webhook_request_init(&r, &names, &id, 1700000000, &proof,
                     HL_STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), NULL),
        HL_OK);
    expect_fields(&r, lines, HL_ARRAY_LEN(lines));
}

Test(request, names_the_run_without_a_secret_too)
{
    static const char *const lines[] = {"Content-Type: application/json",
        "Expect:", "X-Request-Id: 0193b5a0-0000-7000-8000-000000000001"};
    struct hl_webhook_names names;
    struct hl_webhook_request r;
    struct hl_id id = parse_id();
    cr_assert_eq(hl_webhook_names_init(&names, HL_STR("Service")), HL_OK);
    cr_assert_eq(
        hl_webhook_request_init(&r, &names, &id, 1700000000, NULL, (struct hl_str){NULL, 0}, NULL),
        HL_OK);
    expect_fields(&r, lines, HL_ARRAY_LEN(lines));
}

Test(request, refuses_a_field_that_does_not_fit)
{
    struct hl_webhook_names names;
    struct hl_webhook_request r;
    struct hl_id id = parse_id();
    char longest[sizeof r.text];
    memset(longest, '0', sizeof longest);
    cr_assert_eq(hl_webhook_names_init(&names, HL_STR("Service")), HL_OK);
    cr_assert_eq(hl_webhook_request_init(&r, &names, &id, 1700000000, NULL,
                     (struct hl_str){longest, sizeof longest}, NULL),
        HL_ERR_INVALID);
}

Test(request, signs_with_both_secrets_of_a_rotation_the_new_one_first)
{
    static const char *const lines[] = {
        "Content-Type: application/json",
        "Expect:",
        "X-Request-Id: 0193b5a0-0000-7000-8000-000000000001",
        "X-Service-Webhook-Timestamp: 1700000000",
        "X-Service-Webhook-Signature: v1,abcd",
        "webhook-id: 0193b5a0-0000-7000-8000-000000000001",
        "webhook-timestamp: 1700000000",
        "webhook-signature: v1,QUJD v1,REVG",
        "Authorization: Bearer x",
    };
    struct hl_webhook_names names;
    struct hl_webhook_request r;
    struct hl_id id = parse_id();
    char field[] = "Authorization: Bearer x";
    struct curl_slist more = {.data = field};
    const struct hl_webhook_proof both = {&signature, &previous};
    cr_assert_eq(hl_webhook_names_init(&names, HL_STR("Service")), HL_OK);
    cr_assert_eq(hl_webhook_request_init(
                     &r, &names, &id, 1700000000, &both, (struct hl_str){NULL, 0}, &more),
        HL_OK);
    expect_fields(&r, lines, HL_ARRAY_LEN(lines));
}
