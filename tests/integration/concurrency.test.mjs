// HOOKLINE_APP_CONCURRENCY: never more inside the app than it says, over all workers; the rest waits its turn.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { gate, sleep, until } from './lib/until.mjs';

/** An app that counts who is inside it. */
function countingApp(work = () => sleep(5)) {
    const counts = { inside: 0, most: 0, order: [] };
    const app = async (x) => {
        counts.most = Math.max(counts.most, ++counts.inside);
        counts.order.push(x.head.has('x-run-attempt') ? 'async' : 'sync');
        await x.body();
        await work(x);
        counts.inside--;
        await x.send(200, {}, x.bytes);
    };
    return { counts, app };
}

for (const workers of ['1', '4']) {
    test(`one slot and ${workers} workers: never two inside the app`, async (t) => {
        const { counts, app } = countingApp();
        const { call } = await stage(t, {
            app,
            env: { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_WORKERS: workers },
        });
        const calls = Array.from({ length: 60 }, (_, i) =>
            call(RUN, { body: `${i}`, query: i % 3 ? {} : { async: 'true' } }),
        );
        const responses = await Promise.all(calls);
        for (const { status } of responses)
            assert.ok(status === 200 || status === 202, `${status}`);
        await until('all are through', () => counts.order.length === 60 && counts.inside === 0);
        assert.equal(counts.most, 1);
    });
}

test('all slots are used', async (t) => {
    const doors = gate();
    const { counts, app } = countingApp(() => doors.promise);
    const { call } = await stage(t, {
        app,
        env: { HOOKLINE_APP_CONCURRENCY: '3', HOOKLINE_WORKERS: '2' },
    });
    const calls = Array.from({ length: 10 }, () => call());
    await until('three inside', () => counts.inside === 3);
    await sleep(100);
    assert.equal(counts.inside, 3);
    doors.open();
    for (const { status } of await Promise.all(calls)) assert.equal(status, 200);
    assert.equal(counts.most, 3);
});

test('callers are served first in, first out', async (t) => {
    const { app, counts } = countingApp();
    const { app: server, connect } = await stage(t, {
        app,
        env: { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_WORKERS: '1' },
    });
    const clients = [];
    for (let i = 0; i < 10; i++) {
        clients.push(await connect());
        await clients[i].send(request('POST', RUN, {}, `${i}`));
        await sleep(2);
    }
    for (const [i, client] of clients.entries())
        assert.equal((await client.response()).text, `${i}`);
    assert.deepEqual(
        server.requests.map((r) => r.bytes.toString()),
        clients.map((_, i) => `${i}`),
    );
    assert.equal(counts.most, 1);
});

test('HOOKLINE_APP_QUEUE_TIMEOUT: who waits too long gets 429 and Retry-After', async (t) => {
    const doors = gate();
    const { counts, app } = countingApp(() => doors.promise);
    const { call } = await stage(t, {
        app,
        env: { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_APP_QUEUE_TIMEOUT: '300ms' },
    });
    const first = call();
    await until('one inside', () => counts.inside === 1);
    const refused = await call(RUN, { body: '{}' });
    assertProblem(refused, 429);
    assert.match(refused.headers['retry-after'], /^[1-9][0-9]*$/);
    assert.ok(refused.ms >= 250);
    doors.open();
    assert.equal((await first).status, 200);
    assert.equal((await call()).status, 200);
    assert.equal(counts.order.length, 2);
});

test('HOOKLINE_APP_QUEUE: beyond it 429 at once', async (t) => {
    const doors = gate();
    const { counts, app } = countingApp(() => doors.promise);
    const { call, sidecar } = await stage(t, {
        app,
        env: { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_APP_QUEUE: '2', HOOKLINE_WORKERS: '1' },
    });
    const first = call();
    await until('one inside', () => counts.inside === 1);
    const waiting = [call(), call()];
    await until('a refusal', async () => (await call()).status === 429);
    assert.equal(await sidecar.probe('/_hookline/healthz'), 200);
    doors.open();
    for (const { status } of await Promise.all([first, ...waiting])) assert.equal(status, 200);
});

test('a caller that leaves while it waits never reaches the app, and its place is free', async (t) => {
    const doors = gate();
    const { counts, app } = countingApp(() => doors.promise);
    const { call, connect, sidecar } = await stage(t, {
        app,
        env: { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_WORKERS: '1' },
    });
    const waits = (n) => until(`${n} wait`, async () => (await sidecar.metric('hookline_app_queue_waiting')) === n);
    const first = call();
    await until('one inside', () => counts.inside === 1);
    const leaver = await connect();
    await leaver.send(request('POST', RUN, {}, 'left'));
    await waits(1);
    leaver.reset();
    await waits(0);
    const last = call(RUN, { body: 'stayed' });
    await waits(1);
    doors.open();
    assert.equal((await first).status, 200);
    assert.equal((await last).text, 'stayed');
    assert.equal(counts.order.length, 2);
});

test('asynchronous runs yield to synchronous callers but are not starved', async (t) => {
    const { counts, app } = countingApp(() => sleep(3));
    const { call } = await stage(t, {
        app,
        env: { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_WORKERS: '1' },
    });
    let isOver = false;
    const callers = Array.from({ length: 4 }, async () => {
        while (!isOver) await call();
    });
    await until('callers are inside', () => counts.order.length > 5);
    const from = counts.order.length;
    for (let i = 0; i < 5; i++)
        assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    await until(
        'the asynchronous runs',
        () => counts.order.slice(from).filter((mode) => mode === 'async').length === 5,
    );
    isOver = true;
    await Promise.all(callers);
    const order = counts.order.slice(from);
    const last = order.lastIndexOf('async');
    const synchronous = order.slice(0, last).filter((mode) => mode === 'sync').length;
    assert.ok(
        synchronous >= 5,
        `only ${synchronous} synchronous calls meanwhile: they do not come first`,
    );
    assert.ok(synchronous <= 100, `${synchronous} synchronous calls before five asynchronous runs`);
    assert.equal(counts.most, 1);
});

test('a slot comes back whatever happens to its call', async (t) => {
    let n = 0;
    const { call, connect, receiver } = await stage(t, {
        env: {
            HOOKLINE_APP_CONCURRENCY: '1',
            HOOKLINE_APP_HEAD_TIMEOUT: '1500ms',
            HOOKLINE_APP_QUEUE_TIMEOUT: '5s',
        },
        app: async (x) => {
            switch (x.path.slice(1)) {
                case 'reset':
                    return x.reset();
                case 'hang':
                    return x.gone;
                case 'garbage':
                    return x.raw('garbage\r\n\r\n');
                case 'cut':
                    await x.respond(200, { 'Content-Length': 10 });
                    return x.end();
                default:
                    return x.send(200, {}, `${++n}`);
            }
        },
    });
    for (const path of ['reset', 'hang', 'garbage', 'cut']) {
        await call(`/v4/p/a/${path}`, { body: '{}' }).catch(() => {});
        await call(`/v4/p/a/${path}`, {
            body: '{}',
            query: { async: 'true', webhookEndpoint: receiver.url(`/${path}`) },
        });
        await receiver.delivered(`/${path}`);
        const client = await connect();
        await client.send(request('POST', `/v4/p/a/${path}`, {}, '{}'));
        client.reset();
        assert.equal((await call()).status, 200, `after ${path}`);
    }
});
