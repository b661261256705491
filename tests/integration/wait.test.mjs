// Waiting for a run's end: Prefer: wait=N on a call, ?wait=N on runs and results, Location on each 202.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from './lib/case.mjs';
import { request } from './lib/raw.mjs';
import { fleet } from './lib/replicas.mjs';
import { assertRefused, control, rest } from './lib/rest.mjs';
import { RUN, UUID_V7, assertProblem, stage } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const ASYNC = { async: 'true' };
const wait = (n, more = '') => ({ prefer: `wait=${n}${more}` });
const pathOf = (id) => `/v2/projects/p/apps/a/runs/${id}`;

/** An app that answers when it is told to. */
function waiting(answer = (x) => x.send(200, { 'Content-Type': 'text/own' }, 'done')) {
    const doors = gate();
    const app = async (x) => {
        await x.body();
        await doors.promise;
        await answer(x);
    };
    return { doors, app };
}

const STORES = { memory: { HOOKLINE_STORE: 'memory' }, sqlite: {} };

test('each 202 says where its run is', async (t) => {
    const { call, sidecar } = await stage(t);
    for (const options of [{ query: ASYNC }, { headers: { prefer: 'respond-async' } }, { headers: wait(0) }]) {
        const answer = await call(RUN, options);
        assert.equal(answer.status, 202);
        assert.equal(answer.headers.location, pathOf(answer.id));
        assert.equal((await rest(sidecar)('GET', answer.headers.location)).status, 200);
    }
});

test('HOOKLINE_PUBLIC_URL makes Location absolute', async (t) => {
    const { call } = await stage(t, { env: { HOOKLINE_PUBLIC_URL: 'https://api.example.com/hooks/' } });
    const answer = await call(RUN, { query: ASYNC });
    assert.equal(answer.headers.location, `https://api.example.com/hooks${pathOf(answer.id)}`);
});

for (const [name, env] of Object.entries(STORES))
    test(`a call that waits gets the app’s response, and is a run like any other: ${name}`, async (t) => {
        const { app, call, sidecar } = await stage(t, {
            env,
            app: async (x) => {
                const body = await x.body();
                await sleep(50);
                await x.send(418, { 'Content-Type': 'text/own', 'Content-Encoding': 'own' }, `got ${body}`);
            },
        });
        const answer = await call(RUN, { headers: wait(20), body: 'it' });
        assert.equal(answer.status, 418);
        assert.equal(answer.text, 'got it');
        assert.equal(answer.headers['content-type'], 'text/own');
        assert.equal(answer.headers['content-encoding'], 'own');
        assert.equal(answer.headers['preference-applied'], 'wait=20');
        assert.equal(app.requests[0].id, answer.id);
        assert.equal(app.requests[0].get('x-run-attempt'), '1');
        const record = (await control(sidecar)('GET', pathOf(answer.id))).json();
        assert.deepEqual([record.state, record.reason, record.async], ['failure', 'app_error', true]);
        await until('nobody waits', async () => (await sidecar.metric('hookline_waiters')) === 0);
    });

test('a response without a body or a type is passed on without', async (t) => {
    const { call } = await stage(t, { app: async (x) => x.send(204) });
    const answer = await call(RUN, { headers: wait(20) });
    assert.deepEqual([answer.status, answer.text, answer.headers['content-type']], [204, '', undefined]);
});

test('a response with a type and without a body keeps its type, also as a result', async (t) => {
    const { call, sidecar } = await stage(t, { app: async (x) => x.send(200, { 'Content-Type': 'text/own' }, '') });
    const answer = await call(RUN, { headers: wait(20) });
    assert.deepEqual([answer.status, answer.headers['content-type'], answer.text], [200, 'text/own', '']);
    const result = await control(sidecar)('GET', `${pathOf(answer.id)}/result`);
    assert.deepEqual([result.status, result.headers['content-type'], result.text], [200, 'text/own', '']);
});

test('a HEAD that waits is not told another length than the app’s', async (t) => {
    const app = async (x) => x.send(200, { 'Content-Type': 'text/own', 'Content-Length': 12 });
    const { connect } = await stage(t, { app });
    const client = await connect();
    await client.send(request('HEAD', '/v4/p/a/other', wait(20)));
    const head = await client.response('HEAD');
    assert.deepEqual(
        [head.status, head.get('content-type'), head.get('content-length')],
        [200, 'text/own', undefined],
    );
});

test('a long response comes whole', async (t) => {
    const bytes = randomBytes(5 << 20);
    const { call } = await stage(t, { app: async (x) => x.send(200, {}, bytes) });
    const answer = await call(RUN, { headers: wait(30) });
    assert.equal(answer.status, 200);
    assert.ok(answer.body.equals(bytes));
});

test('who waits gets his response while others call on the same worker', async (t) => {
    const { call } = await stage(t, { env: { HOOKLINE_WORKERS: '1' } });
    const garbage = Buffer.alloc(16_000, 0x80);
    const others = async () => {
        for (let i = 0; i < 20; i++) assert.equal((await call('/v4/p/a/other', { body: garbage })).status, 200);
    };
    const waits = async () => {
        for (let i = 0; i < 20; i++) assert.equal((await call(RUN, { headers: wait(20), body: 'it' })).status, 200);
    };
    await Promise.all([...Array(4).keys()].flatMap(() => [others(), waits()]));
});

test('whose time is over gets the 202, and the run goes on', async (t) => {
    const { doors, app } = waiting();
    const { call, sidecar } = await stage(t, { app });
    const answer = await call(RUN, { headers: wait(1) });
    assert.equal(answer.status, 202);
    assert.ok(answer.ms >= 900, `${answer.ms}`);
    assert.equal(answer.text, `{"run_id":"${answer.id}"}`);
    assert.equal(answer.headers.location, pathOf(answer.id));
    doors.open();
    const result = await rest(sidecar)('GET', `${answer.headers.location}/result?wait=20`);
    assert.deepEqual([result.status, result.text], [200, 'done']);
});

test('what ends without a response is said: 504, 502, 410', async (t) => {
    const { doors, app } = waiting(async (x) => x.raw('garbage\r\n\r\n'));
    const { call, sidecar } = await stage(t, { app });
    const late = await call(RUN, { headers: { ...wait(20), 'x-run-timeout': '200ms' } });
    assert.match(assertProblem(late, 504).detail, /timeout/);
    assert.equal(late.headers['preference-applied'], 'wait=20');
    const cancelled = call(RUN, { headers: wait(20) });
    const runs = () => control(sidecar)('GET', '/v2/projects/p/runs?state=running');
    await until('it runs', async () => (await runs()).json().runs.length === 1);
    const [{ run_id: id }] = (await runs()).json().runs;
    assert.equal((await control(sidecar)('POST', `${pathOf(id)}/cancel`)).status, 202);
    assertProblem(await cancelled, 410);
    doors.open();
    assert.match(assertProblem(await call(RUN, { headers: wait(20) }), 502).detail, /bad_response/);
});

test('a response that was not kept is 502 with the run’s place', async (t) => {
    const { call } = await stage(t, {
        env: { HOOKLINE_MAX_KEPT_RESPONSE: '10' },
        app: async (x) => x.send(200, {}, 'more than ten bytes'),
    });
    const answer = await call(RUN, { headers: wait(20) });
    assertProblem(answer, 502);
    assert.equal(answer.headers.location, pathOf(answer.id));
});

test('who else asked for: async=true, event streams, upgrades; and what cannot be used', async (t) => {
    const { call } = await stage(t);
    const now = await call(RUN, { query: ASYNC, headers: wait(20) });
    assert.equal(now.status, 202);
    assert.equal((await call(RUN, { query: { async: 'false' }, headers: wait(20) })).headers['preference-applied'], undefined);
    const stream = { ...wait(20), accept: 'application/json, text/event-stream;q=0.9' };
    assert.equal((await call(RUN, { headers: stream })).headers['preference-applied'], undefined);
    for (const prefer of ['wait', 'wait=', 'wait=-1', 'wait=x', 'wait=1.5', 'wait="x"', 'handling=strict']) {
        const answer = await call(RUN, { headers: { prefer } });
        assert.deepEqual([answer.status, answer.headers['preference-applied']], [200, undefined], prefer);
    }
    for (const prefer of ['respond-async, wait=20', 'wait="20"', 'WAIT=20;x=1', 'handling=strict, wait = 20, wait=1']) {
        const answer = await call(RUN, { headers: { prefer } });
        assert.deepEqual([answer.status, answer.headers['preference-applied']], [200, 'wait=20'], prefer);
    }
    const most = await call(RUN, { headers: wait('99999999999999999999') });
    assert.equal(most.headers['preference-applied'], 'wait=60');
});

test('a known Idempotency-Key waits for that run', async (t) => {
    const { doors, app: handler } = waiting();
    const { app, call } = await stage(t, { app: handler });
    const headers = { ...wait(20), 'idempotency-key': 'k' };
    const both = [call(RUN, { headers }), call(RUN, { headers })];
    await until('one has begun', () => app.requests.length === 1);
    await sleep(100);
    doors.open();
    const [a, b] = await Promise.all(both);
    assert.deepEqual([a.text, b.text, a.id], ['done', 'done', b.id]);
    assert.match(a.id, UUID_V7);
    assert.equal((await call(RUN, { headers })).id, a.id);
    assert.equal(app.requests.length, 1);
});

test('a caller that leaves leaves its run, and waits no more', async (t) => {
    const { doors, app: handler } = waiting();
    const { app, connect, sidecar } = await stage(t, { app: handler });
    const client = await connect();
    await client.send(request('POST', RUN, wait(60), '{}'));
    await until('it waits', async () => (await sidecar.metric('hookline_waiters')) === 1);
    client.reset();
    await until('nobody waits', async () => (await sidecar.metric('hookline_waiters')) === 0);
    await until('it runs', () => app.requests.length === 1);
    doors.open();
    const ended = async () => (await control(sidecar)('GET', pathOf(app.requests[0].id))).json().state;
    await until('it has ended well', async () => (await ended()) === 'success');
});

for (const admin of [false, true])
    test(`?wait answers when the run is final or the time is over, admin: ${admin}`, async (t) => {
        const { doors, app } = waiting();
        const { call, sidecar } = await stage(t, { app });
        const ask = rest(sidecar, { admin });
        const { id } = await call(RUN, { query: ASYNC });
        const early = await ask('GET', `${pathOf(id)}?wait=1`);
        assert.deepEqual([early.status, early.json().state], [200, 'running']);
        assertRefused(await ask('GET', `${pathOf(id)}/result?wait=1`), 409);
        const asked = [ask('GET', `${pathOf(id)}?wait=30`), ask('GET', `${pathOf(id)}/result?wait=30`)];
        await until('both wait', async () => (await sidecar.metric('hookline_waiters')) === 2);
        doors.open();
        const [record, result] = await Promise.all(asked);
        assert.deepEqual([record.status, record.json().state], [200, 'success']);
        assert.deepEqual([result.status, result.text], [200, 'done']);
        for (const value of ['', '-1', 'x', '1.5', '1s', '0x1']) {
            assertRefused(await ask('GET', `${pathOf(id)}?wait=${value}`), 400, /wait/);
            assertRefused(await ask('GET', `${pathOf(id)}/result?wait=${value}`), 400, /wait/);
        }
        assertRefused(await ask('GET', `${pathOf(id)}?wait=1&wait=1`), 400, /wait/);
    });

test('a queued run that is cancelled, or expires, wakes who waits for it', async (t) => {
    const { doors, app: handler } = waiting();
    const { app, call, sidecar } = await stage(t, { app: handler, env: { HOOKLINE_ASYNC_CONCURRENCY: '1' } });
    await call(RUN, { query: ASYNC });
    await until('one runs', () => app.requests.length === 1);
    const { id } = await call(RUN, { query: ASYNC });
    const asked = control(sidecar)('GET', `${pathOf(id)}?wait=60`);
    await until('it waits', async () => (await sidecar.metric('hookline_waiters')) === 1);
    await control(sidecar)('POST', `${pathOf(id)}/cancel`);
    assert.equal((await asked).json().state, 'cancelled');
    const late = await call(RUN, { headers: { ...wait(60), 'x-run-start-timeout': '200ms' } });
    assert.match(assertProblem(late, 504).detail, /expired/);
    doors.open();
});

test('beyond HOOKLINE_MAX_WAITERS nobody waits', async (t) => {
    const { doors, app } = waiting();
    const { call, sidecar } = await stage(t, { app, env: { HOOKLINE_MAX_WAITERS: '2' } });
    const waiters = [call(RUN, { headers: wait(60) }), call(RUN, { headers: wait(60) })];
    await until('both wait', async () => (await sidecar.metric('hookline_waiters')) === 2);
    const third = await call(RUN, { headers: wait(60) });
    assert.equal(third.status, 202);
    assert.equal((await control(sidecar)('GET', `${pathOf(third.id)}?wait=60`)).json().state, 'running');
    doors.open();
    for (const { status } of await Promise.all(waiters)) assert.equal(status, 200);
});

test('who waits is answered when the listener closes', async (t) => {
    const { doors, app } = waiting();
    const { call, sidecar } = await stage(t, { app, env: { HOOKLINE_SHUTDOWN_DELAY: '0' } });
    const waiter = call(RUN, { headers: wait(60) });
    await until('it waits', async () => (await sidecar.metric('hookline_waiters')) === 1);
    sidecar.signal('SIGTERM');
    assert.equal((await waiter).status, 202);
    doors.open();
    assert.equal((await sidecar.exited()).code, 0);
});

test('on PostgreSQL any replica’s end wakes who waits at another', async (t) => {
    const doors = gate();
    const all = await fleet(t, {
        app: async (x) => {
            await x.body();
            await doors.promise;
            await x.send(200, {}, 'done');
        },
    });
    const [a, b] = [await all.add('a', { env: { HOOKLINE_ASYNC_CONCURRENCY: '1' } }), await all.add('b')];
    const answers = [
        a.call(RUN, { headers: wait(30) }),
        a.call(RUN, { headers: wait(30) }),
        b.call(RUN, { headers: wait(30) }),
    ];
    const waiters = async () => (await a.sidecar.metric('hookline_waiters')) + (await b.sidecar.metric('hookline_waiters'));
    await until('all wait', async () => (await waiters()) === 3);
    const [{ id }] = await all.rows('SELECT run_id::text AS id FROM ~.ticket LIMIT 1');
    const asked = [a, b].map((one) => control(one.sidecar)('GET', `${pathOf(id)}?wait=30`));
    await until('all wait', async () => (await waiters()) === 5);
    doors.open();
    for (const answer of await Promise.all(answers)) assert.deepEqual([answer.status, answer.text], [200, 'done']);
    for (const answer of await Promise.all(asked)) assert.equal(answer.json().state, 'success');
});
