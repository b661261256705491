/* test_columns.c - rows that are written one after the other are the arrays that are written at once. */
#include "base/id.h"
#include "store/postgres/columns.h"
#include "store/statement.h"

#include <criterion/criterion.h>
#include <string.h>

static struct hl_pg_columns columns;
static struct hl_pg_params written, expected;
static const uint8_t names[4];
static const struct hl_statement statement = {.params = names, .n_params = 4};
static const struct hl_id ids[] = {{{1}}, {{2}}};

static void begin(void)
{
    hl_pg_columns_init(&columns);
    hl_pg_params_init(&written);
    hl_pg_params_init(&expected);
}

static void end(void)
{
    hl_pg_columns_fini(&columns);
    hl_pg_params_fini(&written);
    hl_pg_params_fini(&expected);
}

TestSuite(columns, .init = begin, .fini = end);

static void assert_same(void)
{
    hl_pg_columns_bind(&columns, &statement, &written);
    cr_assert_eq(written.err, HL_OK);
    cr_assert_eq(written.n, expected.n);
    for (int i = 0; i < written.n; i++)
        cr_assert_eq(written.lengths[i], expected.lengths[i], "parameter %d", i + 1);
    cr_assert_eq(written.bytes.n, expected.bytes.n);
    cr_assert_eq(memcmp(written.bytes.p, expected.bytes.p, expected.bytes.n), 0);
}

Test(columns, become_an_array_each)
{
    const struct hl_str texts[] = {HL_STR("first"), HL_STR("")};
    for (size_t i = 0; i < 2; i++) {
        hl_pg_columns_id(&columns, &ids[i]);
        hl_pg_columns_text(&columns, texts[i]);
        hl_pg_columns_int(&columns, (int64_t)i - 1);
        hl_pg_columns_null(&columns, HL_PG_BYTES);
        hl_pg_columns_end_row(&columns);
    }
    HL_PG_EACH(&expected, 0, HL_PG_ID, 2, hl_pg_item_id(&expected, &ids[i]));
    HL_PG_EACH(&expected, 0, HL_PG_TEXT, 2, hl_pg_item_str(&expected, texts[i]));
    HL_PG_EACH(&expected, 0, HL_PG_INT, 2, hl_pg_item_int(&expected, (int64_t)i - 1));
    HL_PG_EACH(&expected, 0, HL_PG_BYTES, 2, hl_pg_item_null(&expected));
    assert_same();
}

Test(columns, take_rows_of_other_types_once_they_are_cleared)
{
    hl_pg_columns_int(&columns, 1);
    hl_pg_columns_int(&columns, 2);
    hl_pg_columns_end_row(&columns);
    hl_pg_columns_clear(&columns);
    hl_pg_columns_bytes(&columns, HL_STR("alone"));
    hl_pg_columns_end_row(&columns);
    HL_PG_EACH(&expected, 0, HL_PG_BYTES, 1, hl_pg_item_str(&expected, HL_STR("alone")));
    assert_same();
}

Test(columns, may_be_there_without_rows)
{
    const enum hl_pg_type types[] = {HL_PG_ID, HL_PG_INT};
    hl_pg_columns_shape(&columns, types, 2);
    hl_pg_array_begin(&expected, 0, HL_PG_ID, 0);
    hl_pg_array_end(&expected);
    hl_pg_array_begin(&expected, 0, HL_PG_INT, 0);
    hl_pg_array_end(&expected);
    assert_same();
}
