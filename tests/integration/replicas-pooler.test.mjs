// Behind a pooler in transaction mode a session is everybody's: replicas leave nothing in it, and rely on nothing there.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { disguised, lacksPooler, pooler } from './lib/pooler.mjs';
import { postgres } from './lib/postgres.mjs';
import { fleet } from './lib/replicas.mjs';
import { run } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

const ACCOUNTS = '/v2/projects/p/service-accounts';
const POOLED = { HOOKLINE_POSTGRES_PREPARE: 'off' };

/** Two replicas whose sessions are another program's, too: `other(sql)` is what that one asks. */
async function sharing(t) {
    const database = await postgres(t);
    const url = await pooler(t, database);
    const all = await fleet(t, { database, env: POOLED });
    await all.add('one', { url });
    await all.add('two', { url });
    const client = await database.connect(t, url);
    return { all, database, other: async (sql) => (await client.query(sql)).rows };
}

/** All that replicas do of themselves, and for calls. */
async function work({ all, database }) {
    const [one, two] = all.replicas;
    const id = await one.begin({ hook: all.receiver.url() });
    assert.equal((await two.finished(id)).state, 'success');
    assert.equal((await two.settled(id)).state, 'delivered');
    const body = { name: 'ci', role: 'invoke', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    assert.equal((await one.ask('POST', ACCOUNTS, { body })).status, 201);
    assert.equal((await two.ask('GET', ACCOUNTS)).json().service_accounts.length, 1);
    await until('the upkeep is through', async () => {
        const [{ n }] = await database.query(`SELECT count(*) AS n FROM "${database.schema}".meta WHERE k = 'upkeep'`);
        return n === 0;
    });
}

const settings = `SELECT name, setting FROM pg_settings WHERE source = 'session' AND name !~ '^transaction_'
    AND name <> ALL ('{application_name,client_encoding,DateStyle,TimeZone,standard_conforming_strings}')`;

test('another program of the pool finds nothing of a replica in its session', { skip: lacksPooler }, async (t) => {
    const { all, database, other } = await sharing(t);
    await work({ all, database });
    assert.deepEqual(await other(settings), []);
    assert.deepEqual(await other('SELECT pg_listening_channels() AS channel'), []);
    const locks = await database.superuser(
        `SELECT l.* FROM pg_locks l JOIN pg_database d ON d.oid = l.database
         WHERE l.locktype = 'advisory' AND d.datname = current_database()`,
    );
    assert.deepEqual(locks, []);
});

test('what another program leaves in a session is nothing to a replica', { skip: lacksPooler }, async (t) => {
    const { all, database, other } = await sharing(t);
    for (const left of ["default_transaction_isolation = 'serializable'", 'lock_timeout = 0', 'enable_hashjoin = on'])
        await other(`SET ${left}`);
    await all.rows('CREATE TABLE ~.seen AS SELECT NULL::text AS premises WHERE false');
    await all.rows(`CREATE FUNCTION ~.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO ~.seen
        SELECT concat_ws(' ', current_setting('transaction_isolation'), current_setting('lock_timeout'),
        current_setting('enable_hashjoin')); RETURN NULL; END $$`);
    for (const table of ['ticket', 'node', 'account'])
        await all.rows(`CREATE TRIGGER see AFTER INSERT OR UPDATE ON ~.${table} EXECUTE FUNCTION ~.see()`);
    await work({ all, database });
    assert.deepEqual(await all.rows('SELECT DISTINCT premises FROM ~.seen'), [{ premises: 'read committed 2s off' }]);
    const left = (await other(settings)).map(({ name }) => name);
    assert.deepEqual(left.sort(), ['default_transaction_isolation', 'enable_hashjoin', 'lock_timeout']);
});

test('store migrate leaves no role behind in the session', { skip: lacksPooler }, async (t) => {
    const database = await postgres(t);
    const url = await pooler(t, { url: database.superuserUrl });
    const migrate = async (by) => {
        const env = { ...database.env, ...POOLED, HOOKLINE_POSTGRES_URL: by };
        const { code, stderr } = await run(['store', 'migrate', '--role', database.role], env);
        assert.equal(code, 0, stderr);
    };
    await migrate(database.url);
    await migrate(url);
    const client = await database.connect(t, url);
    const { rows } = await client.query(`SELECT current_user = session_user AS is_own,
        coalesce(current_setting('hookline.role', true), '') AS role`);
    assert.deepEqual(rows, [{ is_own: true, role: '' }]);
    assert.deepEqual((await client.query(settings)).rows, []);
});

test('a pooler that passes on the number of the server’s process is noticed, and nothing stays in its session', { skip: lacksPooler }, async (t) => {
    const database = await postgres(t);
    const url = await pooler(t, database);
    const client = await database.connect(t, url);
    const [{ pid }] = (await client.query('SELECT pg_backend_pid() AS pid')).rows;
    const all = await fleet(t, { database, env: POOLED });
    for (const name of ['one', 'two']) {
        const replica = await all.add(name, { url: await disguised(t, url, pid) });
        await replica.logged(/^store: connected through a pooler/);
        await until('its connections are made anew', () => replica.begin().catch(() => null));
    }
    await work({ all, database });
    const has = async (sql) => (await client.query(sql)).rows.length > 0;
    await until('what was set is taken back', async () => !(await has(`${settings} AND setting <> reset_val`)));
    await until('nobody listens', async () => !(await has('SELECT pg_listening_channels() AS channel')));
});

test('store rekey behind a pooler means the server’s own operators, whatever the role’s search_path has', { skip: lacksPooler }, async (t) => {
    const database = await postgres(t);
    const all = await fleet(t, { database });
    const one = await all.add('one');
    const id = await one.begin({ hook: all.receiver.url('/held'), isHeld: true });
    await one.called(id);
    await one.sidecar.kill();
    await all.rows('DELETE FROM ~.node');
    await database.superuser(`CREATE SCHEMA theirs; CREATE FUNCTION theirs.never(uuid, uuid) RETURNS boolean LANGUAGE sql AS 'SELECT false';
        CREATE OPERATOR theirs.> (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = theirs.never);
        GRANT USAGE ON SCHEMA theirs TO ${database.role}`);
    const [{ name }] = await database.query('SELECT current_database() AS name');
    await database.superuser(`ALTER DATABASE ${name} SET search_path = theirs, pg_catalog`);
    const env = {
        ...database.env,
        ...POOLED,
        HOOKLINE_POSTGRES_URL: await pooler(t, database),
        HOOKLINE_PREVIOUS_KEY: database.key,
        HOOKLINE_KEY: database.key.replace(/./g, (digit) => (digit === '0' ? '1' : '0')),
    };
    const { code, stdout, stderr } = await run(['store', 'rekey'], env);
    assert.equal(code, 0, stderr);
    const n = Number(/^(\d+) values? /.exec(stdout)?.[1]);
    assert.ok(n >= 3, `head and URL of the run, and what signs: ${stdout}`);
});
