/* test_tag.c - which tags a caller may write, and how they are kept and found. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/tag.h"

static char text[HL_TAGS_TEXT];
static struct hl_tag_list list;
static struct hl_str bad;

static void init(void)
{
    list = (struct hl_tag_list){.text = text};
}

TestSuite(tag, .init = init);

static enum hl_tag_fault add(const char *written)
{
    return hl_tags_add(&list, hl_str_from(written), &bad);
}

static void kept(const char *expected)
{
    cr_assert(hl_str_eq((struct hl_str){text, list.n}, hl_str_from(expected)), "%.*s, not %s",
        (int)list.n, text, expected);
}

Test(tag, fields_are_one_list_without_the_blanks_around_names_and_values)
{
    cr_assert_eq(add(" tier=gold ,\torder =  17"), HL_TAG_GOOD);
    cr_assert_eq(add("note=two  words"), HL_TAG_GOOD);
    kept("tier=gold,order=17,note=two  words");
    cr_assert_eq(list.count, 3);
}

Test(tag, values_may_have_whatever_needs_no_escape)
{
    const char *written = "a.b/c_d-E9=!#$%&'()*+-./:;<=>?@[]^_`{|}~";
    cr_assert_eq(add(written), HL_TAG_GOOD);
    kept(written);
}

Test(tag, each_fault_is_told_apart_and_says_which_tag_has_it)
{
    static const struct {
        const char *written;
        enum hl_tag_fault fault;
        const char *bad;
    } cases[] = {
        {"", HL_TAG_EMPTY, ""},
        {" \t", HL_TAG_EMPTY, ""},
        {",a=1", HL_TAG_EMPTY, ""},
        {"a=1,", HL_TAG_EMPTY, ""},
        {"a=1, ,b=2", HL_TAG_EMPTY, ""},
        {"a=1,gold", HL_TAG_NO_VALUE, "gold"},
        {"=1", HL_TAG_BAD_NAME, "=1"},
        {"a=1, b c=2", HL_TAG_BAD_NAME, "b c=2"},
        {"\xc3\xa4=1", HL_TAG_BAD_NAME, "\xc3\xa4=1"},
        {"a*=1", HL_TAG_BAD_NAME, "a*=1"},
        {"a=", HL_TAG_BAD_VALUE, "a="},
        {"a= ,b=1", HL_TAG_BAD_VALUE, "a="},
        {"a=x\ty", HL_TAG_BAD_VALUE, "a=x\ty"},
        {"a=\"1\"", HL_TAG_BAD_VALUE, "a=\"1\""},
        {"a=b\\c", HL_TAG_BAD_VALUE, "a=b\\c"},
        {"a=\xc3\xa4", HL_TAG_BAD_VALUE, "a=\xc3\xa4"},
        {"a=\x7f", HL_TAG_BAD_VALUE, "a=\x7f"},
        {"a=1,b=2, a=3", HL_TAG_TWICE, "a=3"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        init();
        cr_assert_eq(add(cases[i].written), cases[i].fault, "%s", cases[i].written);
        cr_assert(hl_str_eq(bad, hl_str_from(cases[i].bad)), "%s", cases[i].written);
    }
}

Test(tag, names_differ_by_case_and_may_not_come_again_in_another_field)
{
    cr_assert_eq(add("a=1,A=2"), HL_TAG_GOOD);
    cr_assert_eq(add("a=1"), HL_TAG_TWICE);
}

Test(tag, eight_of_the_longest_fit_and_no_more)
{
    char part[HL_TAG_MAX + 2], one[2 * sizeof(part) + 8];
    memset(part, 'x', sizeof(part));
    part[HL_TAG_MAX] = '\0';
    for (int i = 0; i < HL_TAGS_MAX; i++) {
        snprintf(one, sizeof(one), "%s=%s", part, part);
        one[0] = (char)('a' + i);
        cr_assert_eq(add(one), HL_TAG_GOOD);
    }
    cr_assert_eq(list.n, HL_TAGS_TEXT);
    cr_assert_eq(add("n=9"), HL_TAG_TOO_MANY);
    init();
    snprintf(one, sizeof(one), "x%s=1", part);
    cr_assert_eq(add(one), HL_TAG_BAD_NAME);
    snprintf(one, sizeof(one), "a=x%s", part);
    cr_assert_eq(add(one), HL_TAG_BAD_VALUE);
}

Test(tag, are_found_by_name_and_value_or_by_name)
{
    struct hl_str tags = HL_STR("tier=gold,order=17=x");
    static const char *const there[] = {"tier=gold", "tier", "order=17=x", "order"};
    static const char *const away[] = {
        "tie", "tier=gol", "tier=golden", "gold", "order=17", "Tier"};
    for (size_t i = 0; i < sizeof(there) / sizeof(*there); i++)
        cr_assert(hl_tags_have(tags, hl_str_from(there[i])), "%s", there[i]);
    for (size_t i = 0; i < sizeof(away) / sizeof(*away); i++)
        cr_assert_not(hl_tags_have(tags, hl_str_from(away[i])), "%s", away[i]);
    cr_assert_not(hl_tags_have(HL_STR(""), HL_STR("tier")));
}

Test(tag, what_is_asked_for_is_a_tag_or_a_name)
{
    static const char *const good[] = {"tier", "tier=gold", "a=b=c"};
    static const char *const wrong[] = {
        "", "=", "=gold", "tier=", "ti er", "tier=a,b", "tier= gold"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        cr_assert(hl_tag_is_wanted(hl_str_from(good[i])), "%s", good[i]);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        cr_assert_not(hl_tag_is_wanted(hl_str_from(wrong[i])), "%s", wrong[i]);
}

Test(tag, are_read_one_after_the_other)
{
    struct hl_str tags = HL_STR("tier=gold,order=17");
    struct hl_tag tag;
    cr_assert(hl_tag_next(&tags, &tag));
    cr_assert(hl_str_eq(tag.name, HL_STR("tier")) && hl_str_eq(tag.value, HL_STR("gold")));
    cr_assert(hl_tag_next(&tags, &tag));
    cr_assert(hl_str_eq(tag.name, HL_STR("order")) && hl_str_eq(tag.value, HL_STR("17")));
    cr_assert_not(hl_tag_next(&tags, &tag));
}
