// Limits of a service account: made with it, shown with it, changed by an admin, and held to at once on every worker.
// And those of the subjects of tokens from outside, which settings and claims say.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { FILE, onFailure, test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { assertRefused, control, rest } from './lib/rest.mjs';
import { gate, until } from './lib/until.mjs';
import { makeSecret, seconds, sign } from './lib/tokens.mjs';
import { WebSocket } from 'ws';

const ACCOUNTS = '/v2/projects/p/service-accounts';
const LIMITS = { max_running: 4, max_queued: 1000, rate: '100/m', max_priority: 'high' };
const NO_LIMITS = { max_running: null, max_queued: null, rate: null, max_priority: 'normal' };

const limitsOf = ({ max_running, max_queued, rate, max_priority }) => ({ max_running, max_queued, rate, max_priority });

/** An account with those limits; `call` uses its token. */
async function locked(t, limits = {}, { app, env = {} } = {}) {
    const all = await stage(t, { app, env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_PROJECT_ID: 'p', ...env } });
    const admin = control(all.sidecar);
    const create = async (more = {}) => {
        const body = { name: 'ci', expires_at: new Date(Date.now() + 3_600_000).toISOString(), ...more };
        const answer = await admin('POST', ACCOUNTS, { body });
        assert.equal(answer.status, 201, answer.text);
        return answer.json();
    };
    const account = await create(limits);
    const change = async (body, id = account.id) => {
        const answer = await admin('PATCH', `${ACCOUNTS}/${id}`, { body });
        assert.equal(answer.status, 200, answer.text);
        return answer.json();
    };
    const as = (token) => (path = RUN, options = {}) =>
        all.call(path, { body: '{}', ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } });
    return { ...all, admin, create, account, change, as, call: as(account.token) };
}

for (const store of ['sqlite', 'memory'])
    test(`${store}: limits are shown with an account, in lists too, and changed one by one`, async (t) => {
        const { admin, create, account, change } = await locked(t, LIMITS, { env: { HOOKLINE_STORE: store } });
        assert.deepEqual(limitsOf(account), LIMITS);
        const plain = await create();
        assert.deepEqual(limitsOf(plain), NO_LIMITS);
        const list = async () => {
            const rows = (await admin('GET', ACCOUNTS)).json().service_accounts;
            return Object.fromEntries(rows.map((row) => [row.id, limitsOf(row)]));
        };
        assert.deepEqual(await list(), { [account.id]: LIMITS, [plain.id]: NO_LIMITS });

        const changed = await change({ rate: '5/s', max_running: null });
        const left = { ...LIMITS, rate: '5/s', max_running: null };
        assert.deepEqual(limitsOf(changed), left);
        assert.equal(changed.name, 'ci');
        assert.equal(changed.token, undefined);
        assert.deepEqual(await list(), { [account.id]: left, [plain.id]: NO_LIMITS });
        assert.deepEqual(limitsOf(await change({})), left);
        const lifted = await change({ max_running: null, max_queued: null, rate: null, max_priority: null });
        assert.deepEqual(limitsOf(lifted), NO_LIMITS);
        const all = await admin('PATCH', `/v2/service-accounts/${plain.id}`, { body: { max_queued: 7 } });
        assert.equal(all.json().max_queued, 7, 'whoever may see every project names none');
        assert.equal(all.json().project_id, 'p');
    });

test('limits outlive a restart', async (t) => {
    const { sidecar, admin, account, change } = await locked(t, LIMITS);
    await change({ rate: '7/d' });
    await sidecar.restart();
    const [row] = (await admin('GET', ACCOUNTS)).json().service_accounts;
    assert.equal(row.id, account.id);
    assert.deepEqual(limitsOf(row), { ...LIMITS, rate: '7/d' });
});

const BAD = {
    max_running: [0, -1, 1.5, 1_000_000_001, '4', true, [], {}],
    max_queued: [0, -1, 0.5, 1e15, 2 ** 63, 1e20, '1000', '\0', false],
    rate: [100, '100', '0/m', '-1/m', '1.5/m', '100/min', '100/', '10000001/m', '', '1/m ', true],
    max_priority: ['highest', '', 'HIGH', 1, true, []],
};

test('a limit that is none is refused by its name, and nothing changes', async (t) => {
    const { admin, account } = await locked(t, LIMITS);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    for (const [name, values] of Object.entries(BAD))
        for (const value of values) {
            const said = new RegExp(`member ${name} is not`);
            const one = await admin('PATCH', `${ACCOUNTS}/${account.id}`, { body: { max_queued: 5, [name]: value } });
            assertRefused(one, 400, said);
            assertRefused(await admin('POST', ACCOUNTS, { body: { name: 'x', expires_at, [name]: value } }), 400, said);
        }
    for (const body of ['', '[]', '"100/m"', '{"rate":"1/s","rate":"2/s"}', '{'])
        assertRefused(await admin('PATCH', `${ACCOUNTS}/${account.id}`, { body }), 400, /JSON object/);
    for (const other of ['name', 'expires_at', 'role', 'max_runing'])
        assertRefused(await admin('PATCH', `${ACCOUNTS}/${account.id}`, { body: { rate: '1/s', [other]: 'x' } }), 400,
            new RegExp(`member ${other} cannot be changed`));
    const [row, ...more] = (await admin('GET', ACCOUNTS)).json().service_accounts;
    assert.equal(more.length, 0);
    assert.deepEqual(limitsOf(row), LIMITS);
});

test('only an admin of its project changes the limits of an account', async (t) => {
    const { sidecar, account, create } = await locked(t);
    const boss = await create({ role: 'admin' });
    const patch = (token, path) => rest(sidecar, { token })('PATCH', path, { body: { max_running: 1 } });
    assertRefused(await patch(account.token, `${ACCOUNTS}/${account.id}`), 403, /admin/);
    assertRefused(await patch(undefined, `${ACCOUNTS}/${account.id}`), 401, /token/);
    assertRefused(await patch(boss.token, `/v2/projects/q/service-accounts/${account.id}`), 404, /another project/);
    assertRefused(await patch(boss.token, `${ACCOUNTS}/0193dead-0000-7000-8000-000000000000`), 404, /service account/);
    assert.equal((await patch(boss.token, `${ACCOUNTS}/${account.id}`)).json().max_running, 1);
});

/* ---- held to ---- */

/** An app that keeps each call inside until `doors.open()`. */
function waiting() {
    const doors = gate();
    const counts = { inside: 0, most: 0, started: [] };
    const app = async (x) => {
        counts.started.push(x.target);
        counts.most = Math.max(counts.most, ++counts.inside);
        await x.body();
        await doors.promise;
        counts.inside--;
        await x.send(200, {}, 'ok');
    };
    return { doors, counts, app };
}

/** Asserts a 429 with the draft's fields. `t`: most seconds to wait, undefined for a policy of no time. */
function assertLimited(answer, policy, q, { w, t } = {}) {
    assertProblem(answer, 429);
    const { 'ratelimit-policy': policies, ratelimit, 'retry-after': after } = answer.headers;
    assert.equal(policies, `"${policy}";q=${q}` + (w ? `;w=${w}` : ''));
    assert.ok(Number(after) >= 1, after);
    if (t === undefined) {
        assert.equal(ratelimit, `"${policy}";r=0`);
        return;
    }
    assert.equal(ratelimit, `"${policy}";r=0;t=${after}`);
    assert.ok(Number(after) <= t, after);
}

test('a synchronous call beyond max_running is 429, on any worker, until one has ended', async (t) => {
    const { doors, counts, app } = waiting();
    const { call, change, as, create } = await locked(t, { max_running: 2 }, { app, env: { HOOKLINE_WORKERS: '2' } });
    const calls = [call(), call()];
    await until('two are inside', () => counts.inside === 2);
    for (let i = 0; i < 8; i++) assertLimited(await call(), 'max_running', 2);
    assert.match((await call()).json().detail, /max_running is 2/);
    const other = as((await create()).token)();
    await until("another account's is inside", () => counts.inside === 3);
    await change({ max_running: 3 });
    calls.push(call());
    await until('at once one more', () => counts.inside === 4);
    await change({ max_running: 1 });
    assertLimited(await call(), 'max_running', 1);
    doors.open();
    for (const { status } of await Promise.all([...calls, other])) assert.equal(status, 200);
    await change({ max_running: null });
    assert.equal((await call()).status, 200);
    assert.equal(counts.most, 4);
});

test('the place of a call is free again, however the call ended', async (t) => {
    let next = (x) => x.send(200, {}, 'ok');
    const { call, sidecar, account } = await locked(t, { max_running: 1 }, { app: (x) => next(x) });
    next = (x) => x.socket?.destroy() ?? x.take().socket.destroy();
    assert.equal((await call()).status, 502);
    next = (x) => x.send(500, {}, 'no');
    assert.equal((await call()).status, 500);
    let seen = false;
    next = async (x) => {
        seen = true;
        await x.gone;
    };
    const leaves = new AbortController();
    const left = call(RUN, { signal: leaves.signal }).catch(() => {});
    await until('it is inside', () => seen);
    leaves.abort();
    await left;
    next = (x) => x.send(200, {}, 'ok');
    await until('it has left', async () => (await call()).status === 200);
    const token = { authorization: `Bearer ${account.token}` };
    const bad = await rest(sidecar)('POST', RUN, { body: '{}', headers: { ...token, 'x-run-timeout': 'soon' } });
    assert.equal(bad.status, 400);
    assert.equal((await call()).status, 200);
});

test('who has the answer has the place back, whichever worker takes the next call', async (t) => {
    let turn = 0;
    const app = (x) => (++turn % 3 === 0 ? x.take().socket.destroy() : x.send(turn % 3 === 1 ? 200 : 500, {}, 'ok'));
    const { call } = await locked(t, { max_running: 1 }, { app, env: { HOOKLINE_WORKERS: '2' } });
    for (let i = 1; i <= 300; i++) assert.equal((await call()).status, [502, 200, 500][i % 3], `call ${i}`);
});

test('upgrades and what is passed through have places, too', async (t) => {
    const { doors, counts, app } = waiting();
    const { call, sidecar, account } = await locked(t, { max_running: 1 }, { app });
    const passed = call('/other/path');
    await until('it is inside', () => counts.inside === 1);
    assertLimited(await call(), 'max_running', 1);
    assertLimited(await call('/other/path', { method: 'GET', body: undefined }), 'max_running', 1);
    const ws = new WebSocket(`ws://127.0.0.1:${sidecar.port}/v4/p/a/socket`, {
        headers: { authorization: `Bearer ${account.token}` },
    });
    const [, response] = await once(ws, 'unexpected-response');
    ws.on('error', () => {});
    assert.equal(response.statusCode, 429);
    assert.equal(response.headers.ratelimit, '"max_running";r=0');
    ws.terminate();
    doors.open();
    assert.equal((await passed).status, 200);
});

test('rate counts what is meant for the app, of both workers, and says when there is more', async (t) => {
    const { app, call, change, admin, account } = await locked(t, { rate: '5/h' }, { env: { HOOKLINE_WORKERS: '2' } });
    assert.equal((await call()).status, 200);
    assert.equal((await call('/some/page', { method: 'GET', body: undefined })).status, 200);
    assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    assert.equal((await call(RUN, { query: { async: 'perhaps' } })).status, 400, 'is not counted');
    const reads = await Promise.all(Array.from({ length: 10 }, () => call(`${ACCOUNTS}?limit=1`, { method: 'GET', body: undefined })));
    for (const { status } of reads) assert.equal(status, 200, 'is not meant for the app');
    assert.equal((await call()).status, 200);
    assert.equal((await call()).status, 200);
    for (const path of [RUN, '/some/page', '/v4/p/a/other'])
        for (const query of [{}, { async: 'true' }]) {
            if (path === '/some/page' && query.async) continue;
            assertLimited(await call(path, { query }), 'default', 5, { w: 3600, t: 3600 });
        }
    assert.match((await call()).json().detail, /rate is 5\/h/);
    await until('the run has run', () => app.requests.length === 5);
    await change({ rate: '7/h' });
    const more = await Promise.all([call(), call(), call(), call()]);
    assert.deepEqual(more.map(({ status }) => status).sort(), [200, 200, 429, 429]);
    await change({ rate: null });
    assert.equal((await call()).status, 200);
    assert.equal((await admin('GET', ACCOUNTS)).json().service_accounts[0].id, account.id);
});

test('after the time that it names there is more', async (t) => {
    const { call } = await locked(t, { rate: '2/s' });
    let refused;
    await until('one is refused', async () => {
        const answers = await Promise.all(Array.from({ length: 8 }, () => call()));
        return (refused = answers.find(({ status }) => status === 429));
    });
    assertLimited(refused, 'default', 2, { w: 1, t: 1 });
    await until('one is let in', async () => (await call()).status === 200);
});

for (const store of ['sqlite', 'memory'])
    test(`${store}: an acceptance beyond max_queued is 429; one with a known key is not`, async (t) => {
        const { doors, counts, app } = waiting();
        const env = { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_STORE: store };
        const { call, change, as, create } = await locked(t, { max_queued: 2 }, { app, env });
        const accept = (key, body = '{}') =>
            call(RUN, { query: { async: 'true' }, body, headers: key ? { 'idempotency-key': key } : {} });
        assert.equal((await accept()).status, 202);
        await until('one is inside', () => counts.inside === 1);
        const first = await accept('first');
        assert.equal(first.status, 202);
        assert.equal((await accept()).status, 202);
        assertLimited(await accept(), 'max_queued', 2);
        assertLimited(await accept('second'), 'max_queued', 2);
        assert.match((await accept()).json().detail, /max_queued is 2/);
        assertLimited(await call(RUN, { headers: { prefer: 'wait=5' } }), 'max_queued', 2);
        const again = await accept('first');
        assert.equal(again.status, 202);
        assert.equal(again.json().run_id, first.json().run_id);
        assertProblem(await accept('first', '{"other":1}'), 422);
        assert.equal((await as((await create()).token)(RUN, { query: { async: 'true' } })).status, 202);
        await change({ max_queued: 3 });
        assert.equal((await accept('second')).status, 202, 'its refusal left no trace');
        assertLimited(await accept(), 'max_queued', 3);
        doors.open();
        await until('all have run', () => counts.started.length === 5);
        assert.equal((await accept()).status, 202);
    });

test('a known Idempotency-Key is answered though the rate is used up, and does not count', async (t) => {
    const { app, call, change } = await locked(t, { rate: '2/h' });
    const accept = (key) => call(RUN, { query: { async: 'true' }, headers: key ? { 'idempotency-key': key } : {} });
    const first = await accept('k');
    for (let i = 0; i < 5; i++) assert.equal((await accept('k')).json().run_id, first.json().run_id);
    assert.equal((await accept()).status, 202);
    for (let i = 0; i < 3; i++) assert.equal((await accept('k')).json().run_id, first.json().run_id);
    assertLimited(await accept('new'), 'default', 2, { w: 3600, t: 3600 });
    assertLimited(await accept(), 'default', 2, { w: 3600, t: 3600 });
    await change({ rate: '3/h' });
    assert.equal((await accept('new')).status, 202);
    await until('three have run', () => app.requests.length === 3);
});

test('a browser may read the fields of a refusal', async (t) => {
    const { call } = await locked(t, { rate: '1/d' }, { env: { HOOKLINE_CORS_ORIGINS: 'https://app.example' } });
    await call();
    const refused = await call(RUN, { headers: { origin: 'https://app.example' } });
    assertLimited(refused, 'default', 1, { w: 86_400, t: 86_400 });
    const exposed = refused.headers['access-control-expose-headers'].split(', ');
    for (const name of ['RateLimit', 'RateLimit-Policy', 'Retry-After']) assert.ok(exposed.includes(name), name);
});

for (const store of ['sqlite', 'memory'])
    test(`${store}: a queued run of an account at max_running waits, and others pass it`, async (t) => {
        const doors = [gate(), gate()];
        const inside = { first: 0, second: 0 };
        let most = 0;
        const app = async (x) => {
            const who = x.get('x-who');
            most = Math.max(most, who === 'first' ? ++inside.first : 0);
            if (who === 'second') inside.second++;
            await x.body();
            await doors[who === 'first' ? 0 : 1].promise;
            if (who === 'first') inside.first--;
            await x.send(200, {}, 'ok');
        };
        const env = { HOOKLINE_STORE: store, HOOKLINE_WORKERS: '2' };
        const { call, as, create, change, admin, sidecar } = await locked(t, { max_running: 2 }, { app, env });
        const other = as((await create()).token);
        const accept = async (with_, who) => {
            const answer = await with_(RUN, { query: { async: 'true' }, headers: { 'x-who': who } });
            assert.equal(answer.status, 202, answer.text);
        };
        const sync = call(RUN, { headers: { 'x-who': 'first' } });
        await until('the call is inside', () => inside.first === 1);
        for (let i = 0; i < 8; i++) await accept(call, 'first');
        await until('one run is beside it', () => inside.first === 2);
        for (let i = 0; i < 3; i++) await accept(other, 'second');
        await until('the others pass', () => inside.second === 3);
        assertLimited(await call(RUN, { headers: { 'x-who': 'first' } }), 'max_running', 2);
        const queued = async () => (await admin('GET', '/v2/projects/p/runs?state=queued')).json().runs.length;
        assert.equal(await queued(), 7);
        await change({ max_running: 4 });
        await until('two more', () => inside.first === 4);
        assert.equal(most, 4);
        if (store === 'sqlite') {
            await change({ max_running: 3 });
            doors[0].open();
            doors[1].open();
            assert.equal((await sync).status, 200);
            await until('all have run', async () => (await queued()) === 0);
            assert.equal(most, 4);
            return;
        }
        doors[0].open();
        doors[1].open();
        assert.equal((await sync).status, 200);
        await until('all have run', async () => (await queued()) === 0);
        assert.equal(most, 4);
        assert.ok(sidecar);
    });

for (const store of ['sqlite', 'memory'])
    test(`${store}: others pass an account at max_running whose runs wait for their retries, too`, async (t) => {
        const door = gate();
        const seen = { retried: 0, held: 0, other: 0 };
        const app = async (x) => {
            const who = x.get('x-who');
            seen[who]++;
            await x.body();
            if (who === 'held') await door.promise;
            await x.send(who === 'retried' ? 503 : 200);
        };
        const env = {
            HOOKLINE_STORE: store,
            HOOKLINE_RUN_ATTEMPTS: '2',
            HOOKLINE_RUN_RETRY_ON: '503',
            HOOKLINE_RUN_RETRY_DELAY: '5m',
        };
        const { call, as, create, sidecar } = await locked(t, { max_running: 1 }, { app, env });
        const other = as((await create()).token);
        const accept = async (with_, who) =>
            assert.equal((await with_(RUN, { query: { async: 'true' }, headers: { 'x-who': who } })).status, 202);
        for (let i = 0; i < 5; i++) await accept(call, 'retried');
        await until('they wait', async () => (await sidecar.metric('hookline_runs_waiting_retry')) === 5);
        const held = call(RUN, { headers: { 'x-who': 'held' } });
        await until('the account is full', () => seen.held === 1);
        await accept(call, 'held');
        for (let i = 0; i < 3; i++) await accept(other, 'other');
        await until('the others pass', () => seen.other === 3);
        assert.equal(seen.held, 1);
        door.open();
        assert.equal((await held).status, 200);
        await until('its own has its turn', () => seen.held === 2);
    });

test('what waits for its account waits after a restart, too, and goes on when the limit is lifted', async (t) => {
    const { doors, counts, app } = waiting();
    const { call, change, sidecar } = await locked(t, { max_running: 1 }, { app });
    for (let i = 0; i < 5; i++) assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    await until('one is inside', () => counts.inside === 1);
    await sidecar.kill();
    await sidecar.start();
    await until('another one is', () => counts.started.length === 2);
    assertLimited(await call(), 'max_running', 1);
    assert.equal(counts.started.length, 2);
    await change({ max_running: null });
    await until('all are', () => counts.started.length === 5);
    doors.open();
});

/* ---- subjects of tokens from outside ---- */

const OUTSIDE = { secret: makeSecret(), rate: 'https://id.example/rate', door: undefined, counts: { asked: 0, inside: 0 } };

/** One sidecar for all: `by(claims)` answers a `call` with a new token of that secret. */
async function outside(t) {
    if (!OUTSIDE.shared) atEnd(FILE, () => (OUTSIDE.shared = null));
    OUTSIDE.shared ??= locked(FILE, {}, {
        app: async (x) => {
            OUTSIDE.counts.asked++;
            OUTSIDE.counts.inside++;
            await x.body();
            await OUTSIDE.door?.promise;
            OUTSIDE.counts.inside--;
            await x.send(200, {}, 'ok');
        },
        env: {
            HOOKLINE_WORKERS: '2',
            HOOKLINE_JWT_SECRET: OUTSIDE.secret,
            HOOKLINE_JWT_LIMITS: 'rate=2/h,max_running=50',
            HOOKLINE_JWT_LIMIT_CLAIMS: `rate=${OUTSIDE.rate},max_queued=queued,max_running=running,max_priority=class`,
        },
    });
    const all = await OUTSIDE.shared;
    onFailure(t, () => all.sidecar.tail());
    return { ...all, by: async (claims) => all.as(await sign(OUTSIDE.secret, claims)) };
}

test('tokens of one subject from outside share the limits of HOOKLINE_JWT_LIMITS, on every worker', async (t) => {
    const { by, call } = await outside(t);
    const mine = [await by({ sub: 'me' }), await by({ sub: 'me' })];
    for (const one of mine) assert.equal((await one()).status, 200);
    for (let i = 0; i < 6; i++) assertLimited(await mine[i % 2](), 'default', 2, { w: 3600, t: 3600 });
    assert.match((await mine[0]()).json().detail, /rate is 2\/h/);
    assert.equal((await (await by({ sub: 'me', iss: 'https://other.example' }))()).status, 200);
    for (let i = 0; i < 3; i++) assert.equal((await call()).status, 200, "an account's are its own");
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await (await by({ sub: undefined }))()).status);
    assert.deepEqual(statuses, [200, 200, 429], 'those without a subject are one');
});

test('a claim of HOOKLINE_JWT_LIMIT_CLAIMS says a limit, and of two tokens the one that was issued last', async (t) => {
    const { by } = await outside(t);
    const former = await by({ sub: 'more', iat: seconds(-60), [OUTSIDE.rate]: '1/h' });
    assert.equal((await former()).status, 200);
    assertLimited(await former(), 'default', 1, { w: 3600, t: 3600 });
    const later = await by({ sub: 'more', [OUTSIDE.rate]: '3/h' });
    assert.equal((await later()).status, 200);
    assert.equal((await former()).status, 200);
    assertLimited(await later(), 'default', 3, { w: 3600, t: 3600 });
});

test('a subject from outside has max_running, max_queued and max_priority, and its queued runs count for no max_running', async (t) => {
    const { by } = await outside(t);
    const call = await by({ sub: 'busy', [OUTSIDE.rate]: '100/h', running: 1, queued: 1, class: 'high' });
    const high = { headers: { 'x-run-priority': 'high' } };
    assert.equal((await call(RUN, high)).status, 200);
    assertProblem(await (await by({ sub: 'calm' }))(RUN, high), 403);
    OUTSIDE.door = gate();
    const inside = call();
    await until('it is inside', () => OUTSIDE.counts.inside === 1);
    assertLimited(await call(), 'max_running', 1);
    assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    await until('a queued run is inside, too', () => OUTSIDE.counts.inside === 2);
    OUTSIDE.door.open();
    assert.equal((await inside).status, 200);
});

test('a subject from outside has no more runs in the queue than max_queued', async (t) => {
    const { doors, counts, app } = waiting();
    const secret = makeSecret();
    const env = { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_JWT_SECRET: secret, HOOKLINE_JWT_LIMITS: 'max_queued=1' };
    const { as } = await locked(t, {}, { app, env });
    const accept = as(await sign(secret, { sub: 'me' }));
    const query = { async: 'true' };
    assert.equal((await accept(RUN, { query })).status, 202);
    await until('it is inside', () => counts.inside === 1);
    assert.equal((await accept(RUN, { query })).status, 202);
    assertLimited(await accept(RUN, { query }), 'max_queued', 1);
    assert.equal((await as(await sign(secret, { sub: 'you' }))(RUN, { query })).status, 202);
    doors.open();
    await until('all have run', () => counts.started.length === 3);
});

test('a claim that is no limit makes a token 401 by its name, and nothing comes to the app', async (t) => {
    const { by } = await outside(t);
    const before = OUTSIDE.counts.asked;
    for (const [claim, value, limit] of [
        [OUTSIDE.rate, 100, 'rate'],
        [OUTSIDE.rate, null, 'rate'],
        ['running', '4', 'max_running'],
        ['queued', 0, 'max_queued'],
        ['class', 'urgent', 'max_priority'],
    ]) {
        const refused = await (await by({ sub: 'wrong', [claim]: value }))();
        assertProblem(refused, 401);
        assert.match(refused.json().detail, new RegExp(`claim for ${limit} \\(HOOKLINE_JWT_LIMIT_CLAIMS\\)`));
    }
    assert.equal(OUTSIDE.counts.asked, before);
});
