/* test_id_map.c - the map keeps what a plain array keeps, through growth and removals. */
#include <criterion/criterion.h>

#include "base/id_map.h"

enum { IDS = 500 };

/* Few distinct homes, so that probing wraps and removals have to move entries. */
static struct hl_id id_of(unsigned i)
{
    struct hl_id id = {{0}};
    id.b[0] = (uint8_t)(i >> 8);
    id.b[1] = (uint8_t)i;
    id.b[8] = (uint8_t)(i % 7 + 60);
    return id;
}

Test(id_map, agrees_with_a_plain_array)
{
    static int values[IDS];
    static bool is_in[IDS];
    struct hl_id_map map;
    unsigned random = 1;
    size_t n = 0;
    hl_id_map_init(&map);
    for (int step = 0; step < 20000; step++) {
        random = random * 1103515245 + 12345;
        unsigned i = (random >> 8) % IDS;
        struct hl_id id = id_of(i);
        if (is_in[i]) {
            cr_assert_eq(hl_id_map_remove(&map, &id), &values[i]);
            n--;
        } else {
            cr_assert_null(hl_id_map_remove(&map, &id));
            cr_assert_eq(hl_id_map_reserve(&map, 1), HL_OK);
            hl_id_map_put(&map, &id, &values[i]);
            n++;
        }
        is_in[i] = !is_in[i];
        cr_assert_eq(map.n, n);
        unsigned j = (random >> 4) % IDS;
        struct hl_id other = id_of(j);
        cr_assert_eq(hl_id_map_find(&map, &other), is_in[j] ? &values[j] : NULL);
    }
    for (unsigned i = 0; i < IDS; i++) {
        struct hl_id id = id_of(i);
        cr_assert_eq(hl_id_map_find(&map, &id), is_in[i] ? &values[i] : NULL);
    }
    hl_id_map_fini(&map);
}

Test(id_map, put_replaces)
{
    struct hl_id_map map;
    struct hl_id id = id_of(1);
    int a, b;
    hl_id_map_init(&map);
    cr_assert_null(hl_id_map_find(&map, &id));
    cr_assert_eq(hl_id_map_reserve(&map, 1), HL_OK);
    hl_id_map_put(&map, &id, &a);
    hl_id_map_put(&map, &id, &b);
    cr_assert_eq(map.n, 1);
    cr_assert_eq(hl_id_map_find(&map, &id), &b);
    hl_id_map_fini(&map);
}

Test(id_map, keeps_its_room_when_it_is_cleared)
{
    static int values[IDS];
    struct hl_id_map map;
    hl_id_map_init(&map);
    hl_id_map_clear(&map);
    cr_assert_eq(hl_id_map_reserve(&map, IDS), HL_OK);
    const struct hl_id_map_entry *room = map.entries;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < IDS; i++) {
            struct hl_id id = id_of(i);
            cr_assert_null(hl_id_map_find(&map, &id));
            hl_id_map_put(&map, &id, &values[i]);
        }
        cr_assert_eq(map.n, IDS);
        hl_id_map_clear(&map);
    }
    cr_assert_eq(map.n, 0);
    cr_assert_eq(map.entries, room);
    hl_id_map_fini(&map);
}
