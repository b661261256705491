/* test_column.c - a record by its table: integers and strings of all kinds, and copies of its strings. */
#include <criterion/criterion.h>

#include "store/column.h"

struct record {
    bool is_done;
    uint16_t status;
    uint32_t count;
    int32_t left;
    uint64_t size;
    struct hl_id id;
    char name[5];
    struct hl_str text, secret;
};

static const struct hl_column record_columns[] = {
    HL_COLUMN(struct record, is_done, INT),
    HL_COLUMN(struct record, status, INT),
    HL_COLUMN(struct record, count, INT),
    HL_COLUMN(struct record, left, INT),
    HL_COLUMN(struct record, size, INT),
    HL_COLUMN_OR_NULL(struct record, id, ID),
    HL_COLUMN(struct record, name, TEXT),
    HL_COLUMN(struct record, text, RAW),
    HL_COLUMN_SECRET(struct record, secret, BYTES),
};
static const struct hl_columns columns = HL_COLUMNS(record_columns);

Test(column, integers_are_what_was_set)
{
    struct record r = {.left = 0};
    static const int64_t set[] = {1, 503, UINT32_MAX, -1, INT64_MAX};
    for (size_t i = 0; i < 5; i++) {
        hl_column_set_int(&columns.each[i], &r, set[i]);
        cr_expect_eq(hl_column_int(&columns.each[i], &r), set[i], "column %zu", i);
    }
    cr_expect(r.is_done);
    cr_expect_eq(r.left, -1);
    cr_expect_eq(r.count, UINT32_MAX);
}

Test(column, what_is_too_long_for_an_array_is_cut)
{
    struct record r = {.left = 0};
    hl_column_set_str(&columns.each[6], &r, HL_STR("longer"));
    cr_expect_str_eq(r.name, "long");
    cr_expect(hl_str_eq(hl_column_str(&columns.each[6], &r), HL_STR("long")));
}

Test(column, strings_are_weighed_and_copied_behind_each_other_but_arrays_are_not)
{
    struct record r = {.name = "name", .text = HL_STR("text"), .secret = HL_STR("key")};
    char kept[7], *room = kept;
    cr_assert_eq(hl_columns_weigh(&columns, &r), sizeof(kept));
    hl_columns_copy(&columns, &r, &room);
    cr_expect_eq(room, kept + sizeof(kept));
    cr_expect_eq(r.text.p, kept);
    cr_expect(hl_str_eq(r.text, HL_STR("text")));
    cr_expect(hl_str_eq(r.secret, HL_STR("key")));
}

Test(column, only_what_is_secret_is_wiped)
{
    struct record r = {.text = HL_STR("text"), .secret = HL_STR("key")};
    char kept[7], *room = kept;
    hl_columns_copy(&columns, &r, &room);
    hl_columns_wipe(&columns, &r);
    cr_expect_arr_eq(kept, "text\0\0\0", sizeof(kept));
}
