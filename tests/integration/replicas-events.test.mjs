// What replicas tell each other: cancelled runs, accounts that are new or revoked, work that may be had.
import assert from 'node:assert/strict';
import net from 'node:net';
import { atEnd } from './lib/cleanup.mjs';
import { test } from './lib/case.mjs';
import { SSE, followerOf } from './lib/events.mjs';
import { cluster, postgres } from './lib/postgres.mjs';
import { control } from './lib/rest.mjs';
import { freePort, startSidecar } from './lib/sidecar.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { sleep, until, within } from './lib/until.mjs';

const RUNS = '/v2/projects/p/apps/a/runs';
const ACCOUNTS = '/v2/projects/p/service-accounts';
const ENDED = ['success', 'failure', 'cancelled'];

/** Two replicas, `near` and `far`, with one database and one app; `call` is far's. */
async function pair(t, { database, app, env = {} } = {}) {
    database ??= await postgres(t);
    const shared = { ...database.env, ...env };
    const all = await stage(t, { app, env: { ...shared, HOOKLINE_REPLICA: 'far' } });
    const near = await startSidecar(t, {
        env: { HOOKLINE_APP_URL: all.app.url, ...shared, HOOKLINE_REPLICA: 'near' },
    });
    return { ...all, database, far: all.sidecar, near, schema: `"${database.schema}"` };
}

/** The same for who has a token: `create`, `revoke` on a replica; `ask` far, for the answer. */
async function locked(t, options = {}) {
    const all = await pair(t, { ...options, env: { HOOKLINE_AUTH: 'jwt', ...options.env } });
    const create = async (sidecar = all.near) => {
        const body = { name: 'ci', role: 'invoke', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
        const answer = await control(sidecar)('POST', ACCOUNTS, { body });
        assert.equal(answer.status, 201, answer.text);
        return answer.json();
    };
    const revoke = async ({ id }, sidecar = all.near) =>
        assert.equal((await control(sidecar)('DELETE', `${ACCOUNTS}/${id}`)).status, 204);
    const ask = ({ token }) => all.call(RUN, { headers: { authorization: `Bearer ${token}` }, body: '{}' });
    return { ...all, create, revoke, ask };
}

/** One replica. */
async function stagedAlone(t, database) {
    database ??= await postgres(t);
    return { ...(await stage(t, { env: { ...database.env } })), database };
}

/** Holds a run until its caller, hookline, goes away. */
async function hold(exchange) {
    await exchange.body();
    await exchange.gone;
}

const ended = (sidecar, id) =>
    until('the run has ended', async () => {
        const run = (await control(sidecar)('GET', `${RUNS}/${id}`)).json();
        return ENDED.includes(run.state) && run;
    });

/** `far` has looked for events since this moment, by the database's clock. */
function hasRead({ database, schema }, since) {
    return until('it has read', async () => {
        const rows = await database.superuser(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle'
             AND application_name = 'hookline/far' AND query LIKE $1 AND query_start > $2::timestamptz`,
            [`%FROM ${schema}.event%`, since],
        );
        return rows.length > 0;
    });
}

const now = async (database) => (await database.query('SELECT now()::text AS now'))[0].now;

/** `far` hears notifications: by polling alone twenty looks would take two seconds each, however quick the machine is. */
async function hears(all) {
    const looks = async () => {
        const began = performance.now();
        for (let i = 0; i < 20; i++) {
            const since = await now(all.database);
            await all.database.query(`NOTIFY ${all.schema}`);
            await hasRead(all, since);
        }
        return performance.now() - began < 30_000;
    };
    await hasRead(all, await now(all.database));
    await until('twenty looks are quicker than polling', looks);
}

test('a run that is cancelled on one replica is cut off on the other', async (t) => {
    const { app, near, far, call, database, schema } = await pair(t, { app: hold });
    const { id } = await call(RUN, { query: { async: 'true' } });
    await until('the app has it', () => app.requests.length === 1);
    const [{ name }] = await database.query(`SELECT name FROM ${schema}.ticket JOIN ${schema}.node USING (node_id)`);
    const other = name === 'far' ? near : far;
    assert.equal((await control(other)('POST', `${RUNS}/${id}/cancel`)).status, 202);
    await within('the app sees the end', app.requests[0].gone);
    assert.equal((await ended(near, id)).state, 'cancelled');
    assert.equal((await ended(far, id)).state, 'cancelled');
});

test('a caller whose run is cancelled on another replica gets 410', async (t) => {
    const { app, near, call, receiver } = await pair(t, { app: hold });
    const answered = call(RUN, { query: { webhookEndpoint: receiver.url() } });
    await until('the app has it', () => app.requests.length === 1);
    const run = await until('the database has it', async () =>
        (await control(near)('GET', `${RUNS}?state=running`)).json().runs[0]);
    assert.equal((await control(near)('POST', `${RUNS}/${run.run_id}/cancel`)).status, 202);
    assertProblem(await within('the answer', answered), 410);
    assert.equal((await receiver.envelope()).type, 'run.cancelled');
});

test('a token is good on every replica as soon as it is given out', async (t) => {
    const { create, ask } = await locked(t);
    for (let i = 0; i < 5; i++) assert.equal((await ask(await create())).status, 200);
});

/** Replicas tell each other nothing any more. */
async function forget({ database, schema }) {
    await database.query(`CREATE FUNCTION ${schema}.forget() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN RETURN NULL; END'`);
    await database.query(`CREATE TRIGGER forget BEFORE INSERT ON ${schema}.event
        FOR EACH ROW EXECUTE FUNCTION ${schema}.forget()`);
}

test('a token whose account nobody has told of is looked up', async (t) => {
    const { create, ask, database, schema, near, call } = await locked(t);
    await forget({ database, schema });
    const [good, revoked] = [await create(), await create()];
    assert.equal((await control(near)('DELETE', `${ACCOUNTS}/${revoked.id}`)).status, 204);
    assert.equal((await ask(good)).status, 200);
    assert.equal((await ask(revoked)).status, 401);
    assert.equal((await ask(revoked)).status, 401);
    const wrong = { token: `${good.token.slice(0, -5)}AAAAA` };
    assert.equal((await ask(wrong)).status, 401);
    assert.equal((await call(RUN)).status, 401);
});

test('a revocation holds on the replica that was not asked, also of a token that it has seen', async (t) => {
    const { create, revoke, ask } = await locked(t);
    const [seen, other] = [await create(), await create()];
    assert.equal((await ask(seen)).status, 200);
    await revoke(seen);
    await until('the other replica refuses it', async () => (await ask(seen)).status === 401);
    assert.equal((await ask(other)).status, 200);
});

test('a revocation ends what its account follows on every replica, also where that is passed on', async (t) => {
    const app = async (x) => {
        await x.body();
        await x.respond(200, SSE);
        await x.chunk(Buffer.from('data: 1\n\n'));
        await x.gone;
    };
    const { create, revoke, call, near, far } = await locked(t, { app });
    const [gone, stays] = [await create(), await create()];
    const { id } = await call(RUN, { query: { async: 'true' }, headers: { authorization: `Bearer ${gone.token}` }, body: '{}' });
    const follow = async (sidecar, { token }) => {
        const follower = await until('it can be followed', async () => {
            const one = await followerOf(t, sidecar)(id, { token });
            return one.status === 200 && one;
        });
        await follower.events(1);
        return follower;
    };
    const left = [await follow(near, gone), await follow(far, gone)];
    const kept = [await follow(near, stays), await follow(far, stays)];
    await revoke(gone);
    for (const follower of left)
        assert.equal(await within('its end', follower.rest().then(() => 'whole', () => 'broken off')), 'broken off');
    assert.equal((await control(near)('POST', `${RUNS}/${id}/cancel`)).status, 202);
    for (const follower of kept) await within('the end of the run', follower.rest());
});

test('a revocation that is committed behind a later one is not missed', async (t) => {
    const { create, revoke, ask, database, schema } = await locked(t);
    const [late, early] = [await create(), await create()];
    for (const account of [late, early]) assert.equal((await ask(account)).status, 200);
    const client = await database.connect(t);
    await client.query('BEGIN');
    await client.query(`INSERT INTO ${schema}.event (kind, subject) VALUES (2, $1)`, [late.id]);
    await revoke(early);
    await until('the later one holds', async () => (await ask(early)).status === 401);
    assert.equal((await ask(late)).status, 200);
    await client.query('COMMIT');
    await until('the one before it does', async () => (await ask(late)).status === 401);
});

test('without the database accounts in memory stay good, and one that is not there is 503', async (t) => {
    const database = await cluster(t);
    const all = await locked(t, { database });
    const { create, ask, schema } = all;
    const [used, heard] = [await create(), await create()];
    assert.equal((await ask(used)).status, 200);
    await hasRead(all, await now(database));
    await forget(all);
    const unheard = await create();
    await database.stop();
    assert.equal((await ask(used)).status, 200);
    assert.equal((await ask(heard)).status, 200);
    const refused = await ask(unheard);
    assertProblem(refused, 503);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    await database.start();
    await until('it is looked up', async () => (await ask(unheard)).status === 200);
});

test('a replica looks for events when it is notified', async (t) => {
    await hears(await pair(t));
});

test('a run that its replica cannot start is notified', async (t) => {
    const env = { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_APP_CONCURRENCY: '1' };
    const { app, call, database, schema } = await pair(t, { app: hold, env });
    const query = { async: 'true' };
    for (const n of [1, 2]) {
        assert.equal((await call(RUN, { query })).status, 202);
        await until('the app has it', () => app.requests.length === n);
    }
    const client = await database.connect(t);
    await client.query(`LISTEN ${schema}`);
    const notified = new Promise((resolve) => client.once('notification', resolve));
    assert.equal((await call(RUN, { query })).status, 202);
    assert.equal((await within('a notification', notified)).payload, '');
});

/** A server at `url` by way of somebody in between, who names another process of it than the one that answers. */
async function pooled(t, url) {
    const { hostname, port } = new URL(url);
    const own = new URL(url);
    const sockets = new Set();
    const server = net.createServer((client) => {
        const far = net.connect({ host: hostname, port: Number(port) });
        for (const socket of [client, far]) sockets.add(socket.on('error', () => {}));
        client.on('close', () => far.destroy());
        far.on('close', () => client.destroy());
        client.pipe(far);
        let bytes = Buffer.alloc(0);
        let isNamed = false;
        far.on('data', (piece) => {
            bytes = Buffer.concat([bytes, piece]);
            while (bytes.length > 0) {
                const isAnswer = bytes.length === 1 && bytes[0] === 'N'.charCodeAt(0); // to SSLRequest
                const size = isNamed || isAnswer ? bytes.length : bytes.length < 5 ? Infinity : 1 + bytes.readInt32BE(1);
                if (size > bytes.length) return;
                if (!isNamed && bytes[0] === 'K'.charCodeAt(0)) {
                    bytes.writeInt32BE(1, 5);
                    isNamed = true;
                }
                client.write(bytes.subarray(0, size));
                bytes = bytes.subarray(size);
            }
        });
    });
    own.port = await freePort();
    own.hostname = '127.0.0.1';
    await new Promise((resolve) => server.listen(Number(own.port), '127.0.0.1', resolve));
    atEnd(t, () => {
        server.close();
        for (const socket of sockets) socket.destroy();
    });
    return own.href;
}

test('behind a pooler replicas poll, and say so once', async (t) => {
    const database = await postgres(t);
    const env = { HOOKLINE_POSTGRES_URL: await pooled(t, database.url) };
    const all = await locked(t, { database, env });
    const account = await all.create();
    const deaf = ({ msg }) => msg.startsWith('store: no notifications arrive');
    for (const sidecar of [all.near, all.far]) await sidecar.logged(deaf);
    assert.equal((await all.ask(account)).status, 200);
    await database.terminate();
    await until('it is back', async () => (await control(all.near)('GET', ACCOUNTS)).status === 200);
    await all.revoke(account);
    await until('the other replica refuses it', async () => (await all.ask(account)).status === 401);
    for (const sidecar of [all.near, all.far]) assert.equal(sidecar.log.filter(deaf).length, 1);
});

test('a listener whose connection was lost listens again', async (t) => {
    const all = await pair(t);
    await hears(all);
    await all.database.terminate('hookline/far');
    await hears(all);
});

test('old events are deleted, young ones are not', async (t) => {
    const { sidecar, database } = await stagedAlone(t);
    const event = `"${database.schema}".event`;
    await database.query(`INSERT INTO ${event} (at, kind) SELECT now() - interval '61 min', 2 FROM generate_series(1, 1200)`);
    await database.query(`INSERT INTO ${event} (at, kind) SELECT now() - interval '59 min', 2 FROM generate_series(1, 3)`);
    await sidecar.restart();
    const left = async () => (await database.query(`SELECT count(*) AS n FROM ${event}`))[0].n;
    await until('the old ones are gone', async () => (await left()) <= 3);
    assert.equal(await left(), 3);
});

test('an idle replica asks the database at most three times a second', async (t) => {
    const seconds = 10;
    const database = await cluster(t, { config: { log_statement: 'all' } });
    await stagedAlone(t, database);
    const asked = () => database.log().match(/execute hl_/g)?.length ?? 0;
    await until('it has settled', async () => {
        const before = asked();
        await sleep(2_000);
        return asked() - before <= 8;
    });
    const before = asked();
    await sleep(seconds * 1000);
    assert.ok(asked() - before <= 3 * seconds, `${asked() - before} statements`);
    assert.ok(asked() > before);
});

/** Once this replica stores again. */
const stores = (sidecar) =>
    until('it stores', async () => (await control(sidecar)('GET', ACCOUNTS)).status === 200);

test('numbers that are given once more after a failover hide nothing', async (t) => {
    const database = await cluster(t);
    const all = await locked(t, { database });
    const { create, revoke, ask, near, far } = all;
    const account = await create();
    await database.keep();
    await Promise.all([near, far].map(stores));
    const lost = await create();
    assert.equal((await ask(lost)).status, 200);
    await revoke(lost);
    await until('far has heard of what is lost', async () => (await ask(lost)).status === 401);
    assert.equal((await ask(account)).status, 200);
    await database.lose();
    await Promise.all([near, far].map(stores));
    await create();
    await revoke(account);
    await until('far refuses it', async () => (await ask(account)).status === 401);
    await far.logged((line) => line.msg.startsWith('store: this is another database'));
});

test('a database that was moved without its sequences is mended when a replica comes to it', async (t) => {
    const all = await locked(t);
    const { create, revoke, ask, near, far, database, schema } = all;
    const accounts = [await create(), await create()];
    for (const account of accounts) await revoke(account, far);
    const good = await create();
    assert.equal((await ask(good)).status, 200);
    await database.query(`ALTER TABLE ${schema}.event ALTER COLUMN event_id RESTART`);
    await database.terminate();
    await Promise.all([near, far].map(stores));
    const other = await create();
    assert.equal((await ask(other)).status, 200);
    await revoke(good);
    await until('far refuses it', async () => (await ask(good)).status === 401);
    await until('one has said so', () =>
        [near, far].some(({ log }) => log.find(({ msg }) => msg.includes('event numbers'))),
    );
});

test('a server that does not say which one it is will do', async (t) => {
    const database = await postgres(t);
    await database.superuser('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
    const { create, revoke, ask, far } = await locked(t, { database });
    const account = await create();
    assert.equal((await ask(account)).status, 200);
    await revoke(account);
    await until('the other replica refuses it', async () => (await ask(account)).status === 401);
    await far.logged(({ msg }) => msg === 'store: the server does not identify itself');
});
