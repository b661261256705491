// One slot of the app under load from everywhere: never two inside, nobody starves, refusals say when to come back.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

test('1 slot, 4 workers, 100 callers and 100 asynchronous runs: never two inside, no one starves', async (t) => {
    let inside = 0;
    let most = 0;
    const order = [];
    const { call, sidecar } = await stage(t, {
        app: async (x) => {
            most = Math.max(most, ++inside);
            order.push(x.head.has('x-run-attempt') ? 'async' : 'sync');
            await x.body();
            await sleep(5);
            inside--;
            await x.send(200, {}, x.bytes);
        },
        env: { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_WORKERS: '4', HOOKLINE_APP_QUEUE_TIMEOUT: '5m' },
    });
    const runs = Array.from({ length: 100 }, (_, i) =>
        call(RUN, { body: `run ${i}`, query: { async: 'true' } }),
    );
    const calls = Array.from({ length: 100 }, (_, i) => call(RUN, { body: `call ${i}` }));
    const answers = await Promise.all(calls);
    for (const [i, { status, text }] of answers.entries())
        assert.deepEqual([status, text], [200, `call ${i}`]);
    for (const { status } of await Promise.all(runs)) assert.equal(status, 202);
    await until('all runs are through', () => order.length === 200 && inside === 0);
    assert.equal(most, 1);

    // While callers wait an asynchronous run gets every eighth start at the latest.
    const first = order.indexOf('async');
    const last = order.lastIndexOf('sync');
    let inARow = 0;
    for (const mode of order.slice(Math.max(first, 0), last)) {
        inARow = mode === 'sync' ? inARow + 1 : 0;
        assert.ok(inARow <= 16, `${inARow} callers in a row while runs waited: ${order.join(' ')}`);
    }
    const longest = Math.max(...answers.map(({ ms }) => ms));
    t.diagnostic(`longest wait of a caller: ${Math.round(longest)} ms for 200 calls of 5 ms`);
    await until('the slot is free', async () => (await sidecar.metric('hookline_app_slots_in_use')) === 0);
});

test('who finds the queue full gets 429 with Retry-After, and the figures show the queue', async (t) => {
    const doors = gate();
    const { call, sidecar, app } = await stage(t, {
        app: async (x) => {
            await x.body();
            await doors.promise;
            await x.send(200);
        },
        env: {
            HOOKLINE_APP_CONCURRENCY: '2',
            HOOKLINE_APP_QUEUE: '3',
            HOOKLINE_WORKERS: '4',
            HOOKLINE_ASYNC_CONCURRENCY: '1',
        },
    });
    const inside = [call(), call()];
    await until('two are inside', () => app.requests.length === 2);
    const waiting = [call(), call(), call()];
    await until('three wait', async () => (await sidecar.metric('hookline_app_queue_waiting')) === 3);
    const refused = await call();
    assertProblem(refused, 429);
    assert.match(refused.headers['retry-after'], /^[1-9][0-9]*$/);
    for (let i = 0; i < 4; i++)
        assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    await until('the runs are queued', async () => (await sidecar.metric('hookline_runs_queued')) === 4);
    assert.equal(await sidecar.metric('hookline_app_slots'), 2);
    assert.equal(await sidecar.metric('hookline_app_slots_in_use'), 2);
    await until('ages grow', async () =>
        (await sidecar.metric('hookline_app_queue_age_seconds')) > 0.2 &&
        (await sidecar.metric('hookline_runs_queue_age_seconds')) > 0.2,
    );
    doors.open();
    for (const { status } of await Promise.all([...inside, ...waiting])) assert.equal(status, 200);
    await until('all is done', async () =>
        (await sidecar.metric('hookline_app_slots_in_use')) === 0 &&
        (await sidecar.metric('hookline_runs_queued')) === 0,
    );
    assert.equal(await sidecar.metric('hookline_app_queue_waiting'), 0);
    assert.equal(await sidecar.metric('hookline_app_queue_age_seconds'), 0);
});
