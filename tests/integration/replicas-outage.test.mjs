// Replicas without their server, at the start and later: they listen, say how they stand, go on with what needs no server, and come back.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { link } from './lib/link.mjs';
import { cluster, postgres } from './lib/postgres.mjs';
import { DELIVERIES, RUNS, fleet } from './lib/replicas.mjs';
import { RUN, assertProblem } from './lib/stage.mjs';
import { makeClaims, makeSecret, sign } from './lib/tokens.mjs';
import { until, within } from './lib/until.mjs';

const ACCOUNTS = '/v2/projects/p/service-accounts';
const ID = '01890000-0000-7000-8000-000000000000';
const NOT_REACHED = /^the database has not been reached since the start/;

const assertLater = (answer, what) => {
    assert.equal(answer.status, 503, `${what}: ${answer.text}`);
    assert.match(answer.headers['retry-after'], /^[1-9]\d*$/, what);
};

/** What /readyz says, the same on both listeners: `[status, line]`. */
async function readiness({ sidecar }) {
    const { status, text } = await sidecar.admin('/readyz');
    assert.equal(await sidecar.probe('/_hookline/readyz'), status);
    return [status, text.trim()];
}

/** A server that is not running yet, and replicas that are started without it. */
async function withoutServer(t, options) {
    const server = await cluster(t);
    await server.stop();
    const all = await fleet(t, { database: server, ...options });
    return { server, all, add: (name, more) => all.add(name, { wait: 'healthz', ...more }) };
}

function askForAccount(replica) {
    const body = { name: 'ci', role: 'invoke', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    return replica.ask('POST', ACCOUNTS, { body });
}

/** A service account that a replica made, with its token. */
async function makeAccount(replica) {
    const answer = await askForAccount(replica);
    assert.equal(answer.status, 201, answer.text);
    return answer.json();
}

const callWith = (replica, token) => replica.call(RUN, { headers: { authorization: `Bearer ${token}` }, body: '{}' });

test('replicas that start without PostgreSQL listen, and are ready when it is there', async (t) => {
    const { server, all, add } = await withoutServer(t);
    const [a, b] = [await add('a'), await add('b')];
    for (const replica of [a, b]) {
        await until('the app is up', async () => (await replica.call(RUN)).status === 200);
        const [status, line] = await readiness(replica);
        assert.equal(status, 503);
        assert.match(line, NOT_REACHED);
        assert.equal(await replica.sidecar.metric('hookline_ready'), 0);
    }
    const reported = await a.call(RUN, { query: { webhookEndpoint: all.receiver.url('/sync') } });
    assert.equal(reported.status, 200);
    const refused = await a.call(RUN, { query: { async: 'true' } });
    assertProblem(refused, 503);
    assertLater(refused, 'an asynchronous call');
    assertLater(await a.ask('GET', RUNS), 'a list');
    assertLater(await askForAccount(a), 'an account');

    await server.start();
    for (const replica of [a, b]) await replica.sidecar.until('readyz');
    assert.deepEqual(await readiness(a), [200, 'ok']);
    const id = await a.begin({ hook: all.receiver.url('/queued') });
    assert.equal((await b.finished(id)).state, 'success');
    assert.equal((await all.receiver.envelope('/queued')).run_id, id);
    assert.equal((await all.receiver.envelope('/sync')).run_id, reported.id);
    assert.equal(all.calls(id), 1);
});

test('a token is judged as soon as it can be, and is 503 before', async (t) => {
    const HOOKLINE_JWT_SECRET = makeSecret();
    const env = { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_SECRET };
    const server = await cluster(t);
    const all = await fleet(t, { database: server, env });
    const a = await all.add('a');
    const { token } = await makeAccount(a);
    const outside = await sign({ alg: 'HS256', privateKey: Buffer.from(HOOKLINE_JWT_SECRET) }, makeClaims());
    await server.stop();
    const late = await all.add('late', { wait: 'healthz' });

    assert.equal((await callWith(a, token)).status, 200);
    await until('the app is up', async () => (await callWith(late, outside)).status === 200);
    const refused = await callWith(late, token);
    assertProblem(refused, 503);
    assertLater(refused, 'a token of an account');
    assert.equal((await callWith(late, 'none')).status, 401);

    await server.start();
    await late.sidecar.until('readyz');
    assert.equal((await callWith(late, token)).status, 200);
    assert.equal((await callWith(late, `${token.slice(0, -5)}AAAAA`)).status, 401);
    await makeAccount(late);
});

/** Why it can never be, with what leads there. */
const WRONG = [
    ['another password', /^HOOKLINE_POSTGRES_URL: password authentication failed/, ({ url }) => {
        const changed = new URL(url);
        changed.password = 'another-password';
        return { HOOKLINE_POSTGRES_URL: changed.href };
    }],
    ['another key', /^HOOKLINE_KEY: \*\*\*\* is not the key/, () => ({ HOOKLINE_KEY: 'ab'.repeat(32) })],
    ['another lifetime', /^HOOKLINE_REPLICA_TTL: 9s here, but 3s/, () => ({ HOOKLINE_REPLICA_TTL: '9s' })],
];

test('what is definitely wrong ends a process that waited for its server', async (t) => {
    const server = await cluster(t);
    const all = await fleet(t, { database: server });
    const good = await all.add('good');
    await server.stop();
    const bad = [];
    for (const [what, , change] of WRONG) {
        const env = { HOOKLINE_DRAIN_TIMEOUT: '30s', ...change(server) };
        bad.push(await all.add(what.replaceAll(' ', '-'), { wait: 'healthz', env }));
    }
    const [first] = bad;
    await until('the app is up', async () => (await first.call(RUN)).status === 200);
    const held = first.call(RUN, { headers: { 'x-held': '1' } });
    await until('a call is inside the app', () => first.app.requests.some((x) => x.get('x-held')));

    await server.start();
    const errors = ({ sidecar }) => sidecar.log.filter(({ level }) => level === 'error');
    await until('it has said why it ends', () => errors(first).length);
    all.held.open();
    assert.equal((await held).status, 200);
    for (const [i, replica] of bad.entries()) {
        assert.deepEqual(await within('it ends', replica.sidecar.exited()), { code: 1, signal: null });
        const said = errors(replica).map(({ msg }) => msg);
        assert.equal(said.length, 1, said.join('\n'));
        assert.match(said[0], WRONG[i][1]);
    }
    await good.says('ok');
});

test('what is wrong after the first success counts as gone', async (t) => {
    const server = await cluster(t);
    const all = await fleet(t, { database: server });
    const a = await all.add('a');
    const { username, password } = new URL(server.url);
    await server.superuser(`ALTER ROLE ${username} PASSWORD 'rotated'`);
    await server.terminate();
    await a.says('degraded: store');
    await server.superuser(`ALTER ROLE ${username} PASSWORD '${password}'`);
    await a.says('ok');
    await a.finished(await a.begin());
});

test('the log says why a connection that was lost is not made again, and not only that it was lost', async (t) => {
    const server = await cluster(t);
    const all = await fleet(t, { database: server });
    const { sidecar } = await all.add('a');
    const ofServer = ({ msg }) => msg === 'store: PostgreSQL cannot be reached';
    const { username, pathname } = new URL(server.url);
    const faults = [
        [`DATABASE ${pathname.slice(1)} SET default_transaction_read_only = on`, /the database or the role is read-only/],
        [`ROLE ${username} NOLOGIN`, /not permitted to log in/],
    ];
    for (const [change, why] of faults) {
        await server.superuser(`ALTER ${change}`);
        await server.terminate();
        await sidecar.logged((line) => ofServer(line) && why.test(line.why));
    }
    const said = sidecar.log.filter(ofServer).length;
    assert.ok(said <= 3 * faults.length, `${said} lines of three connections`);
});

test('SIGTERM ends a replica whose server says nothing, or is not there', async (t) => {
    const database = await postgres(t);
    const cable = await link(t, database.url);
    const all = await fleet(t, { database });
    for (const [name, disturb] of Object.entries({ silent: () => cable.blackHole(), away: () => cable.cut() })) {
        await disturb();
        const { sidecar } = await all.add(name, { url: cable.url, wait: 'healthz' });
        sidecar.signal('SIGTERM');
        assert.deepEqual(await within(`${name} ends`, sidecar.exited()), { code: 0, signal: null });
    }
});

test('in an outage a replica is ready and says that it is degraded, and no question waits for its end', async (t) => {
    const server = await cluster(t);
    const all = await fleet(t, { database: server });
    const a = await all.add('a');
    const account = await makeAccount(a);
    await server.stop();
    await a.says('degraded: store');
    assert.deepEqual(await readiness(a), [200, 'degraded: store']);
    assert.equal(await a.sidecar.metric('hookline_ready'), 1);
    const now = JSON.parse((await a.sidecar.admin('/v2/now')).text);
    assert.equal(now.ready, true);
    assert.match(now.problems.join(), /^the database cannot be reached/);
    const ofAll = ['runs_queued', 'queue_age_ms', 'deliveries_pending', 'delivery_age_ms'];
    for (const name of ofAll) assert.equal(now.current[name], null, `${name} is of all replicas`);
    const asked = [
        ['GET', RUNS],
        ['GET', `${RUNS}/${ID}`],
        ['POST', `${RUNS}/${ID}/cancel`],
        ['GET', DELIVERIES],
        ['GET', `${DELIVERIES}/${ID}`],
        ['POST', `${DELIVERIES}/${ID}/redeliver`],
        ['GET', ACCOUNTS],
        ['DELETE', `${ACCOUNTS}/${account.id}`],
    ];
    await Promise.all(asked.map(async ([method, path]) => assertLater(await a.ask(method, path), `${method} ${path}`)));
    await server.start();
    await a.says('ok');
    assert.equal((await a.ask('DELETE', `${ACCOUNTS}/${account.id}`)).status, 204);
});

test('in an outage a known account stays good, one that is not known is 503, and what was revoked ends with it', async (t) => {
    const database = await postgres(t);
    const cable = await link(t, database.url);
    const all = await fleet(t, { database, env: { HOOKLINE_AUTH: 'jwt' } });
    const [a, b] = [await all.add('a', { url: cable.url }), await all.add('b')];
    const known = await makeAccount(a);
    await cable.cut();
    await a.says('degraded: store');
    const unknown = await makeAccount(b);
    assert.equal((await b.ask('DELETE', `${ACCOUNTS}/${known.id}`)).status, 204);
    assert.equal((await callWith(b, known.token)).status, 401);

    assert.equal((await callWith(a, known.token)).status, 200);
    const refused = await callWith(a, unknown.token);
    assertProblem(refused, 503);
    assertLater(refused, 'an account that is not known');

    await cable.heal();
    await until('the revocation has come', async () => (await callWith(a, known.token)).status === 401);
    await until('the new account is known', async () => (await callWith(a, unknown.token)).status === 200);
});

/** What is of all replicas, or of the server: who does not reach it knows nothing of that. */
const OF_ALL = [
    'hookline_runs_queued',
    'hookline_runs_waiting_retry',
    'hookline_runs_queue_age_seconds',
    'hookline_deliveries_pending',
    'hookline_delivery_age_seconds',
    'hookline_replicas',
    'hookline_store_stream_bytes',
    'hookline_postgres_dead_tuples',
    'hookline_postgres_oldest_xmin_age_seconds',
];

test('a replica that does not reach the database exports no figures of all replicas', async (t) => {
    const { server, add } = await withoutServer(t);
    const one = await add('one');
    const known = async () => {
        const names = new Set((await one.sidecar.metrics()).map(({ name }) => name));
        return OF_ALL.filter((name) => names.has(name));
    };
    assert.deepEqual(await known(), []);
    await server.start();
    await until('all is known', async () => (await known()).length === OF_ALL.length);
    await server.stop();
    await until('it is down', async () => (await one.sidecar.metric('hookline_store_up')) === 0);
    assert.deepEqual(await known(), []);
    assert.equal(await one.sidecar.metric('hookline_runs_in_flight'), 0);
    await server.start();
    await until('all is known again', async () => (await known()).length === OF_ALL.length);
});
