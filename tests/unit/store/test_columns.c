/* test_columns.c - rows that are written one after the other are the arrays that are written at once. */
#include "base/id.h"
#include "store/postgres/columns.h"

#include <criterion/criterion.h>
#include <string.h>

static struct hl_pg_columns columns;
static struct hl_pg_params written, expected;
/* Names of parameters. */
enum { RUN_ID, PROJECT, NUMBER, BYTES };

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
    hl_pg_columns_bind(&columns, &written);
    cr_assert_eq(written.err, HL_OK);
    cr_assert_eq(written.n, expected.n);
    for (int i = 0; i < written.n; i++)
        cr_assert(
            written.lengths[i] == expected.lengths[i] && written.names[i] == expected.names[i],
            "parameter %d", i + 1);
    cr_assert_eq(written.bytes.n, expected.bytes.n);
    cr_assert_eq(memcmp(written.bytes.p, expected.bytes.p, expected.bytes.n), 0);
}

Test(columns, become_an_array_each)
{
    const struct hl_str texts[] = {HL_STR("first"), HL_STR("")};
    for (size_t i = 0; i < 2; i++) {
        hl_pg_columns_id(&columns, RUN_ID, &ids[i]);
        hl_pg_columns_text(&columns, PROJECT, texts[i]);
        hl_pg_columns_int(&columns, NUMBER, (int64_t)i - 1);
        hl_pg_columns_null(&columns, BYTES, HL_PG_BYTES);
        hl_pg_columns_end_row(&columns);
    }
    HL_PG_EACH(&expected, RUN_ID, HL_PG_ID, 2, hl_pg_item_id(&expected, &ids[i]));
    HL_PG_EACH(&expected, PROJECT, HL_PG_TEXT, 2, hl_pg_item_str(&expected, texts[i]));
    HL_PG_EACH(&expected, NUMBER, HL_PG_INT, 2, hl_pg_item_int(&expected, (int64_t)i - 1));
    HL_PG_EACH(&expected, BYTES, HL_PG_BYTES, 2, hl_pg_item_null(&expected));
    assert_same();
}

Test(columns, take_rows_of_other_types_once_they_are_cleared)
{
    hl_pg_columns_int(&columns, RUN_ID, 1);
    hl_pg_columns_int(&columns, NUMBER, 2);
    hl_pg_columns_end_row(&columns);
    hl_pg_columns_clear(&columns);
    hl_pg_columns_bytes(&columns, BYTES, HL_STR("alone"));
    hl_pg_columns_end_row(&columns);
    HL_PG_EACH(&expected, BYTES, HL_PG_BYTES, 1, hl_pg_item_str(&expected, HL_STR("alone")));
    assert_same();
}

Test(columns, may_be_there_without_rows)
{
    const struct hl_pg_column shape[] = {{RUN_ID, HL_PG_ID}, {NUMBER, HL_PG_INT}};
    hl_pg_columns_shape(&columns, shape, 2);
    hl_pg_array_begin(&expected, RUN_ID, HL_PG_ID, 0);
    hl_pg_array_end(&expected);
    hl_pg_array_begin(&expected, NUMBER, HL_PG_INT, 0);
    hl_pg_array_end(&expected);
    assert_same();
}
