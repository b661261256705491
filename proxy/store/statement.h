/* statement.h - an SQL statement as the build makes it of a .sql file (embed_sql.cmake): its text, and the names of
 * its parameters in the order in which the library numbers them. Who binds one says its name. */
#ifndef HL_STORE_STATEMENT_H
#define HL_STORE_STATEMENT_H

#include <stddef.h>
#include <stdint.h>

#define HL_STATEMENT_END UINT8_MAX

struct hl_statement {
    const char *name; /* in its file; of PostgreSQL's with "hl_" before it, as it is prepared */
    const char *file; /* run.sql: PostgreSQL's say by it over which connection they are sent */
    const char *text;
    /* Of the enum that is made with it (hl_sql_param, hl_ask_param …), of a row; HL_STATEMENT_END is last. */
    const uint8_t *params;
    size_t n_params;
    size_t n_rows; /* more than one: an INSERT of so many */
    int n_values;  /* of all rows */
};

#endif
