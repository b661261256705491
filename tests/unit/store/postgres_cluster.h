/* postgres_cluster.h - the PostgreSQL server that the tests of a run share, and a schema for each.
 *
 * The server is the one that HOOKLINE_TEST_POSTGRES names by a URL; else the program has one of its
 * own (tests/postgres/cluster.sh), which is started before the first test when any of a suite whose
 * name begins with "postgres" is to run, and ends with the program. */
#ifndef HL_TEST_POSTGRES_CLUSTER_H
#define HL_TEST_POSTGRES_CLUSTER_H

#include <stdbool.h>

#define POSTGRES_SCHEMA_SIZE 32
#define POSTGRES_SHAPE_SIZE  33

/* Its URL; fails the test when there is no server. Borrowed, until the process ends. */
const char *postgres_url(void);

/* A schema for a test: one that an earlier test of this program has given back, and its shape; else the name of one that
 * nobody has, which is there once somebody has made it, and no shape (""). */
void postgres_schema_take(char name[POSTGRES_SCHEMA_SIZE], char shape[POSTGRES_SHAPE_SIZE]);
/* What its tables are, to be asked for when they have just been made. */
void postgres_schema_measure(const char *name, char shape[POSTGRES_SHAPE_SIZE]);
/* Waits until the sessions have gone whose application_name is its name. Then it is without a row but what making it
 * leaves; or, if its shape is another than it was, dropped: false. */
bool postgres_schema_clean(const char *name, const char *shape);
/* The same; a clean one is there for another test. */
void postgres_schema_give_back(const char *name, const char *shape);

/* The name of a schema that nobody has. */
void postgres_schema_draw(char name[POSTGRES_SCHEMA_SIZE]);
/* Drops it with all that is in it, if it is there; fails the test when somebody holds on to it. */
void postgres_schema_drop(const char *name);

#endif
