// HOOKLINE_IDLE_EXIT: hookline ends by itself once nothing has been done for that long, and never before.
import assert from 'node:assert/strict';
import WebSocket, { WebSocketServer } from 'ws';
import { test } from './lib/case.mjs';
import { control } from './lib/rest.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const IDLE = { HOOKLINE_IDLE_EXIT: '2s', HOOKLINE_SHUTDOWN_DELAY: '10m' };

/** When it ended by itself: the time, and how. */
const ending = (sidecar) => sidecar.exited().then((how) => ({ ...how, at: Date.now() }));

async function assertEndsOfIdleness(sidecar, end, since) {
    const { code, at } = await end;
    assert.equal(code, 0);
    assert.ok(at - since >= 1900, `${at - since} ms after the last thing was done`);
    assert.ok(sidecar.log.some((l) => /HOOKLINE_IDLE_EXIT/.test(l.msg)));
}

test('it ends with status 0, without the delay of a shutdown', async (t) => {
    const began = Date.now();
    const { sidecar } = await stage(t, { env: IDLE });
    await assertEndsOfIdleness(sidecar, ending(sidecar), began);
});

test('health checks, metrics and idle connections do not keep it', async (t) => {
    const { sidecar, call, connect } = await stage(t, { env: IDLE });
    const end = ending(sidecar);
    await connect();
    const since = Date.now();
    await call(RUN);
    let asked = 0;
    while (sidecar.isRunning) {
        await sidecar.probe('/_hookline/readyz');
        await sidecar.admin('/metrics');
        await sleep(100);
        asked++;
    }
    assert.ok(asked > 0); // had that kept it, there would be no end of asking
    await assertEndsOfIdleness(sidecar, end, since);
});

test('short calls one after the other keep it', async (t) => {
    const { sidecar, call } = await stage(t, { env: IDLE });
    const end = ending(sidecar);
    const over = Date.now() + 4000;
    let since = 0;
    while (since < over) {
        since = Date.now();
        assert.equal((await call(RUN)).status, 200);
        await sleep(200);
    }
    assert.ok(sidecar.isRunning);
    await assertEndsOfIdleness(sidecar, end, since);
});

test('a call, a run, a queued run: each keeps it as long as it lasts', async (t) => {
    const doors = gate();
    const { sidecar, call, app } = await stage(t, {
        app: async (x) => {
            await x.body();
            await doors.promise;
            await x.send(200);
        },
        env: { ...IDLE, HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_WORKERS: '1' },
    });
    const end = ending(sidecar);
    for (let i = 0; i < 3; i++)
        assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    await until('one is inside', () => app.requests.length === 1);
    await sleep(3500);
    assert.ok(sidecar.isRunning);
    doors.open();
    await until('all were inside', () => app.requests.length === 3);
    await assertEndsOfIdleness(sidecar, end, app.requests[2].at);
    assert.deepEqual(await sidecar.sql("select count(*) as n from ticket"), [{ n: 0 }]);
});

test('a webhook that waits for its next attempt keeps it', async (t) => {
    const { sidecar, call, receiver } = await stage(t, { env: { ...IDLE, HOOKLINE_WEBHOOK_SCHEDULE: '100ms,6s' } });
    const end = ending(sidecar);
    receiver.script('/hook', 404, 404, 200);
    await call(RUN, { query: { webhookEndpoint: receiver.url('/hook') } });
    await until('the last attempt', () => receiver.deliveries('/hook').length === 3);
    await assertEndsOfIdleness(sidecar, end, receiver.deliveries('/hook')[2].at);
});

test('a run that waits for its next attempt keeps it', async (t) => {
    let calls = 0;
    const { sidecar, call, app } = await stage(t, {
        app: (x) => x.json({}, calls++ === 0 ? 503 : 200),
        env: { ...IDLE, HOOKLINE_RUN_ATTEMPTS: '2', HOOKLINE_RUN_RETRY_ON: '503', HOOKLINE_RUN_RETRY_DELAY: '8s' },
    });
    const end = ending(sidecar);
    await call(RUN, { query: { async: 'true' } });
    await until('the last attempt', () => app.requests.length === 2);
    await assertEndsOfIdleness(sidecar, end, app.requests[1].at);
});

test('an open WebSocket keeps it', async (t) => {
    const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await new Promise((resolve) => sockets.once('listening', resolve));
    t.after(() => sockets.close());
    const { sidecar } = await stage(t, {
        app: null,
        wait: 'readyz',
        env: { ...IDLE, HOOKLINE_APP_URL: `http://127.0.0.1:${sockets.address().port}` },
    });
    const end = ending(sidecar);
    const socket = new WebSocket(`ws://127.0.0.1:${sidecar.port}/`);
    await new Promise((resolve) => socket.once('open', resolve));
    await sleep(3500);
    assert.ok(sidecar.isRunning);
    const since = Date.now();
    socket.close();
    await assertEndsOfIdleness(sidecar, end, since);
});

test('with an app of its own it stops that too', async (t) => {
    const { sidecar } = await stage(t, {
        app: null,
        env: {
            ...IDLE,
            HOOKLINE_APP_URL: 'http://127.0.0.1:1',
            HOOKLINE_APP_COMMAND: 'echo I am $$; exec sleep 1004',
        },
    });
    const end = ending(sidecar);
    const [line] = await until('its app', () => {
        const lines = sidecar.log.filter((l) => l.msg === 'app');
        return lines.length && lines;
    });
    const pid = Number(line.line.split(' ').at(-1));
    assert.equal((await end).code, 0);
    assert.throws(() => process.kill(pid, 0), /ESRCH/);
});

test('a job that pauses between two pieces keeps it', async (t) => {
    const { sidecar, call } = await stage(t, {
        app: (x) => x.send(500),
        env: { ...IDLE, HOOKLINE_IDLE_EXIT: '4s', HOOKLINE_ASYNC_CONCURRENCY: '8' },
    });
    const end = ending(sidecar);
    const ask = control(sidecar);
    await Promise.all(Array.from({ length: 101 }, () => call(RUN, { query: { async: 'true' } }))); // a piece has 100
    const failed = async () => (await ask('GET', '/v2/projects/p/runs?state=failure&limit=200')).json().runs.length;
    await until('all have failed', async () => (await failed()) === 101);
    const plan = { what: 'rerun', filter: { state: 'failure' }, pause_ms: 9000 };
    const { job_id: id } = (await ask('POST', '/v2/projects/p/jobs', { body: plan })).json();
    const ended = async () => (await ask('GET', `/v2/projects/p/jobs/${id}`)).json().ended_at;
    await until('the second piece is done, too', ended);
    assert.equal((await end).code, 0);
});
