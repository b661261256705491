/* test_offer.c - calls to paste out of what an app says of itself. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "dev/offer.h"
#include "dev/sketch.h"

static struct hl_dev_offer offer;

static bool of_openapi(const char *paths)
{
    json_t *description = json_pack("{s:o, s:{s:{s:{s:s, s:[s], s:{s:{s:s}}}}}}", "paths",
        json_loads(paths, 0, NULL), "components", "schemas", "Item", "type", "object", "required",
        "name", "properties", "name", "type", "string");
    bool is = hl_dev_offer_of_openapi(description, &offer);
    json_decref(description);
    return is;
}

static bool of_functions(const char *text)
{
    json_t *list = json_loads(text, 0, NULL);
    bool is = hl_dev_offer_of_functions(list, &offer);
    json_decref(list);
    return is;
}

Test(offer, a_post_with_a_body_comes_before_one_without_and_a_get)
{
    cr_assert(of_openapi("{\"/\":{\"get\":{}},\"/wake\":{\"post\":{}},\"/items/"
                         "{id}\":{\"post\":{}},\"/items\":{\"post\":{"
                         "\"requestBody\":{\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
                         "\"#/components/schemas/Item\"}}}}}}}"));
    cr_expect_str_eq(offer.method, "POST");
    cr_expect_str_eq(offer.path, "items");
    cr_expect_str_eq(offer.body, "{\"name\": \"hello\"}");
    cr_assert(of_openapi("{\"/\":{\"get\":{}},\"/wake\":{\"post\":{}}}"));
    cr_expect_str_eq(offer.path, "wake");
    cr_expect_str_eq(offer.body, "");
    cr_assert(of_openapi("{\"/a b\":{\"get\":{}},\"/hello\":{\"get\":{}}}"));
    cr_expect_str_eq(offer.method, "GET");
    cr_expect_str_eq(offer.path, "hello");
    cr_expect_not(of_openapi("{\"/items/{id}\":{\"get\":{}}}"));
    cr_expect_not(of_openapi("[]"));
}

#define ID "{\"name\":\"id\",\"in\":\"path\",\"schema\":{\"type\":\"string\"},\"example\":\"a b\"}"
#define TOP                                                                                        \
    "{\"name\":\"top\",\"in\":\"query\",\"required\":true,\"schema\":{\"type\":\"integer\","       \
    "\"exclusiveMinimum\":1}}"
#define MORE "{\"name\":\"more\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}}"
#define ODD  "{\"name\":\"&\",\"in\":\"query\",\"required\":true,\"schema\":{\"type\":\"boolean\"}}"

Test(offer, what_a_path_needs_in_it_and_behind_it_is_filled_in)
{
    cr_assert(of_openapi("{\"/items/{id}/of\":{\"parameters\":[" ID "," TOP
                         "],\"get\":{\"parameters\":[" MORE "," ODD "]}}}"));
    cr_expect_str_eq(offer.path, "items/a%20b/of?%26=true&top=2");
    cr_expect_not(of_openapi("{\"/items/{other}\":{\"parameters\":[" ID "],\"get\":{}}}"));
    cr_expect_not(of_openapi("{\"/items/{id\":{\"parameters\":[" ID "],\"get\":{}}}"));
}

static const char *example_of(const char *schema)
{
    static char text[1024];
    snprintf(text, sizeof(text),
        "{\"functions\":[{\"name\":\"run\",\"input\":{\"type\":\"object\",\"required\":[\"x\"],"
        "\"properties\":{\"x\":%s}}}]}",
        schema);
    cr_assert(of_functions(text), "%s", text);
    return offer.body;
}

Test(offer, an_example_is_within_the_bounds_of_its_schema)
{
    cr_expect_str_eq(example_of("{\"type\":\"number\",\"minimum\":0.5}"), "{\"x\": 1}");
    cr_expect_str_eq(example_of("{\"type\":\"integer\",\"minimum\":3}"), "{\"x\": 3}");
    cr_expect_str_eq(example_of("{\"type\":\"integer\",\"exclusiveMinimum\":1}"), "{\"x\": 2}");
    cr_expect_str_eq(
        example_of("{\"type\":\"integer\",\"minimum\":1,\"exclusiveMinimum\":true}"), "{\"x\": 2}");
    cr_expect_str_eq(example_of("{\"type\":\"integer\",\"maximum\":-2}"), "{\"x\": -2}");
    cr_expect_str_eq(
        example_of("{\"type\":\"number\",\"exclusiveMinimum\":0,\"exclusiveMaximum\":1}"),
        "{\"x\": 0.5}");
    cr_expect_str_eq(example_of("{\"type\":\"string\",\"minLength\":8}"), "{\"x\": \"hellohel\"}");
    cr_expect_str_eq(example_of("{\"type\":\"string\",\"maxLength\":2}"), "{\"x\": \"he\"}");
    cr_expect_str_eq(
        example_of("{\"type\":\"array\",\"minItems\":2,\"items\":{\"type\":\"boolean\"}}"),
        "{\"x\": [true, true]}");
    cr_expect_str_eq(example_of("{\"type\":\"array\"}"), "{\"x\": []}");
}

Test(offer, the_main_function_gets_what_its_schema_wants)
{
    cr_assert(of_functions(
        "{\"functions\":[{\"name\":\"other\",\"input\":null},{\"name\":\"run\",\"input\":{\"type\":"
        "\"object\","
        "\"required\":[\"n\",\"kind\",\"at\",\"inner\",\"loop\"],\"properties\":{\"n\":{\"type\":"
        "\"integer\",\"minimum\":3},"
        "\"kind\":{\"enum\":[\"it's\"]},\"at\":{\"type\":\"string\",\"format\":\"date\"},"
        "\"inner\":{\"anyOf\":[{\"$ref\":\"#/$defs/"
        "In\"},{\"type\":\"null\"}]},\"loop\":{\"$ref\":\"#/$defs/Loop\"}},"
        "\"$defs\":{\"In\":{\"type\":\"object\",\"required\":[\"on\"],\"properties\":{\"on\":{"
        "\"type\":\"boolean\"}}},"
        "\"Loop\":{\"type\":\"object\",\"required\":[\"next\"],\"properties\":{\"next\":{\"$ref\":"
        "\"#/$defs/Loop\"}}}}}}]}"));
    cr_expect_str_eq(offer.path, "run");
    cr_expect_str_eq(offer.body, "{\"n\": 3, \"kind\": \"it's\", \"at\": \"2026-01-31\", "
                                 "\"inner\": {\"on\": true}, \"loop\": {\"next\": {\"next\": "
                                 "{\"next\": {\"next\": {\"next\": {}}}}}}}");
    cr_assert(of_functions("{\"functions\":[{\"name\":\"other\",\"input\":null}]}"));
    cr_expect_str_eq(offer.body, "{}");
    cr_expect_not(of_functions("{\"functions\":null}"));
    cr_expect_not(of_functions("{\"functions\":[]}"));
}

Test(offer, a_schema_that_needs_itself_many_times_is_soon_given_up)
{
    json_t *loop = json_pack("{s:s, s:[], s:{}}", "type", "object", "required", "properties");
    for (int i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof(name), "m%d", i);
        json_array_append_new(json_object_get(loop, "required"), json_string(name));
        json_object_set_new(
            json_object_get(loop, "properties"), name, json_pack("{s:s}", "$ref", "#/Loop"));
    }
    json_t *description = json_pack("{s:o, s:{s:{s:{s:{s:{s:{s:{s:s}}}}}}, s:{s:{}}}}", "Loop",
        loop, "paths", "/much", "post", "requestBody", "content", "application/json", "schema",
        "$ref", "#/Loop", "/wake", "post");
    cr_assert(hl_dev_offer_of_openapi(description, &offer));
    cr_expect_str_eq(offer.path, "wake");
    json_decref(description);
}

Test(offer, nobody_who_answers_is_no_answer)
{
    int status = 7;
    cr_expect_null(hl_dev_ask(1, "/", &status));
    cr_expect_eq(status, 0);
}

Test(offer, what_drives_a_terminal_or_turns_the_reading_direction_is_escaped_in_a_body)
{
    cr_assert(of_functions("{\"functions\":[{\"name\":\"run\",\"input\":{\"type\":\"object\","
                           "\"required\":[\"a\"],\"properties\":{\"a\":{\"default\":"
                           "\"\\u007f\\u009b2J\\u202e\\u2066\\u2028 \\u00fc\"}}}}]}"));
    cr_expect_str_eq(offer.body, "{\"a\": \"\\u007f\\u009b2J\\u202e\\u2066\\u2028 \xc3\xbc\"}",
        "%s", offer.body);
    struct hl_dev_function function = {.name = "run", .json = "{\"a\x1b[2J\xe2\x80\xae\xff\": 1}"};
    hl_dev_offer_of_function(&function, &offer);
    cr_expect_str_eq(offer.body, "{\"a\\u001b[2J\\u202e\\ufffd\": 1}", "%s", offer.body);
}
