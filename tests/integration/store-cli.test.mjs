// The commands about a database that replicas share: they need neither a sidecar nor the key, and join nobody.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { postgres } from './lib/postgres.mjs';
import { startServer } from './lib/server.mjs';
import { run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, caller, echo, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

/** A command with these settings where no sidecar runs, nor a trace is left; fails unless it exits with `code`. */
async function command(t, words, env, code = 0) {
    const directory = join(await temporaryDirectory(t), 'none');
    const result = await run(words, { HOOKLINE_DATA_DIR: directory, ...env });
    assert.equal(result.code, code, `${words.join(' ')}: ${result.stdout}${result.stderr}`);
    assert.equal(existsSync(directory), false);
    return result;
}

const DAY_MS = 24 * 3600 * 1000;
/** The schema's version. */
const NEWEST = 23;

const status = async (t, db) => JSON.parse((await command(t, ['store', 'status', '--json'], db.env)).stdout);

/** A role that owns nothing. Its name needs quotes. */
async function makeRole(t, db) {
    const name = `${db.schema}'s "role" ~`;
    const quoted = `"${name.replaceAll('"', '""')}"`;
    await db.superuser(`CREATE ROLE ${quoted} LOGIN PASSWORD 'its-password'`);
    atEnd(t, async () => {
        await db.superuser(`DROP OWNED BY ${quoted}`);
        await db.superuser(`DROP ROLE ${quoted}`);
    });
    const url = new URL(db.url);
    url.username = encodeURIComponent(name);
    url.password = 'its-password';
    return { name, env: { ...db.env, HOOKLINE_POSTGRES_URL: url.href } };
}

/** Calls of its app end when the test opens the gate. */
function gate() {
    let open;
    const opened = new Promise((resolve) => (open = resolve));
    const app = async (exchange) => {
        await opened;
        await echo(exchange);
    };
    return { app, open };
}

test('a replica works with a role that owns nothing, once store migrate has let it in', async (t) => {
    const db = await postgres(t);
    const role = await makeRole(t, db);
    const refused = await command(t, [], { ...role.env, HOOKLINE_LISTEN: '127.0.0.1:0' }, 1);
    assert.match(refused.stderr, /HOOKLINE_POSTGRES_URL: .*may not create the schema.*hookline store migrate --role/);
    const denied = await command(t, ['store', 'migrate', '--role', role.name], role.env, 1);
    assert.match(denied.stderr, /^hookline store migrate: [^\n]*may not create the schema[^\n]*\n$/);

    // With this retention partitions are narrow and soon at their end, and the replica has to make more.
    const narrow = { ...db.env, HOOKLINE_KEY: '', HOOKLINE_RETENTION: '4h' };
    for (let i = 0; i < 2; i++) {
        const { stdout } = await command(t, ['store', 'migrate', '--role', role.name], narrow);
        assert.equal(stdout, `the schema ${db.schema} has version ${NEWEST}; replicas may connect as ${role.name}\n`);
    }
    const partitions = `SELECT count(*) AS n, array_agg(DISTINCT tableowner::text) AS owners FROM pg_tables
        WHERE schemaname = '${db.schema}'`;
    const [before] = await db.superuser(partitions);
    const { sidecar, call, receiver } = await stage(t, { env: { ...role.env, HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8' } });
    const [after] = await db.superuser(partitions);
    assert.ok(after.n > before.n, `${before.n} tables, then ${after.n}`);
    assert.deepEqual(after.owners, [db.role]);
    const accepted = await call(RUN, { query: { async: 'true', webhookEndpoint: receiver.url() }, body: '{}' });
    assert.equal(accepted.status, 202);
    await receiver.delivered();
    await sidecar.stop();
});

test('a role that owns nothing drops partitions by the owner’s function, and nothing else', async (t) => {
    const db = await postgres(t);
    const role = await makeRole(t, db);
    await command(t, ['store', 'migrate', '--role', role.name], db.env);
    const client = await db.connect(t, role.env.HOOKLINE_POSTGRES_URL);
    const drop = (kind, part) => client.query(`SELECT ${db.schema}.drop_partition($1, $2)`, [kind, part]);
    const list = () => db.query(`SELECT inhrelid::regclass::text AS name FROM pg_inherits
        WHERE inhparent = '${db.schema}.run'::regclass ORDER BY 1`);
    const before = await list();
    for (const part of ['meta', 'account', 'run', 'delivery_000000000000'])
        await assert.rejects(drop('run', part), /no partition of that table/);
    await assert.rejects(client.query(`DROP TABLE ${db.schema}.run`), /must be owner/);
    assert.deepEqual(await list(), before);
    await drop('run', 'run_000000000000');
    assert.equal((await list()).length, before.length - 1);
});

test('a replica of a role that owns nothing drops what is past its retention', async (t) => {
    const db = await postgres(t);
    const role = await makeRole(t, db);
    await command(t, ['store', 'migrate', '--role', role.name], db.env);
    const KINDS = ['run', 'delivery', 'attempt', 'body', 'tag'];
    const longAgo = (Date.now() - 30 * DAY_MS).toString(16).padStart(12, '0').padEnd(32, '0');
    for (const kind of KINDS) {
        const [, next] = await db.query(`SELECT relname AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid
            WHERE inhparent = '${db.schema}.${kind}'::regclass ORDER BY 1`);
        const bound = next.name.slice(kind.length + 1).padEnd(32, '0');
        await db.query(`SELECT ${db.schema}.drop_partition($1, $2)`, [kind, `${kind}_000000000000`]);
        await db.query(`CREATE TABLE ${db.schema}.${kind}_old PARTITION OF ${db.schema}.${kind}
            FOR VALUES FROM (MINVALUE) TO ('${longAgo}')`);
        await db.query(`CREATE TABLE ${db.schema}.${kind}_rest PARTITION OF ${db.schema}.${kind}
            FOR VALUES FROM ('${longAgo}') TO ('${bound}')`);
    }
    const sidecar = await startSidecar(t, { env: role.env, wait: 'healthz' });
    const list = async (suffix) =>
        (await db.query(`SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'
            AND relname LIKE '%_' || $2`, [db.schema, suffix])).length;
    await until('the old ones are gone', async () => (await list('old')) === 0);
    assert.equal(await list('rest'), KINDS.length);
    await sidecar.stop();
});

test('store migrate lets no role in that is not there, and changes nothing then', async (t) => {
    const db = await postgres(t);
    const { stderr } = await command(t, ['store', 'migrate', '--role', 'nobody-at-all'], db.env, 1);
    assert.match(stderr, /^hookline store migrate: --role: there is no role "nobody-at-all": create it first[^\n]*\n$/);
    assert.deepEqual(await db.query('SELECT FROM pg_namespace WHERE nspname = $1', [db.schema]), []);
});

test('store migrate by a superuser leaves all to the schema’s owner', async (t) => {
    const db = await postgres(t);
    const role = await makeRole(t, db);
    await db.query(`CREATE SCHEMA ${db.schema}`);
    const superuser = { ...db.env, HOOKLINE_POSTGRES_URL: db.superuserUrl };
    await command(t, ['store', 'migrate', '--role', role.name], superuser);
    const owners = await db.superuser('SELECT DISTINCT tableowner::text FROM pg_tables WHERE schemaname = $1', [db.schema]);
    assert.deepEqual(owners, [{ tableowner: db.role }]);
    const sidecar = await startSidecar(t, { env: role.env, wait: 'healthz' });
    await sidecar.stop();
});

test('the lifetime of a replica is changed by stopping all and store migrate', async (t) => {
    const db = await postgres(t);
    const first = await startSidecar(t, { env: db.env, wait: 'healthz' });
    const other = { ...db.env, HOOKLINE_REPLICA_TTL: '5s', HOOKLINE_LISTEN: '127.0.0.1:0' };
    await command(t, ['store', 'migrate'], other);
    assert.match((await command(t, [], other, 1)).stderr, /HOOKLINE_REPLICA_TTL/);
    await first.stop();
    assert.match((await command(t, [], other, 1)).stderr, /HOOKLINE_REPLICA_TTL/);
    await command(t, ['store', 'migrate'], other);
    const second = await startSidecar(t, { env: { ...db.env, HOOKLINE_REPLICA_TTL: '5s' }, wait: 'healthz' });
    await second.stop();
});

test('store status tells replicas of one name apart, and says what each of them has', async (t) => {
    const db = await postgres(t);
    const { app, open } = gate();
    const server = await startServer(t, app);
    const env = {
        ...db.env,
        HOOKLINE_APP_URL: server.url,
        HOOKLINE_ASYNC_CONCURRENCY: '1',
        HOOKLINE_REPLICA: 'twin',
        HOOKLINE_REPLICA_TTL: '3s',
        HOOKLINE_POSTGRES_UNSAFE: 'off',
    };
    const survivor = await startSidecar(t, { env });
    const call = caller(t, survivor);
    for (let i = 0; i < 4; i++) assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    await until('one has a run', async () => (await status(t, db)).running_runs === 1);
    const killed = await startSidecar(t, { env });
    const seen = await until('both have one', async () => {
        const now = await status(t, db);
        return now.running_runs === 2 && now.replicas.every(({ state }) => state === 'alive') && now;
    });
    assert.deepEqual(seen.replicas.map(({ name, state, runs }) => [name, state, runs]), [['twin', 'alive', 1], ['twin', 'alive', 1]]);
    assert.equal(new Set(seen.replicas.map((replica) => replica.replica_id)).size, 2);
    assert.equal(seen.queued_runs, 2);
    assert.ok(seen.oldest_queued_seconds >= 0);
    assert.equal(seen.schema, db.schema);
    const idOf = async (sidecar) => (await sidecar.logged((line) => line.replica_id)).replica_id;
    assert.deepEqual(seen.replicas.map((replica) => replica.replica_id), [await idOf(survivor), await idOf(killed)]);

    const { stdout } = await command(t, ['store', 'status'], { ...db.env, HOOKLINE_KEY: '' });
    assert.match(stdout, /^REPLICA +NAME +ROLE +VERSION +STATE +STARTED +LAST BEAT +RUNS +DELIVERIES\n/);
    assert.match(stdout, new RegExp(`^${await idOf(killed)}  twin  all +\\S+ +alive +\\S+Z  [\\d.]+ s ago  1     0$`, 'm'));
    assert.match(stdout, /^runs: 2 queued, the oldest for [\d.]+ s; 2 running$/m);
    assert.match(stdout, /^oldest snapshot: /m);

    await killed.kill();
    await until('it is dead', async () => (await status(t, db)).replicas.some(({ state }) => state === 'dead'));
    const after = (await status(t, db)).replicas.map(({ replica_id: id, state, runs }) => [id, state, runs]);
    assert.deepEqual(after, [[await idOf(survivor), 'alive', 1], [await idOf(killed), 'dead', 0]]);
    open();
});

test('store status counts deliveries, by replica and in all, and dead letters', async (t) => {
    const db = await postgres(t);
    const { call, receiver } = await stage(t, { env: { ...db.env, HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8' } });
    const { app, open } = gate();
    const send = (path) => call(RUN, { query: { webhookEndpoint: receiver.url(path) }, body: '{}' });
    receiver.script('/held', app);
    receiver.script('/refused', 400);
    assert.equal((await send('/held')).status, 200);
    assert.equal((await send('/refused')).status, 200);
    const seen = await until('one is under way and one is dead', async () => {
        const now = await status(t, db);
        return now.dead_letters === 1 && now.replicas[0].deliveries === 1 && now;
    });
    assert.equal(seen.pending_deliveries, 1);
    open();
    await until('none is', async () => (await status(t, db)).pending_deliveries === 0);
});

test('store status shows a snapshot that somebody holds', async (t) => {
    const db = await postgres(t);
    await command(t, ['store', 'migrate'], db.env);
    const reader = await db.connect(t, db.superuserUrl);
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await reader.query(`SELECT count(*) FROM ${db.schema}.ticket`);
    await db.query(`INSERT INTO ${db.schema}.event (kind) VALUES (99)`);
    assert.ok((await status(t, db)).oldest_snapshot_transactions > 0);
    assert.match((await command(t, ['store', 'status'], db.env)).stdout, /transactions \(its time is shown to pg_read_all_stats\)/);
    const all = await command(t, ['store', 'status', '--json'], { ...db.env, HOOKLINE_POSTGRES_URL: db.superuserUrl });
    assert.ok(JSON.parse(all.stdout).oldest_snapshot_seconds > 0);
});

test('store status shows whether a commit waits for a standby', async (t) => {
    const db = await postgres(t);
    await command(t, ['store', 'migrate'], db.env);
    const { synchronous_standby_names, synchronous_commit } = await status(t, db);
    assert.deepEqual([synchronous_standby_names, synchronous_commit], ['', 'on']);
    assert.match((await command(t, ['store', 'status'], db.env)).stdout, /^synchronous standbys: none: a failover may lose/m);
});

test('with another store they say that they are for postgres', async (t) => {
    for (const env of [{}, { HOOKLINE_STORE: 'sqlite' }, { HOOKLINE_STORE: 'memory' }]) {
        for (const word of ['migrate', 'status']) {
            const { stderr } = await command(t, ['store', word], env, 2);
            assert.equal(stderr, `hookline store ${word}: this command is for HOOKLINE_STORE=postgres; no other store needs it\n`);
        }
    }
});

test('where there is no schema, or no server, a command says so and makes none', async (t) => {
    const db = await postgres(t);
    const create = ['token', 'create', '--project', 'p', '--name', 'n', '--expires', '1d'];
    for (const words of [['store', 'status'], create, ['runs', 'list']]) {
        const { stderr } = await command(t, words, db.env, 1);
        assert.match(stderr, /^hookline[^:]*: [^\n]*HOOKLINE_POSTGRES_SCHEMA: the schema [^\n]*does not exist [^\n]*store migrate\n$/);
    }
    assert.deepEqual(await db.query('SELECT FROM pg_namespace WHERE nspname = $1', [db.schema]), []);
    const url = new URL(db.url);
    url.port = 1;
    for (const words of [['store', 'status'], ['store', 'migrate'], create]) {
        const { stderr } = await command(t, words, { ...db.env, HOOKLINE_POSTGRES_URL: url.href }, 1);
        assert.match(stderr, /^hookline[^:]*: [^\n]*HOOKLINE_POSTGRES_URL: [^\n]*refused\n$/);
    }
});

test('a token that a command made in the database is good at a replica’s next start', async (t) => {
    const db = await postgres(t);
    await command(t, ['store', 'migrate'], db.env);
    const words = ['token', 'create', '--project', 'p', '--name', 'n', '--expires', '1d'];
    const make = async () => (await command(t, words, db.env)).stdout.trim();
    const first = await make();
    const { sidecar, call } = await stage(t, { env: { ...db.env, HOOKLINE_AUTH: 'jwt' } });
    const statusOf = async (token) => (await call(RUN, { headers: { authorization: `Bearer ${token}` }, body: '{}' })).status;
    assert.equal(await statusOf(first), 200);
    const second = await make();
    await sidecar.restart();
    assert.equal(await statusOf(second), 200);
    await command(t, ['token', 'list'], { ...db.env, HOOKLINE_KEY: 'ab'.repeat(32) }, 1);
});

test('a command on the database claims nothing, buries nobody and joins nobody', async (t) => {
    const db = await postgres(t);
    const { app, open } = gate();
    const server = await startServer(t, app);
    const sidecar = await startSidecar(t, {
        env: { ...db.env, HOOKLINE_APP_URL: server.url, HOOKLINE_ASYNC_CONCURRENCY: '1' },
    });
    const call = caller(t, sidecar);
    for (let i = 0; i < 2; i++) await call(RUN, { query: { async: 'true' } });
    await until('one has begun', async () => (await status(t, db)).running_runs === 1);
    await sidecar.kill();
    await until('what it had sent has ended', async () => {
        const left = await db.superuser(`SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE 'hookline/%'`);
        return left.length === 0;
    });
    await db.query(`UPDATE ${db.schema}.node SET expires_at = now() - interval '1 hour'`);
    const look = () => db.query(`SELECT run_id::text, xmin::text FROM ${db.schema}.ticket
        UNION ALL SELECT node_id::text, xmin::text FROM ${db.schema}.node
        UNION ALL SELECT k, xmin::text FROM ${db.schema}.meta ORDER BY 1`);
    const before = await look();
    assert.equal(before.length > 3, true);
    const { stdout } = await command(t, ['runs', 'list', '--json'], db.env);
    assert.deepEqual(stdout.trim().split('\n').map((line) => JSON.parse(line).state), ['queued', 'running']);
    await command(t, ['token', 'list'], { ...db.env, HOOKLINE_REPLICA_TTL: '7s' });
    assert.deepEqual(await look(), before);
    open();
});
