/* list_column.c - which columns a list has, and what stands in them.
 * Not here: which there are (run_column.c, deliveries.c), how wide they become (table.c). */
#include "cli/list_column.h"

#include <string.h>

#include "cli/cli.h"

_Static_assert(HL_CLI_CELL_TEXT >= HL_CLI_MEMBER_TEXT, "either fits");

/* Those that were named are all shown, however wide that is. */
static void append(struct hl_cli_list_table *t, size_t i, bool is_usual)
{
    t->which[t->n] = (uint8_t)i;
    t->each[t->n] = t->known->items[i].column;
    if (!is_usual)
        t->each[t->n].rank = 0;
    t->n++;
}

static int refuse(
    const struct hl_cli *cli, const struct hl_cli_list_columns *known, struct hl_str name)
{
    char all[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < known->n && n < sizeof(all); i++)
        n += (size_t)snprintf(
            all + n, sizeof(all) - n, "%s%s", n > 0 ? ", " : "", known->items[i].name);
    return hl_cli_usage_error(cli, "--columns has no \"%.*s\"; it takes %s", HL_STR_ARG(name), all);
}

static int take(struct hl_cli_list_table *t, const struct hl_cli *cli, struct hl_str name)
{
    for (size_t i = 0; i < t->n; i++)
        if (hl_str_eq(name, hl_str_from(t->known->items[t->which[i]].name)))
            return hl_cli_usage_error(cli, "--columns has \"%.*s\" twice", HL_STR_ARG(name));
    for (size_t i = 0; i < t->known->n; i++)
        if (hl_str_eq(name, hl_str_from(t->known->items[i].name))) {
            append(t, i, false);
            return HL_CLI_OK;
        }
    return refuse(cli, t->known, name);
}

void hl_cli_list_table_choose_usual(
    struct hl_cli_list_table *t, const struct hl_cli_list_columns *known)
{
    t->known = known;
    t->n = 0;
    for (size_t i = 0; i < known->n; i++)
        if (known->items[i].is_usual)
            append(t, i, true);
}

int hl_cli_list_table_choose(struct hl_cli_list_table *t, const struct hl_cli *cli,
    const struct hl_cli_list_columns *known, const char *names, const char *rival, int status)
{
    if (!names) {
        hl_cli_list_table_choose_usual(t, known);
        return status;
    }
    if (rival)
        status =
            hl_cli_usage_error(cli, "--columns cannot be given with %s, which has its own", rival);
    t->known = known;
    t->n = 0;
    for (int taken = HL_CLI_OK; names && taken == HL_CLI_OK;) {
        size_t n = strcspn(names, ",");
        taken = take(t, cli, hl_str_trim((struct hl_str){names, n}));
        status = taken == HL_CLI_OK ? status : taken;
        names = names[n] ? names + n + 1 : NULL;
    }
    return status;
}

void hl_cli_list_table_init(struct hl_cli_list_table *t, FILE *out)
{
    hl_cli_table_init_for(&t->table, out, t->each, t->n);
}

void hl_cli_list_table_add(void *table, json_t *row)
{
    const struct hl_cli_list_table *t = HL_CONTAINER_OF(table, struct hl_cli_list_table, table);
    char text[HL_CLI_CELL_TEXT];
    for (size_t i = 0; i < t->n; i++) {
        const struct hl_cli_list_column *one = &t->known->items[t->which[i]];
        hl_cli_table_add(table, one->member ? hl_cli_member(row, one->member, text, sizeof(text))
                                            : one->made(row, text));
    }
}
