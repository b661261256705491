// Whether the app takes calls: what makes it ready, what ends that, and what is said about it.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { freePort, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { startServer } from './lib/server.mjs';
import { RUN, assertProblem, caller, stage } from './lib/stage.mjs';
import { connect, request } from './lib/raw.mjs';
import { gate, until } from './lib/until.mjs';

const ONE_AT_A_TIME = fileURLToPath(new URL('apps/one_at_a_time.py', import.meta.url));
const PLAIN = fileURLToPath(new URL('apps/plain.mjs', import.meta.url));
const HEALTH = { HOOKLINE_APP_HEALTH_PATH: '/health' };

const notReady = (sidecar) => sidecar.log.filter((l) => l.msg === 'the app is not ready');
const isReady = (sidecar) => sidecar.log.filter((l) => l.msg === 'the app is ready');
const starts = (sidecar) => sidecar.log.filter((l) => l.msg === 'the app was started');

/** Waits until /readyz of each listener is 503 with that cause; an app that is started again and again has several. */
async function untilCause(sidecar, cause) {
    for (const [listener, ask] of [
        ['the admin listener', () => sidecar.admin('/readyz')],
        ['the run listener', () => probe(`${sidecar.url}/_hookline/readyz`)],
    ])
        await until(`/readyz of ${listener} says ${cause}`, async () => {
            const { status, text } = await ask();
            return status === 503 && cause.test(text);
        });
}

async function probe(url) {
    const response = await fetch(url);
    return { status: response.status, text: await response.text() };
}

test('an app that is busy with a call stays ready, though its health path does not answer', { waits: true }, async (t) => {
    const doors = gate();
    let isBusy = false;
    let unanswered = 0;
    const { call, sidecar } = await stage(t, {
        env: HEALTH,
        app: async (x) => {
            if (x.path !== '/health') {
                isBusy = true;
                await doors.promise;
                isBusy = false;
                return x.send(200, {}, 'done');
            }
            if (!isBusy) return x.send(200);
            await x.gone;
            unanswered++;
            x.end();
        },
    });
    const pending = call();
    await until('four checks were given up', () => unanswered >= 4);
    assert.equal((await sidecar.admin('/readyz')).status, 200);
    assert.deepEqual(notReady(sidecar), []);
    doors.open();
    assert.equal((await pending).text, 'done');
});

test('two bad checks do not end readiness, three in a row do, one good one is enough', { waits: true }, async (t) => {
    let answers = [200];
    let bad, from, before;
    const checks = []; // when they came
    const { sidecar } = await stage(t, {
        env: HEALTH,
        app: async (x) => {
            const status = answers.length > 1 ? answers.shift() : answers[0];
            checks.push(performance.now());
            if (status !== 200) bad++;
            await x.send(status);
        },
    });
    do {
        await sidecar.until('readyz');
        [bad, from, before] = [0, checks.length - 1, notReady(sidecar).length];
        answers = [503, 503, 200, 503, 503, 200];
        await until('they have been given, and another one', () => checks.length > from + 7);
        // They take five seconds. One that is given up, which takes two more, is a bad one whatever it would have been.
    } while (checks[from + 7] - checks[from] > 6000);
    assert.equal(bad, 4);
    assert.equal(notReady(sidecar).length, before);
    answers = [503];
    await untilCause(sidecar, /503/);
    assert.ok(bad >= 7, `${bad}`);
    answers = [200];
    await sidecar.until('readyz');
    await until('it is logged', () => notReady(sidecar).length > before);
    assert.equal(notReady(sidecar).length, before + 1);
});

test('why the app cannot be reached is in the log once, in /readyz and in the 502', async (t) => {
    const port = await freePort();
    const { call, sidecar } = await stage(t, {
        app: null,
        env: {
            HOOKLINE_APP_URL: `http://127.0.0.1:${port}`,
            HOOKLINE_CONNECT_TIMEOUT: '2s',
        },
    });
    await untilCause(sidecar, /connection refused.*HOOKLINE_APP_URL/);
    const { detail } = assertProblem(await call(), 502);
    assert.match(detail, /HOOKLINE_CONNECT_TIMEOUT: .*connection refused/);
    assert.doesNotMatch(detail, new RegExp(`${port}|127\\.0`));
    await until('it is in the log', () => notReady(sidecar).length > 0);
    assert.equal(notReady(sidecar).length, 1, 'some ten checks later');
    assert.match(notReady(sidecar)[0].cause, /connection refused/);
    await startServer(t, (x) => x.send(200), port);
    await sidecar.until('readyz');
    await until('that it is ready is in the log', () => isReady(sidecar).length === 1);
    assert.equal(notReady(sidecar).length, 1);
});

for (const [what, env, cause] of [
    ['a health path that is not there', HEALTH, /404.*HOOKLINE_APP_HEALTH_PATH/],
    [
        'a socket that is not there',
        { HOOKLINE_APP_URL: 'unix:/nonexistent/app.sock' },
        /unix socket does not exist/,
    ],
    [
        'a name that does not resolve',
        { HOOKLINE_APP_URL: `http://${'a'.repeat(64)}:8000` },
        /does not resolve|no name server/,
    ],
]) {
    test(`${what} is named by the log and by /readyz`, async (t) => {
        const { call, sidecar } = await stage(t, {
            app: (x) => x.send(x.path === '/health' ? 404 : 200),
            env: { HOOKLINE_CONNECT_TIMEOUT: '2s', ...env },
            wait: 'healthz',
        });
        await untilCause(sidecar, cause);
        await sidecar.logged((l) => l.msg === 'the app is not ready');
        assert.match(notReady(sidecar)[0].cause, cause);
        assert.equal(notReady(sidecar)[0].level, 'warn');
        const status = env === HEALTH ? 503 : 502;
        assert.match(assertProblem(await call(), status).detail, cause);
    });
}

test('a command that cannot be run is what the 502 of a call says', async (t) => {
    const { call } = await stage(t, {
        app: null,
        env: { HOOKLINE_APP_COMMAND: '/nonexistent', HOOKLINE_CONNECT_TIMEOUT: '300ms' },
    });
    await until('the 502 has it', async () =>
        /program of HOOKLINE_APP_COMMAND/.test(assertProblem(await call(), 502).detail),
    );
});

// ---- connections ----

/** An app that serves one connection at a time. */
async function serveOneAtATime(t, env) {
    return startSidecar(t, {
        env: {
            HOOKLINE_APP_URL: `http://127.0.0.1:${await freePort()}`,
            HOOKLINE_APP_COMMAND: JSON.stringify(['/usr/bin/python3', ONE_AT_A_TIME]),
            HOOKLINE_WORKERS: '4',
            ...env,
        },
    });
}

/** Calls one after the other, each on a connection of its own: they come to all workers. */
async function callAllWorkers(t, sidecar, calls) {
    for (let i = 0; i < calls; i++) {
        const client = await connect(t, sidecar);
        await client.send(request('POST', RUN, {}, `call ${i}`));
        const response = await client.response();
        assert.deepEqual([response.status, response.body.toString()], [200, `call ${i}`]);
        client.close();
    }
}

test('HOOKLINE_APP_KEEPALIVE=off: an app that serves one connection at a time answers calls and checks', async (t) => {
    const sidecar = await serveOneAtATime(t, { ...HEALTH, HOOKLINE_APP_KEEPALIVE: 'off' });
    await callAllWorkers(t, sidecar, 30);
    const call = caller(t, sidecar);
    const { status, id } = await call(RUN, { body: 'stored', query: { async: 'true' } });
    assert.equal(status, 202);
    await until('the stored run is over', () =>
        sidecar.log.some((l) => l.msg === 'run finished' && l.run_id === id && l.state === 'success'),
    );
    await callAllWorkers(t, sidecar, 10);
    assert.deepEqual(notReady(sidecar), []);
});

test('HOOKLINE_APP_KEEPALIVE=off: each request says Connection: close and has a connection of its own', async (t) => {
    const { call, app } = await stage(t, {
        app: (x) => x.send(200, {}, 'ok'),
        env: { HOOKLINE_APP_KEEPALIVE: 'off' },
    });
    for (let i = 0; i < 5; i++) assert.equal((await call()).text, 'ok');
    assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    await until('six requests', () => app.requests.length === 6);
    for (const { head } of app.requests) assert.equal(head.get('connection'), 'close');
    assert.equal(new Set(app.requests.map((x) => x.connection)).size, 6);
    await until('none is kept', () => app.openConnections === 0);
});

test('HOOKLINE_APP_CONCURRENCY=1: what another worker keeps gives way', async (t) => {
    const sidecar = await serveOneAtATime(t, { HOOKLINE_APP_CONCURRENCY: '1' });
    await callAllWorkers(t, sidecar, 40);
});

test('no more connections are kept than HOOKLINE_APP_CONCURRENCY, over all workers', async (t) => {
    const { app, sidecar } = await stage(t, {
        app: async (x) => x.send(200, {}, await x.body()),
        env: { HOOKLINE_APP_CONCURRENCY: '2', HOOKLINE_WORKERS: '4' },
    });
    for (let round = 0; round < 3; round++)
        await Promise.all([1, 2, 3, 4].map(() => callAllWorkers(t, sidecar, 10)));
    // A check comes and goes as a connection, too.
    await until('two are kept', () => app.openConnections <= 2);
    assert.ok(app.connections > 2);
});

// ---- a stranger on the app's port ----

for (const unix of [false, true]) {
    test(`another process at the app’s ${unix ? 'path' : 'port'} is not the app: not ready, no calls, and it is named`, async (t) => {
        const directory = await temporaryDirectory(t);
        const where = unix ? join(directory, 'app.sock') : 0;
        const stranger = await startServer(t, (x) => x.send(200, {}, 'stranger'), where);
        const sidecar = await startSidecar(t, {
            env: {
                HOOKLINE_APP_URL: stranger.url,
                HOOKLINE_APP_COMMAND: JSON.stringify([process.execPath, PLAIN]),
                HOOKLINE_CONNECT_TIMEOUT: '300ms',
            },
            wait: 'healthz',
        });
        const call = caller(t, sidecar);
        await untilCause(sidecar, /another process is listening/);
        const said = await sidecar.logged((l) => /another process/.test(l.cause));
        assert.equal(said.level, 'error');
        if (!unix) assert.equal(said.its_pid, process.pid);
        await until('it cannot listen, again and again', () => starts(sidecar).length >= 3);
        const response = await call();
        assert.match(assertProblem(response, 502).detail, /another process|ended|started again/);
        assert.deepEqual(isReady(sidecar), []);
        assert.equal(stranger.requests.length, 0);
        await stranger.close();
        await sidecar.until('readyz');
        assert.equal((await call('/self', { method: 'GET' })).status, 200);
    });
}

test('a stranger is not the app either while ours lives and does not listen', async (t) => {
    const stranger = await startServer(t, (x) => x.send(200, {}, 'stranger'));
    const sidecar = await startSidecar(t, {
        env: {
            ...HEALTH,
            HOOKLINE_APP_URL: stranger.url,
            HOOKLINE_APP_COMMAND: 'exec sleep 1000',
            HOOKLINE_CONNECT_TIMEOUT: '300ms',
        },
        wait: 'healthz',
    });
    await untilCause(sidecar, /another process is listening/);
    assert.match(assertProblem(await caller(t, sidecar)(), 503).detail, /another process is listening/);
    assert.deepEqual(isReady(sidecar), []);
    assert.equal(stranger.requests.length, 0, 'not even checks');
});
