/* session_setup.h - what our statements rely on in a session, said once. A connection that is ours alone is told when it
 * begins. Behind a pooler it is others' as well: there each transaction is told, for itself alone, so that nothing
 * of ours stays behind and nothing of others' is relied upon. */
#ifndef HL_STORE_POSTGRES_SESSION_SETUP_H
#define HL_STORE_POSTGRES_SESSION_SETUP_H

/* What a role or a database may have by default and our statements mean otherwise: how texts are read and
 * written, that names without a schema are the server's own, that a statement sees what was committed before
 * it, how long a session may be idle. What only makes them slower or dearer is left, but for plans.
 * Plans are made while the tables are empty, and kept while they grow: what is right for a few rows (to
 * read them all, to hash them) is 30 times slower for 100,000, until somebody analyses the table. */
#define HL_PG_SETUP_MAP(X)                                                                         \
    X(statement_timeout, "10s")                                                                    \
    X(lock_timeout, "2s")                                                                          \
    X(idle_in_transaction_session_timeout, "10s")                                                  \
    X(client_min_messages, "warning")                                                              \
    X(enable_seqscan, "off")                                                                       \
    X(enable_hashjoin, "off")                                                                      \
    X(enable_mergejoin, "off")                                                                     \
    X(enable_nestloop, "on")                                                                       \
    X(enable_indexscan, "on")                                                                      \
    X(enable_bitmapscan, "on")                                                                     \
    X(enable_partition_pruning, "on")                                                              \
    X(plan_cache_mode, "auto")                                                                     \
    X(jit, "off")                                                                                  \
    X(default_transaction_isolation, "read committed")                                             \
    X(idle_session_timeout, "0")                                                                   \
    X(search_path, "pg_catalog")                                                                   \
    X(standard_conforming_strings, "on")                                                           \
    X(bytea_output, "hex")                                                                         \
    X(timezone, "UTC")

#define HL_PG_SETUP_SET(name, value)    "SET " #name " = '" value "'; "
#define HL_PG_SETUP_LOCAL(name, value)  "SET LOCAL " #name " = '" value "'; "
#define HL_PG_SETUP_CONFIG(name, value) ", set_config('" #name "', '" value "', true)"

/* For a session, and for a transaction: as commands that stand before others, the first of them the only one that
 * has to come before any query; and as the same in two statements that may be prepared. */
#define HL_PG_SETUP_OF_SESSION     HL_PG_SETUP_MAP(HL_PG_SETUP_SET)
#define HL_PG_SETUP_ISOLATION      "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
#define HL_PG_SETUP_OF_TRANSACTION HL_PG_SETUP_ISOLATION "; " HL_PG_SETUP_MAP(HL_PG_SETUP_LOCAL)
#define HL_PG_SETUP_AS_QUERY       "SELECT 1" HL_PG_SETUP_MAP(HL_PG_SETUP_CONFIG)

/* A session that was told has a mark, which a new one has not: who finds it in a session that has just begun, or misses
 * it in one that was told, is behind a pooler that makes believe that there is none. What it was told is taken back
 * where the mark is found: it stands before all that is set, in the same command, for between two commands somebody
 * else may take it back. */
#define HL_PG_SETUP_SIGN              "SET hookline.told = 'yes'; "
#define HL_PG_SETUP_NAME(name, value) ", '" #name "'"
#define HL_PG_SETUP_UNDONE                                                                         \
    "SELECT set_config('hookline.told', '', false), count(set_config(name, reset_val, false))"     \
    " FROM pg_settings WHERE lower(name) IN ('transaction_timeout'" HL_PG_SETUP_MAP(               \
        HL_PG_SETUP_NAME) ")"

#endif
