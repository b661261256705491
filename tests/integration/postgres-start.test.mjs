// What is wrong with a database is one line, the start's and the check's, and nothing is changed in it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { cluster, postgres } from './lib/postgres.mjs';
import { findSecret, freePort, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';

const OTHER_KEY = 'ab'.repeat(32);
const SSL_REQUEST = 80877103, GSS_REQUEST = 80877104;

/** The database's URL, changed. */
function changed(db, change) {
    const url = new URL(db.url);
    change(url);
    return { HOOKLINE_POSTGRES_URL: url.href };
}

async function settings(t, db, env = {}) {
    return {
        HOOKLINE_LISTEN: `127.0.0.1:${await freePort()}`,
        HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
        HOOKLINE_DATA_DIR: join(await temporaryDirectory(t), 'data'),
        HOOKLINE_LOG_FORMAT: 'json',
        HOOKLINE_SHUTDOWN_DELAY: '0s',
        ...db.env,
        ...env,
    };
}

/** One replica has been here. */
async function use(t, db) {
    const sidecar = await startSidecar(t, { env: db.env, wait: 'healthz' });
    await sidecar.stop();
}

/** A role that owns nothing, as the URL's user. */
async function makeRole(t, db) {
    const name = `${db.schema}_role`;
    await db.superuser(`CREATE ROLE ${name} LOGIN PASSWORD 'its-password'`);
    atEnd(t, async () => {
        await db.superuser(`DROP OWNED BY ${name}`);
        await db.superuser(`DROP ROLE ${name}`);
    });
    return { name, env: changed(db, (url) => ((url.username = name), (url.password = 'its-password'))) };
}

/** What there is, and who changed it last: every table, function and right, and what all replicas share. */
async function look(db) {
    const [{ has_meta: hasMeta }] = await db.superuser(`SELECT to_regclass('${db.schema}.meta') IS NOT NULL AS has_meta`);
    const catalogs = ['pg_namespace', 'pg_class', 'pg_proc', 'pg_default_acl'].map((name) => `SELECT oid::text, xmin::text FROM ${name}`);
    const rows = hasMeta ? [`SELECT k, xmin::text || v::text FROM ${db.schema}.meta`, `SELECT node_id::text, xmin::text FROM ${db.schema}.node`] : [];
    return db.superuser([...catalogs, ...rows].join(' UNION ALL ') + ' ORDER BY 1, 2');
}

/** The check and the start say the same line, end with 2 and 1, and leave the database as it is. */
async function assertRefused(t, db, env, fits) {
    const before = await look(db);
    const whole = await settings(t, db, env);
    const check = await run(['config', 'check'], whole);
    assert.equal(check.code, 2, check.stderr);
    const [line, ...more] = check.stderr.trim().split('\n');
    assert.deepEqual(more, []);
    assert.match(line, fits);
    const start = await run([], whole);
    assert.equal(start.code, 1, start.stderr);
    assert.equal(`hookline: ${JSON.parse(start.stderr.trim().split('\n').at(-1)).msg}`, line);
    for (const text of [check.stderr, check.stdout, start.stderr]) {
        assert.equal(findSecret(text, whole), undefined);
        assert.equal(findSecret(text, db.env), undefined);
    }
    assert.deepEqual(await look(db), before);
}

/** `make` gets a database that a replica has used, unless `isEmpty`, and says what is set beside what its URL says. */
const WRONG = [
    ['a value that libpq does not know', /HOOKLINE_POSTGRES_URL: \*\*\*\* cannot be read/, ({ db }) =>
        changed(db, (url) => url.searchParams.set('sslmode', 'no-such'))],
    ['another password', /HOOKLINE_POSTGRES_URL: password authentication failed .*: correct/, ({ db }) =>
        changed(db, (url) => (url.password = 'another-password'))],
    ['no password', /HOOKLINE_POSTGRES_URL: the server asks for a password/, ({ db }) =>
        changed(db, (url) => (url.password = ''))],
    ['a server that speaks no TLS', /HOOKLINE_POSTGRES_URL: .*SSL was required: correct sslmode/, ({ db }) =>
        changed(db, (url) => url.searchParams.set('sslmode', 'require'))],
    ['a database that is not there', /HOOKLINE_POSTGRES_URL: database "none" .*: create that database/, ({ db }) =>
        changed(db, (url) => (url.pathname = 'none'))],
    ['a database that the role may not enter', /HOOKLINE_POSTGRES_URL: permission denied .*CONNECT/, async ({ db, role }) => {
        const name = new URL(db.url).pathname.slice(1);
        await db.superuser(`REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC`);
        return role.env;
    }],
    ['a role that may not make the schema', /it may not create the schema.* store migrate --role test_/, ({ role }) => role.env, 'isEmpty'],
    ['a role that may not use the schema', /it may not use the schema.* store migrate --role test_/, ({ role }) => role.env],
    ['a role that may only read a table', /may not change the rows of run\b.* store migrate --role test_/, async ({ db, role }) => {
        await run(['store', 'migrate', '--role', role.name], db.env);
        await db.query(`REVOKE UPDATE ON ${db.schema}.run FROM ${role.name}`);
        return role.env;
    }],
    ['an older schema that is another’s', /older version and another owner.* store migrate --role test_/, async ({ db, role }) => {
        await run(['store', 'migrate', '--role', role.name], db.env);
        await db.query(`UPDATE ${db.schema}.meta SET v = '0' WHERE k = 'version'`);
        return role.env;
    }],
    ['another key', /HOOKLINE_KEY: \*\*\*\* is not the key .*give all replicas that one/, () => ({ HOOKLINE_KEY: OTHER_KEY })],
    ['a newer schema', /HOOKLINE_POSTGRES_URL: .*newer hookline \(version 99.*upgrade/, async ({ db }) => {
        await db.query(`UPDATE ${db.schema}.meta SET v = '99' WHERE k IN ('version', 'least_reader')`);
    }],
    ['another lifetime of a replica', /HOOKLINE_REPLICA_TTL: 5s here, but 60s .*give all the same one/, () => ({
        HOOKLINE_REPLICA_TTL: '5s',
    })],
    ['a signing key that does not open', /HOOKLINE_POSTGRES_URL: the signing key .*restore/, async ({ db }) => {
        await db.query(`UPDATE ${db.schema}.meta SET v = '\\xabcd' WHERE k = 'signing_key'`);
    }],
    ['commits that do not wait', /HOOKLINE_POSTGRES_URL: .*synchronous_commit.*HOOKLINE_POSTGRES_UNSAFE=on/, ({ db }) =>
        changed(db, (url) => url.searchParams.set('options', '-csynchronous_commit=off'))],
    ['a data directory whose parent is not there', /HOOKLINE_DATA_DIR: cannot make .*\/none\/data: No such file/, () => ({
        HOOKLINE_DATA_DIR: '/tmp/none/at/all/none/data',
    })],
    ['a read-only database', /HOOKLINE_POSTGRES_URL: .*read-only: name the primary/, async ({ db }) => {
        await db.superuser(`ALTER DATABASE ${new URL(db.url).pathname.slice(1)} SET default_transaction_read_only = on`);
    }],
];

test('what is wrong with a database is one line that names the setting', { limit: 300_000 }, async (t) => {
    for (const [what, fits, make, isEmpty] of WRONG) {
        await t.test(what, async (t) => {
            const db = await postgres(t);
            if (!isEmpty) await use(t, db);
            const role = await makeRole(t, db);
            await assertRefused(t, db, await make({ db, role }), fits);
        });
    }
});

test('a server without fsync is refused, unless that is wished', async (t) => {
    const db = await cluster(t, { config: { fsync: 'off' } });
    await assertRefused(t, db, {}, /HOOKLINE_POSTGRES_URL: .*fsync.*HOOKLINE_POSTGRES_UNSAFE=on/);
    const env = { ...db.env, HOOKLINE_POSTGRES_UNSAFE: 'on' };
    const sidecar = await startSidecar(t, { env, wait: 'healthz' });
    await sidecar.stop();
});

/** A server of this version, as far as its greeting goes. */
async function pretend(t, version) {
    const message = (type, body) => {
        const head = Buffer.from(`${type}\0\0\0\0`);
        head.writeInt32BE(body.length + 4, 1);
        return Buffer.concat([head, body]);
    };
    const server = net.createServer((socket) => {
        socket.on('error', () => {});
        socket.on('data', (bytes) => {
            if (bytes[0] !== 0) return;
            if ([SSL_REQUEST, GSS_REQUEST].includes(bytes.readInt32BE(4))) socket.write('N');
            else
                socket.write(Buffer.concat([
                    message('R', Buffer.alloc(4)),
                    message('S', Buffer.from(`server_version\0${version}\0`)),
                    message('Z', Buffer.from('I')),
                ]));
        });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => server.close());
    return server.address().port;
}

test('a server below version 15 is refused', async (t) => {
    const db = await postgres(t);
    const port = await pretend(t, '14.11');
    const env = changed(db, (url) => (url.port = port));
    await assertRefused(t, db, env, /HOOKLINE_POSTGRES_URL: the server is PostgreSQL 14: name one of version 15/);
});

test('a server that is not there is a line of the check', async (t) => {
    const db = await postgres(t);
    const env = await settings(t, db, changed(db, (url) => (url.port = 1)));
    const { code, stderr } = await run(['config', 'check'], env);
    assert.equal(code, 2);
    assert.match(stderr, /^hookline: HOOKLINE_POSTGRES_URL: .*refused; a starting replica keeps trying until it is reachable\n$/);
    assert.equal(findSecret(stderr, env), undefined);
});

test('what starts is accepted, beside running replicas too, and nothing is left of the look', async (t) => {
    const db = await postgres(t);
    const assertGood = async () => {
        const before = await look(db);
        const { code, stderr } = await run(['config', 'check'], await settings(t, db));
        assert.equal(code, 0, stderr);
        return before;
    };
    assert.deepEqual(await look(db), await assertGood());
    const sidecar = await startSidecar(t, { env: db.env, wait: 'healthz' });
    await assertGood();
    await sidecar.stop();
    assert.deepEqual(await look(db), await assertGood());
});
