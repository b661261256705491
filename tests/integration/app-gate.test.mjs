// The health gate: nothing goes into an app before it says that it is ready, and no run is claimed for one that takes no calls.
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { fleet } from './lib/replicas.mjs';
import { control } from './lib/rest.mjs';
import { request } from './lib/raw.mjs';
import { startServer } from './lib/server.mjs';
import { freePort, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, assertProblem, caller, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const LOADING = fileURLToPath(new URL('apps/loading.mjs', import.meta.url));
const HEALTH = { HOOKLINE_APP_HEALTH_PATH: '/health' };
const ALWAYS = { ...HEALTH, HOOKLINE_APP_HEALTH_GATE: 'always' };
const ASYNC = { query: { async: 'true' } };
const UPGRADE = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': 13,
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

const waiting = (sidecar) => sidecar.metric('hookline_app_gate_waiting');
const queued = (sidecar) => sidecar.metric('hookline_runs_queued');
const isOpen = (sidecar) => sidecar.metric('hookline_app_gate_open');
const shut = (sidecar) => sidecar.logged((l) => l.msg === 'the health gate is shut: calls wait');

/**
 * A model as an app: `health` is what its health path answers (`null`: nothing), `calls` what went into it, `checks` how
 * often it was asked. Calls are answered with their path, or with `answer(exchange)`.
 */
class Model {
    health = 503;
    checks = 0;
    calls = [];

    constructor(answer) {
        this.answer = answer ?? ((x) => x.send(200, {}, x.path));
        this.handle = this.handle.bind(this);
    }

    async handle(x) {
        if (x.path === '/health') {
            this.checks++;
            return this.health ? x.send(this.health) : x.gone.then(() => x.end());
        }
        this.calls.push(x.path);
        if (x.head.has('upgrade')) {
            await x.respond(101, { Connection: 'Upgrade', Upgrade: 'websocket' });
            return x.take();
        }
        await x.body();
        await this.answer(x);
    }

    /** Until it was asked `n` times more: what was found the first n-1 times is known. */
    async asked(n = 3) {
        const before = this.checks;
        await until(`${n} checks`, () => this.checks >= before + n);
    }
}

async function stageModel(t, { model = new Model(), ...options }) {
    const context = await stage(t, { app: model.handle, ...options });
    return { model, ...context };
}

// ---- start ----

for (const store of ['sqlite', 'memory', 'postgres']) {
    test(`${store}: a model that loads gets no call of any kind, and then all of them at once`, async (t) => {
        const database = store === 'postgres' ? await postgres(t) : { env: { HOOKLINE_STORE: store } };
        const { model, sidecar, call, connect } = await stageModel(t, {
            env: { ...HEALTH, ...database.env },
            wait: 'healthz',
        });
        const sync = [call(), call('/v4/p/a/other'), call('/passed')];
        const upgrade = await connect();
        await upgrade.send(request('GET', '/v4/p/a/socket', UPGRADE));
        const { status, id } = await until('an asynchronous call is accepted', async () => {
            const accepted = await call(RUN, { ...ASYNC, body: 'later' });
            return accepted.status !== 503 && accepted; // PostgreSQL is being opened
        });
        assert.equal(status, 202);
        await until('all wait', async () => (await waiting(sidecar)) === 4 && (await queued(sidecar)) === 1);
        await model.asked();
        assert.deepEqual(model.calls, []);
        assert.equal(await isOpen(sidecar), 0);
        assert.equal((await sidecar.admin('/readyz')).status, 503);
        assert.equal((await control(sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}`)).json().state, 'queued');
        model.health = 200;
        for (const { status } of await Promise.all(sync)) assert.equal(status, 200);
        assert.equal((await upgrade.response()).status, 101);
        await until('the run', () => model.calls.length === 5);
        assert.deepEqual([...model.calls].sort(), ['/other', '/passed', '/run', '/run', '/socket']);
        assert.equal(await isOpen(sidecar), 1);
        assert.equal(await waiting(sidecar), 0);
        await sidecar.logged((l) => l.msg === 'the health gate is open');
    });
}

test('a call that has waited for HOOKLINE_CONNECT_TIMEOUT is 503 with Retry-After; an asynchronous one goes on waiting', async (t) => {
    const { model, sidecar, call } = await stageModel(t, {
        env: { ...HEALTH, HOOKLINE_CONNECT_TIMEOUT: '300ms' },
        wait: 'healthz',
    });
    assert.equal((await call(RUN, ASYNC)).status, 202);
    await model.asked();
    const response = await call();
    const { detail } = assertProblem(response, 503);
    assert.match(response.headers['retry-after'], /^[0-9]+$/);
    assert.match(detail, /HOOKLINE_APP_HEALTH_PATH.*HOOKLINE_CONNECT_TIMEOUT.*503/);
    assert.match((await sidecar.admin('/readyz')).text, /503.*HOOKLINE_APP_HEALTH_PATH/);
    assert.deepEqual(model.calls, []);
    model.health = 200;
    await until('the run', () => model.calls.length === 1);
});

test('with HOOKLINE_APP_CONCURRENCY those who wait hold no slot, and go on one after the other', async (t) => {
    const { model, sidecar, call } = await stageModel(t, {
        env: { ...HEALTH, HOOKLINE_APP_CONCURRENCY: '1' },
        wait: 'healthz',
    });
    const calls = [1, 2, 3].map(() => call(RUN, { body: 'x' }));
    assert.equal((await call(RUN, ASYNC)).status, 202);
    await until('all wait', async () => (await waiting(sidecar)) === 3 && (await queued(sidecar)) === 1);
    assert.equal(await sidecar.metric('hookline_app_slots_in_use'), 0);
    model.health = 200;
    for (const { status } of await Promise.all(calls)) assert.equal(status, 200);
    await until('the run', () => model.calls.length === 4);
});

test('off: calls and runs go in, whatever the health path says', async (t) => {
    const { model, call, sidecar } = await stageModel(t, {
        env: { ...HEALTH, HOOKLINE_APP_HEALTH_GATE: 'off' },
        wait: 'healthz',
    });
    assert.equal((await call()).status, 200);
    assert.equal((await call(RUN, ASYNC)).status, 202);
    await until('both', () => model.calls.length === 2);
    assert.equal((await sidecar.admin('/readyz')).status, 503);
});

test('always without a health path stops the start with one line', async (t) => {
    const { code, stderr } = await run(['serve'], {
        HOOKLINE_APP_HEALTH_GATE: 'always',
        HOOKLINE_DATA_DIR: await temporaryDirectory(t),
    });
    assert.equal(code, 2);
    assert.match(stderr, /^[^\n]*HOOKLINE_APP_HEALTH_GATE[^\n]*HOOKLINE_APP_HEALTH_PATH[^\n]*\n$/);
});

// ---- another start ----

test('the app that hookline starts again gets no call before it has said 2xx again', async (t) => {
    const loaded = join(await temporaryDirectory(t), 'loaded');
    await writeFile(loaded, '');
    const sidecar = await startSidecar(t, {
        env: {
            ...HEALTH,
            HOOKLINE_APP_URL: `http://127.0.0.1:${await freePort()}`,
            HOOKLINE_APP_COMMAND: JSON.stringify([process.execPath, LOADING]),
            TEST_LOADED: loaded,
        },
    });
    const call = caller(t, sidecar);
    const first = (await call()).json();
    await rm(loaded);
    assert.equal((await call('/exit')).status, 502);
    await shut(sidecar);
    const later = call();
    assert.equal((await call(RUN, ASYNC)).status, 202);
    await until('both wait', async () => (await waiting(sidecar)) === 1 && (await queued(sidecar)) === 1);
    await until('the next one listens', async () => /answers with 503/.test((await sidecar.admin('/readyz')).text));
    assert.equal(await isOpen(sidecar), 0);
    await writeFile(loaded, '');
    const second = (await later).json();
    assert.notEqual(second.pid, first.pid);
    assert.equal(second.isEarly, false);
    await until('the run', async () => (await queued(sidecar)) === 0);
});

test('a refused connection shuts it: what listens there next is asked first', async (t) => {
    const model = new Model();
    model.health = 200;
    const port = await freePort();
    const first = await startServer(t, model.handle, port);
    const sidecar = await startSidecar(t, { env: { ...HEALTH, HOOKLINE_APP_URL: `http://127.0.0.1:${port}` } });
    const call = caller(t, sidecar);
    assert.equal((await call()).status, 200);
    await first.close();
    const later = [call(), call()];
    await shut(sidecar);
    const second = new Model();
    await startServer(t, second.handle, port);
    await second.asked();
    assert.deepEqual(second.calls, []);
    second.health = 200;
    for (const { status } of await Promise.all(later)) assert.equal(status, 200);
    assert.equal(second.calls.length, 2);
});

// ---- always ----

test('always: three bad checks in a row shut it, a good one opens it', async (t) => {
    const model = new Model();
    model.health = 200;
    const { sidecar, call } = await stageModel(t, { model, env: ALWAYS });
    assert.equal((await call()).status, 200);
    model.health = 503;
    await shut(sidecar);
    const calls = model.calls.length;
    const later = call();
    await until('it waits', async () => (await waiting(sidecar)) === 1);
    await model.asked();
    assert.equal(model.calls.length, calls);
    model.health = 200;
    assert.equal((await later).status, 200);
});

test('start: bad checks do not shut what was open once', async (t) => {
    const model = new Model();
    model.health = 200;
    const { sidecar, call } = await stageModel(t, { model, env: HEALTH });
    model.health = 503;
    await until('it is not ready', async () => (await sidecar.admin('/readyz')).status === 503);
    assert.equal((await call()).status, 200);
    assert.equal((await call(RUN, ASYNC)).status, 202);
    await until('the run', () => model.calls.length === 2);
});

test('always: checks that time out while a call is inside are no verdict, another status is one', { waits: true }, async (t) => {
    const doors = gate();
    const model = new Model(async (x) => {
        if (x.get('x-held')) await doors.promise;
        await x.send(200);
    });
    model.health = 200;
    const { sidecar, call } = await stageModel(t, { model, env: ALWAYS });
    const held = call(RUN, { headers: { 'x-held': '1' } });
    await until('it is inside', () => model.calls.length === 1);
    model.health = null;
    await model.asked(5);
    assert.equal(await isOpen(sidecar), 1);
    assert.equal((await call()).status, 200, 'others go in');
    model.health = 503;
    await shut(sidecar);
    doors.open();
    assert.equal((await held).status, 200, 'who is inside stays');
});

// ---- claims ----

test('postgres: the replica whose app is dead claims nothing, the other one runs the queue', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_WORKERS: '2' } });
    const dead = await all.add('dead', { hasApp: false });
    const loading = await all.add('loading', { env: HEALTH, wait: 'healthz', hasApp: false });
    await until('both know the database', async () => (await dead.call(RUN, ASYNC)).status === 202);
    const ids = [];
    for (let i = 0; i < 10; i++) ids.push(await dead.begin(), await loading.begin());
    await until('all wait', async () => (await all.count('~.ticket WHERE node_id IS NULL')) === 21);
    const alive = await all.add('alive');
    for (const id of ids) {
        const run = await alive.finished(id);
        assert.deepEqual([run.state, run.attempts], ['success', 1]);
        assert.equal(all.calls(id), 1);
    }
    assert.deepEqual(await all.rows('SELECT DISTINCT replica, epoch FROM ~.run'), [{ replica: 'alive', epoch: 1 }]);
});

test('postgres: what was claimed for an app that dies goes to another replica', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a');
    const b = await all.add('b');
    await a.app.close();
    const ids = await Promise.all(Array.from({ length: 20 }, () => a.begin()));
    for (const id of ids) {
        assert.equal((await b.finished(id)).state, 'success');
        assert.equal(all.calls(id), 1);
    }
    assert.equal(b.app.requests.length, 20);
});

test('postgres: a run that waits for a replica that takes calls is not ended by one that takes none', { waits: true }, async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_APP_START_TIMEOUT: '9s', HOOKLINE_ASYNC_CONCURRENCY: '1' } });
    const alive = await all.add('alive');
    await alive.called(await alive.begin({ isHeld: true }));
    const dead = await all.add('dead', { hasApp: false });
    const id = await dead.begin();
    const at = Date.parse((await dead.show(id)).created_at);
    await until('it has waited for longer', () => Date.now() - at > 15_000);
    assert.equal((await dead.show(id)).state, 'queued');
    await alive.sidecar.stop();
    const run = await dead.finished(id);
    assert.deepEqual([run.state, run.reason], ['failure', 'upstream_unreachable']);
});
