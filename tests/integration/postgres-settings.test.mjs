// Settings that a database, or a role, has by default are nothing to a replica: it does all that it does elsewhere.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { fleet } from './lib/replicas.mjs';
import { RUN } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const AT_ONCE = 40;

/** What somebody may have set for all sessions of a database, by what it would do to ours. */
const TABLE = {
    'transactions that see what was there when they began, and fail for what others do': {
        default_transaction_isolation: 'serializable',
        default_transaction_deferrable: 'on',
    },
    'transactions that see what was there when they began': { default_transaction_isolation: 'repeatable read' },
    'time limits': {
        statement_timeout: '20ms', // a new session's first one takes some, on a machine that does much else
        lock_timeout: '20ms',
        idle_session_timeout: '300ms',
        idle_in_transaction_session_timeout: '20ms',
    },
    'names that somebody else has taken': { search_path: 'evil, pg_catalog' },
    'other ways to read and write texts': {
        standard_conforming_strings: 'off',
        backslash_quote: 'on',
        bytea_output: 'escape',
        client_encoding: 'LATIN1',
        DateStyle: 'SQL, DMY',
        IntervalStyle: 'sql_standard',
        TimeZone: 'Asia/Kathmandu',
        extra_float_digits: '-15',
        quote_all_identifiers: 'on',
        transform_null_equals: 'on',
        array_nulls: 'off',
        lc_numeric: 'C',
    },
    'other plans': {
        enable_nestloop: 'off',
        enable_indexscan: 'off',
        enable_bitmapscan: 'off',
        enable_indexonlyscan: 'off',
        enable_sort: 'off',
        enable_material: 'off',
        enable_partition_pruning: 'off',
        constraint_exclusion: 'on',
        plan_cache_mode: 'force_generic_plan',
        from_collapse_limit: '1',
        join_collapse_limit: '1',
        geqo_threshold: '2',
        force_parallel_mode: 'on',
        work_mem: '64kB',
        jit: 'on',
        jit_above_cost: '0',
        row_security: 'off',
        check_function_bodies: 'off',
        client_min_messages: 'debug5',
        synchronous_commit: 'local',
    },
};

/** Functions that stand before the server's own for whoever looks there first. */
const EVIL = `CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC;
    CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz 'epoch' $$;
    CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz 'epoch' $$;
    CREATE FUNCTION evil.octet_length(bytea) RETURNS integer LANGUAGE sql AS $$ SELECT 0 $$`;

for (const [what, settings] of Object.entries(TABLE))
    test(`a database whose sessions begin with ${what} is as any other`, async (t) => {
        const database = await postgres(t);
        const { pathname } = new URL(database.url);
        const own = await database.connect(t, database.superuserUrl); // as it begins now
        if (settings.search_path) await own.query(EVIL);
        for (const [name, value] of Object.entries(settings)) {
            const text = name === 'search_path' ? value : `'${value}'`;
            await own.query(`ALTER DATABASE ${pathname.slice(1)} SET ${name} = ${text}`);
        }
        const all = await fleet(t, { database });
        const replicas = [await all.add('one'), await all.add('two')];
        const begin = (i) => replicas[i % 2].begin({ hook: all.receiver.url(`/${i}`), body: `Zoë ${i}` });
        const ids = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => begin(i)));
        const calls = replicas.map(({ call }, i) => call(RUN, { query: { webhookEndpoint: all.receiver.url(`/sync${i}`) } }));
        for (const [i, { id }] of (await Promise.all(calls)).entries())
            assert.equal((await all.receiver.envelope(`/sync${i}`)).run_id, id);
        for (const [i, id] of ids.entries()) {
            const { state, attempts } = await replicas[(i + 1) % 2].finished(id);
            assert.deepEqual([state, attempts], ['success', 1]);
            assert.equal((await all.receiver.envelope(`/${i}`)).run_id, id);
        }
        const body = { name: 'Zoë', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
        assert.equal((await replicas[0].ask('POST', '/v2/projects/p/service-accounts', { body })).status, 201);
        const { service_accounts: made } = (await replicas[1].ask('GET', '/v2/projects/p/service-accounts')).json();
        assert.deepEqual(made.map(({ name }) => name), ['Zoë']);
        const upkeep = `SELECT FROM ${database.schema}.meta WHERE k = 'upkeep'`;
        await until('the upkeep is through', async () => (await own.query(upkeep)).rowCount === 0);
        // A session's first statement is the one that sets our own limits: what the database gives it may end it, and
        // it is tried again.
        const mayWait = settings.statement_timeout ? /^store: (PostgreSQL cannot be reached|the upkeep of the tables was interrupted)$/ : /^$/;
        for (const { sidecar } of replicas) {
            const said = sidecar.log.filter(({ level, msg }) => !['info', 'debug'].includes(level) && /^store:/.test(msg));
            assert.deepEqual(said.filter(({ msg, why }) => !(mayWait.test(msg) && /canceling statement/.test(why))), []);
        }
    });
