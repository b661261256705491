/* postgres_cluster.h - the PostgreSQL server that the tests of a run share, and a schema for each.
 *
 * The server is the one that HOOKLINE_TEST_POSTGRES names by a URL; else the program has one of its
 * own (tests/postgres/cluster.sh), which is started before the first test when any of a suite whose
 * name begins with "postgres" is to run, and ends with the program. */
#ifndef HL_TEST_POSTGRES_CLUSTER_H
#define HL_TEST_POSTGRES_CLUSTER_H

#define POSTGRES_SCHEMA_SIZE 32

/* Its URL; fails the test when there is no server. Borrowed, until the process ends. */
const char *postgres_url(void);

/* The name of a schema that nobody has: it is there once somebody has made it. */
void postgres_schema_draw(char name[POSTGRES_SCHEMA_SIZE]);
/* Drops it with all that is in it, if it is there; fails the test when somebody holds on to it. */
void postgres_schema_drop(const char *name);

#endif
