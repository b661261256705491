// One slot of the app under load from everywhere: never two inside, nobody starves, refusals say when to come back.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { chunk, request } from './lib/raw.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { gate, sleep, until, within } from './lib/until.mjs';

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

const ONE_SLOT = { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_WORKERS: '1' };
const slotsInUse = (sidecar) => sidecar.metric('hookline_app_slots_in_use');

/** The app says how long each body was and what came with it. */
const measure = async (x) => {
    const { length } = await x.body();
    await x.send(200, {}, `${length} ${x.get('expect')}`);
};

for (const framing of ['Content-Length', 'Transfer-Encoding']) {
    const isChunked = framing !== 'Content-Length';
    test(`a caller who sends its body slowly holds no slot, by ${framing}`, async (t) => {
        const { app, call, connect } = await stage(t, { app: measure, env: ONE_SLOT });
        const size = 100_000;
        const slow = await connect();
        await slow.send(request('POST', '/v4/p/a/slow', { [framing]: isChunked ? 'chunked' : size }));
        for (let i = 0; i < 10; i++) {
            const piece = 'x'.repeat(size / 10);
            await slow.send(isChunked ? chunk(piece) : piece);
            if (i < 9) assert.equal((await call(RUN, { body: `${i}` })).status, 200);
        }
        if (isChunked) {
            assert.ok(!app.requests.some((x) => x.path === '/slow'));
            await slow.send('0\r\n\r\n');
        }
        assert.equal((await slow.response()).text, `${size} undefined`);
    });

    test(`a body longer than 256 KiB flows once its first part is there, by ${framing}`, async (t) => {
        const { app, connect } = await stage(t, { app: measure, env: ONE_SLOT });
        const client = await connect();
        const piece = 'x'.repeat(300 * 1024);
        const fields = { [framing]: isChunked ? 'chunked' : 2 * piece.length };
        await client.send(request('POST', RUN, fields));
        await client.send(isChunked ? chunk(piece) : piece);
        await until('the app was called', () => app.requests.length === 1);
        await client.send(isChunked ? chunk(piece) : piece);
        if (isChunked) await client.send('0\r\n\r\n');
        assert.equal((await client.response()).text, `${2 * piece.length} undefined`);
    });
}

test('bodies of callers that wait for the slot arrive whole', async (t) => {
    const doors = gate();
    const { app, call, sidecar } = await stage(t, {
        app: async (x) => {
            if (x.path === '/first') await doors.promise;
            await x.body();
            await x.send(200, {}, x.bytes);
        },
        env: ONE_SLOT,
    });
    const first = call('/v4/p/a/first');
    await until('the slot is taken', () => app.requests.length === 1);
    const bodies = [1, 5_000, 100_000, 256 * 1024, 256 * 1024 + 1, 1_000_000].map((n) => 'x'.repeat(n));
    const calls = bodies.map((body) => call('/v4/p/a/echo', { body, method: 'PUT' }));
    await until('all wait', async () =>
        (await sidecar.metric('hookline_app_queue_waiting')) === bodies.length,
    );
    doors.open();
    await first;
    for (const [i, { status, text }] of (await Promise.all(calls)).entries()) {
        assert.equal(status, 200);
        assert.ok(text === bodies[i], `${text.length} bytes of ${bodies[i].length}`);
    }
});

test('with a limit a caller who asks first is told to send its body, and its silence is bounded', async (t) => {
    const { app, call, connect, sidecar } = await stage(t, {
        app: measure,
        env: { ...ONE_SLOT, HOOKLINE_BODY_TIMEOUT: '1s' },
    });
    const expecting = { 'Content-Length': 5, Expect: '100-continue' };
    const client = await connect();
    await client.send(request('POST', RUN, expecting));
    assert.match((await client.reader.through('\r\n\r\n', 1024)).toString(), /^HTTP\/1.1 100 /);
    assert.equal(await slotsInUse(sidecar), 0);
    await client.send('hello');
    assert.equal((await client.response()).text, '5 undefined');

    const silent = await connect();
    await silent.send(request('POST', RUN, expecting));
    assert.equal((await call(RUN, { body: 'x' })).status, 200);
    assert.equal((await silent.response()).status, 408);
    assert.equal(app.requests.length, 2);
});

test('a body that is too long, or cut, before its call has a slot', async (t) => {
    const { app, connect } = await stage(t, {
        app: measure,
        env: { ...ONE_SLOT, HOOKLINE_MAX_SYNC_BODY: '100KiB' },
    });
    const client = await connect();
    await client.send(request('POST', RUN, { 'Transfer-Encoding': 'chunked' }));
    await client.send(chunk('x'.repeat(60 * 1024)));
    await client.send(chunk('x'.repeat(60 * 1024)));
    assert.equal((await client.response()).status, 413);
    const cut = await connect();
    await cut.send(request('POST', RUN, { 'Content-Length': 10 }));
    await cut.send('half');
    cut.end();
    await within('its end', cut.reader.gone);
    assert.equal(app.requests.length, 0);
});

const UPGRADE = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

for (const [how, leave] of [
    ['ended', (socket) => socket.end()],
    ['reset', (socket) => socket.resetAndDestroy()],
]) {
    test(`a tunnel whose app has ${how} its side holds no slot, and ends when its caller is silent`, async (t) => {
        const { call, connect, sidecar } = await stage(t, {
            app: async (x) => {
                if (!x.get('upgrade')) return measure(x);
                await x.raw(
                    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
                );
                const { socket, reader } = x.take();
                await reader.exactly(3);
                leave(socket);
            },
            env: { ...ONE_SLOT, HOOKLINE_BODY_TIMEOUT: '1s' },
        });
        const client = await connect();
        await client.send(request('GET', '/v4/p/a/socket', UPGRADE));
        assert.equal((await client.responseHead()).status, 101);
        assert.equal(await slotsInUse(sidecar), 1);
        await client.send('bye');
        assert.equal((await call(RUN, { body: 'x' })).status, 200);
        await until('the tunnel is over', async () =>
            (await sidecar.metric('hookline_http_requests_in_flight')) === 0,
        );
        assert.equal(await slotsInUse(sidecar), 0);
    });
}
