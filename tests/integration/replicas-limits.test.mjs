// Limits of an account with replicas: changed at one they hold at the others; the queue's are shared.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { control } from './lib/rest.mjs';
import { startSidecar } from './lib/sidecar.mjs';
import { RUN, assertProblem, caller, stage } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const ACCOUNTS = '/v2/projects/p/service-accounts';

/** Two replicas with one app, and an account with those limits; `call` and `callNear` use its token. */
async function pair(t, limits, { app, env = {} } = {}) {
    const database = await postgres(t);
    const shared = { ...database.env, HOOKLINE_AUTH: 'jwt', ...env };
    const all = await stage(t, { app, env: { ...shared, HOOKLINE_REPLICA: 'far' } });
    const near = await startSidecar(t, { env: { HOOKLINE_APP_URL: all.app.url, ...shared, HOOKLINE_REPLICA: 'near' } });
    const body = { name: 'ci', expires_at: new Date(Date.now() + 3_600_000).toISOString(), ...limits };
    const made = await control(near)('POST', ACCOUNTS, { body });
    assert.equal(made.status, 201, made.text);
    const { id, token } = made.json();
    const with_ = (call) => (options = {}) =>
        call(RUN, { body: '{}', ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } });
    const change = async (to) => {
        const answer = await control(near)('PATCH', `${ACCOUNTS}/${id}`, { body: to });
        assert.equal(answer.status, 200, answer.text);
        return answer.json();
    };
    return { ...all, near, far: all.sidecar, id, change, call: with_(all.call), callNear: with_(caller(t, near)) };
}

test('limits that are changed at one replica hold at another, though it knows the token', async (t) => {
    const { far, call, callNear, change } = await pair(t, { max_priority: 'low' });
    for (let i = 0; i < 3; i++) assert.equal((await call()).status, 200);
    const changed = await change({ rate: '1/d', max_running: 5 });
    const [row] = (await control(far)('GET', ACCOUNTS)).json().service_accounts;
    assert.deepEqual({ ...row, last_used_at: null }, { ...changed, last_used_at: null });
    assert.equal(row.max_priority, 'low');
    let refused;
    await until('far has heard of it', async () => (refused = await call()).status === 429);
    assertProblem(refused, 429);
    assert.match(refused.headers.ratelimit, /^"default";r=0;t=\d+$/);
    assert.equal((await callNear()).status, 200, 'rate is a replica\'s own');
    assert.equal((await callNear()).status, 429);
    await change({ rate: null });
    assert.equal((await callNear()).status, 200, 'at once where it was asked for');
    await until('far has heard of it', async () => (await call()).status === 200);
});

test('max_queued is of all replicas together; a known key is answered by either', async (t) => {
    const doors = gate();
    let inside = 0;
    const app = async (x) => {
        inside++;
        await x.body();
        await doors.promise;
        await x.send(200, {}, 'ok');
    };
    const { call, callNear } = await pair(t, { max_queued: 2 }, { app, env: { HOOKLINE_ASYNC_CONCURRENCY: '1' } });
    const accept = (with_, key) => with_({ query: { async: 'true' }, headers: key ? { 'idempotency-key': key } : {} });
    assert.equal((await accept(call)).status, 202);
    assert.equal((await accept(callNear)).status, 202);
    await until('one is inside at each', () => inside === 2);
    const first = await accept(call, 'k');
    assert.equal(first.status, 202);
    assert.equal((await accept(callNear)).status, 202);
    for (const with_ of [call, callNear]) {
        for (const key of [undefined, 'new']) {
            const refused = await accept(with_, key);
            assertProblem(refused, 429);
            assert.equal(refused.headers['ratelimit-policy'], '"max_queued";q=2');
            assert.equal(refused.headers.ratelimit, '"max_queued";r=0');
        }
        assert.equal((await accept(with_, 'k')).json().run_id, first.json().run_id);
    }
    doors.open();
    await until('there is room again', async () => (await accept(call, 'new')).status === 202);
});

test('max_running of queued runs is of all replicas together', async (t) => {
    let inside = 0;
    let most = 0;
    let ended = 0;
    const app = async (x) => {
        most = Math.max(most, ++inside);
        await x.body();
        await sleep(20);
        inside--;
        ended++;
        await x.send(200, {}, 'ok');
    };
    const { call, callNear, change } = await pair(t, { max_running: 2 }, { app });
    const accept = async (with_) => assert.equal((await with_({ query: { async: 'true' } })).status, 202);
    await accept(call);
    await until('far knows the account', () => ended === 1);
    await Promise.all(Array.from({ length: 24 }, (_, i) => accept(i % 2 ? call : callNear)));
    await until('all have run', () => ended === 25);
    assert.ok(most <= 2, `${most}`);
    await change({ max_running: null });
    await accept(call);
    await until('it has run', () => ended === 26);
});
