// Whether the app takes calls: what makes it ready, what ends that, and what is said about it.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { freePort, startSidecar } from './lib/sidecar.mjs';
import { RUN, caller, stage } from './lib/stage.mjs';
import { connect, request } from './lib/raw.mjs';
import { until } from './lib/until.mjs';

const ONE_AT_A_TIME = fileURLToPath(new URL('apps/one_at_a_time.py', import.meta.url));
const HEALTH = { HOOKLINE_APP_HEALTH_PATH: '/health' };

const notReady = (sidecar) => sidecar.log.filter((l) => l.msg === 'the app is not ready');

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
    await until('two are kept', () => app.openConnections <= 2, 5_000);
    assert.ok(app.connections > 2);
});
