// The timeouts and limits of contract 7's table, each with a small value.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { gate, sleep, until, within } from './lib/until.mjs';

test('HOOKLINE_MAX_HEAD: a larger head is 431 and the connection is closed', async (t) => {
    const { app, connect } = await stage(t, { env: { HOOKLINE_MAX_HEAD: '8KiB' } });
    const fits = await connect();
    await fits.send(request('POST', RUN, { 'X-Big': 'x'.repeat(7000) }, ''));
    assert.equal((await fits.response()).status, 200);
    for (const bytes of [
        request('POST', RUN, { 'X-Big': 'x'.repeat(9000) }, ''),
        `POST /${'x'.repeat(20_000)}`,
        `POST ${RUN} HTTP/1.1\r\nHost: x\r\nX-Endless: ${'x'.repeat(100_000)}`,
    ]) {
        const client = await connect();
        void client.send(bytes);
        const response = await client.response();
        assert.ok([431, 414].includes(response.status));
        assertProblem(response, response.status);
        assert.ok(await client.isClosed());
    }
    assert.equal(app.requests.length, 1);
});

test('a head has up to 1,024 fields, the caller’s and the app’s', async (t) => {
    const many = 1024;
    const fieldsOf = (n) => Array.from({ length: n }, (_, i) => `k${i}=v`);
    const { app, connect } = await stage(t, {
        app: async (x) => x.send(200, { 'Set-Cookie': fieldsOf(Number(x.path.slice(1)) - 1) }), // and Content-Length
    });
    const ask = async (sent, answered) => {
        const client = await connect();
        await client.send(request('POST', `/v4/p/a/${answered}`, { 'X-Many': fieldsOf(sent - 2) }, '')); // Host, too
        return client.response();
    };
    for (const [sent, answered] of [[many, 151], [3, many]]) {
        const response = await ask(sent, answered);
        assert.equal(response.status, 200, `${sent}, ${answered}: ${response.text}`);
        assert.deepEqual(response.all('set-cookie'), fieldsOf(answered - 1));
        assert.deepEqual(app.requests.at(-1).head.all('x-many'), fieldsOf(sent - 2));
    }
    const { length } = app.requests;
    assertProblem(await ask(many + 1, 2), 431);
    assert.equal(app.requests.length, length);
    assertProblem(await ask(3, many + 1), 502);
});

test('HOOKLINE_HEAD_TIMEOUT: a head that does not end is 408 and the connection is closed', async (t) => {
    const { app, connect } = await stage(t, { env: { HOOKLINE_HEAD_TIMEOUT: '400ms' } });
    const began = performance.now();
    const client = await connect();
    await client.send(`POST ${RUN} HTTP/1.1\r\nHost:`);
    const response = await client.response();
    assertProblem(response, 408);
    assert.equal(response.get('connection'), 'close');
    assert.ok(performance.now() - began >= 350);
    assert.ok(await client.isClosed());
    assert.equal(app.requests.length, 0);
});

test('a head that drips in does not move the head timeout', async (t) => {
    const { connect } = await stage(t, { env: { HOOKLINE_HEAD_TIMEOUT: '500ms' } });
    const client = await connect();
    let isOver = false;
    const drip = (async () => {
        await client.send(`POST ${RUN} HTTP/1.1\r\nX-Drip: `);
        while (!isOver) {
            await client.send('x');
            await sleep(50);
        }
    })();
    assertProblem(await within('408', client.response()), 408);
    isOver = true;
    await drip;
});

test('HOOKLINE_BODY_TIMEOUT: silence inside a body is 408 and the connection is closed', async (t) => {
    for (const target of [RUN, `${RUN}?async=true`]) {
        const { connect } = await stage(t, { env: { HOOKLINE_BODY_TIMEOUT: '400ms' } });
        const client = await connect();
        await client.send(request('POST', target, { 'Content-Length': 100 }));
        await client.send('a part');
        const response = await client.response();
        assertProblem(response, 408);
        assert.ok(await client.isClosed());
    }
});

test('a body that drips in is not silence', async (t) => {
    const { app, connect } = await stage(t, { env: { HOOKLINE_BODY_TIMEOUT: '1500ms' } });
    const client = await connect();
    await client.send(request('POST', RUN, { 'Content-Length': 10 }));
    for (let i = 0; i < 10; i++) {
        await client.send('x');
        await sleep(200);
    }
    assert.equal((await client.response()).status, 200);
    assert.equal(app.requests[0].bytes.length, 10);
});

test('a slow app does not count as silence of its caller', async (t) => {
    const { connect } = await stage(t, {
        env: {
            HOOKLINE_BODY_TIMEOUT: '1s',
            HOOKLINE_KEEPALIVE_TIMEOUT: '1s',
            HOOKLINE_HEAD_TIMEOUT: '1s',
        },
        app: async (x) => {
            await sleep(1500);
            await x.send(200);
        },
    });
    const client = await connect();
    await client.send(request('POST', RUN, {}, 'all of it'));
    assert.equal((await client.response()).status, 200);
});

test('HOOKLINE_KEEPALIVE_TIMEOUT: an idle connection is closed without a word', async (t) => {
    const { connect } = await stage(t, { env: { HOOKLINE_KEEPALIVE_TIMEOUT: '300ms' } });
    const unused = await connect();
    assert.ok(await within('the unused one is closed', unused.isClosed(), 9000));
    const used = await connect();
    await used.send(request('POST', RUN, {}, ''));
    await used.response();
    assert.ok(await within('the used one is closed', used.isClosed()));
});

/** Takes a piece now and then, until `isOver()`; answers how much came. Fails if the connection ends before. */
async function readSlowly(client, isOver) {
    let received = 0;
    while (!isOver()) {
        const piece = await client.reader.some();
        assert.ok(piece, `it was cut off after ${received} bytes`);
        client.socket.pause();
        received += piece.length;
        await sleep(100);
    }
    return received;
}

test('HOOKLINE_WRITE_TIMEOUT: a caller that takes nothing is reset, one that reads slowly is not', { waits: true }, async (t) => {
    const gone = new Set();
    const size = 24 << 20;
    const { connect, receiver } = await stage(t, {
        env: { HOOKLINE_WRITE_TIMEOUT: '2s' },
        app: async (x) => {
            if (x.path === '/hook') return x.send(200, {}, Buffer.alloc(size, 'x'));
            void x.gone.then(() => gone.add(x.path));
            await x.respond(200, { 'Content-Length': 1 << 30 });
            while (!gone.has(x.path)) await x.raw(Buffer.alloc(1 << 20));
        },
    });
    const call = async (path) => {
        const client = await connect();
        await client.send(request('POST', `/v4/p/a${path}`, {}, ''));
        return client;
    };
    const slow = await call('/slow');
    const isOver = () => gone.has('/still');
    const reading = readSlowly(slow, isOver);
    const still = await call('/still');
    still.socket.pause();
    const hook = await call(`/hook?webhookEndpoint=${encodeURIComponent(receiver.url())}`);
    hook.socket.pause();
    await Promise.all([reading, until('the one that takes nothing is let go', isOver)]);
    assert.equal(gone.has('/slow'), false, 'the app still answers the slow one');
    const before = slow.socket.bytesRead;
    await readSlowly(slow, () => slow.socket.bytesRead > before + (1 << 20));
    const envelope = await receiver.envelope();
    assert.deepEqual([envelope.status, envelope.response.length], ['success', size]);
});

test('HOOKLINE_APP_HEAD_TIMEOUT: an app that does not answer is 504', async (t) => {
    const { app, call, receiver } = await stage(t, {
        app: (x) => x.gone,
        env: { HOOKLINE_APP_HEAD_TIMEOUT: '400ms' },
    });
    const response = await call(RUN, { body: '{}', query: { webhookEndpoint: receiver.url() } });
    assertProblem(response, 504);
    assert.ok(response.ms >= 350);
    await until('the app is let go', () => app.openConnections <= 1);
    assert.equal((await receiver.envelope()).reason, 'timeout');
});

test('HOOKLINE_APP_HEAD_TIMEOUT counts from the end of the request', async (t) => {
    const { connect } = await stage(t, { env: { HOOKLINE_APP_HEAD_TIMEOUT: '1500ms' } });
    const client = await connect();
    await client.send(request('POST', RUN, { 'Content-Length': 9 }));
    for (let i = 0; i < 9; i++) {
        await client.send('x');
        await sleep(200);
    }
    assert.equal((await client.response()).status, 200);
});

test('a silent caller is 408, also when HOOKLINE_APP_HEAD_TIMEOUT is shorter', async (t) => {
    const { connect } = await stage(t, {
        env: { HOOKLINE_APP_HEAD_TIMEOUT: '100ms', HOOKLINE_BODY_TIMEOUT: '600ms' },
    });
    for (const fields of [{ 'Content-Length': 100 }, { 'Transfer-Encoding': 'chunked' }]) {
        const client = await connect();
        await client.send(request('POST', RUN, fields));
        await client.send('6\r\na part\r\n');
        assertProblem(await client.response(), 408);
        assert.ok(await client.isClosed());
    }
});

test('HOOKLINE_APP_HEAD_TIMEOUT: an app that does not read the body is 504', async (t) => {
    const { connect } = await stage(t, {
        app: (x) => x.gone,
        env: { HOOKLINE_APP_HEAD_TIMEOUT: '300ms' },
    });
    const client = await connect();
    await client.send(request('POST', RUN, { 'Content-Length': 1 << 30 }));
    void client.send(Buffer.alloc(64 << 20));
    assertProblem(await client.response(), 504);
});

test('HOOKLINE_APP_HEAD_TIMEOUT: a caller that waits for 100 in vain gets 504', async (t) => {
    const { connect } = await stage(t, {
        app: (x) => x.gone,
        env: { HOOKLINE_APP_HEAD_TIMEOUT: '300ms' },
    });
    const client = await connect();
    await client.send(request('POST', RUN, { 'Content-Length': 5, Expect: '100-continue' }));
    assertProblem(await client.response(), 504);
});

test('HOOKLINE_APP_IDLE_TIMEOUT cuts a silent response, never an event stream', async (t) => {
    const { connect } = await stage(t, {
        env: { HOOKLINE_APP_IDLE_TIMEOUT: '300ms', HOOKLINE_SSE_HEARTBEAT: '0' },
        app: async (x) => {
            const type = x.path === '/sse' ? 'text/event-stream' : 'text/plain';
            await x.respond(200, { 'Content-Type': type, 'Transfer-Encoding': 'chunked' });
            await x.chunk('data: 1\n\n');
            await Promise.race([sleep(1200), x.gone]);
            await x.chunk('data: 2\n\n');
            await x.lastChunk();
        },
    });
    const plain = await connect();
    await plain.send(request('POST', '/v4/p/a/plain', {}, ''));
    await assert.rejects(plain.response());
    const stream = await connect();
    await stream.send(request('POST', '/v4/p/a/sse', {}, ''));
    assert.equal((await stream.response()).text, 'data: 1\n\ndata: 2\n\n');
});

test('a silent tunnel is under no timeout', async (t) => {
    const { connect } = await stage(t, {
        env: {
            HOOKLINE_APP_IDLE_TIMEOUT: '1s',
            HOOKLINE_KEEPALIVE_TIMEOUT: '1s',
            HOOKLINE_BODY_TIMEOUT: '1s',
            HOOKLINE_APP_HEAD_TIMEOUT: '1s',
        },
        app: async (x) => {
            await x.respond(101, { Connection: 'Upgrade', Upgrade: 'websocket' });
            const { socket, reader } = x.take();
            socket.write(await reader.exactly(5));
        },
    });
    const client = await connect();
    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket' };
    await client.send(request('GET', '/v4/p/a/x', upgrade));
    assert.equal((await client.responseHead()).status, 101);
    await sleep(1500);
    await client.send('hello');
    assert.equal((await client.reader.exactly(5)).toString(), 'hello');
});

/** Who asked for readiness has gone. */
const nobodyElse = (sidecar) =>
    until('no other connection is open', async () => (await sidecar.metric('hookline_connections_open')) === 0);

const FULL = { HOOKLINE_MAX_CONNECTIONS: '4', HOOKLINE_WORKERS: '1' };

test('HOOKLINE_MAX_CONNECTIONS: the connection that is idle for longest makes room', async (t) => {
    const { connect, sidecar } = await stage(t, { env: FULL });
    await nobodyElse(sidecar);
    const clients = [];
    const call = async (client) => {
        await client.send(request('POST', RUN, {}, ''));
        assert.equal((await client.response()).status, 200);
    };
    for (let i = 0; i < 4; i++) clients.push(await connect());
    for (const i of [1, 0, 3, 2]) await call(clients[i]); // idle since, in that order
    await call(clients[1]);
    await clients[0].send('POST '); // it is not idle any more
    await call(await connect());
    assert.ok(await within('the longest idle one is closed', clients[3].isClosed()));
    await call(await connect());
    assert.ok(await within('and the next', clients[2].isClosed()));
    await call(clients[1]);
    assert.equal(await sidecar.metric('hookline_connections_shed_total'), 2);
    assert.equal(await sidecar.metric('hookline_connections_max'), 4);
    const isNote = ({ level, msg }) => level === 'warn' && /MAX_CONN/.test(msg);
    await sidecar.logged(isNote);
    assert.equal(sidecar.log.filter(isNote).length, 1, 'said once a minute');
});

test('HOOKLINE_MAX_CONNECTIONS: with none idle, health is answered and other calls are 503', async (t) => {
    const doors = gate();
    const { app, connect, sidecar } = await stage(t, {
        env: FULL,
        app: async (x) => {
            await doors.promise;
            await x.send(200);
        },
    });
    await nobodyElse(sidecar);
    const clients = [];
    for (let i = 0; i < 4; i++) {
        clients.push(await connect());
        await clients[i].send(request('POST', RUN, {}, ''));
    }
    await until('all are inside the app', () => app.requests.length === 4);
    for (let i = 0; i < 20; i++) await connect(); // silent ones get nobody in the way for long
    for (const path of ['/_hookline/healthz', '/_hookline/readyz']) {
        const client = await connect();
        await client.send(request('GET', path));
        const response = await within(path, client.response());
        assert.equal(response.status, 200);
        assert.equal(response.get('connection'), 'close');
        assert.ok(await client.isClosed());
    }
    const fifth = await connect();
    await fifth.send(request('POST', RUN, {}, 'a body'));
    const refusal = await within('an answer', fifth.response());
    assertProblem(refusal, 503);
    assert.equal(refusal.get('retry-after'), '1');
    assert.ok(await fifth.isClosed());
    doors.open();
    for (const client of clients) assert.equal((await client.response()).status, 200);
    const sixth = await connect();
    await sixth.send(request('POST', RUN, {}, ''));
    assert.equal((await sixth.response()).status, 200);
    assert.equal(app.requests.length, 5);
});

test('HOOKLINE_MAX_SYNC_BODY: a larger body is 413', async (t) => {
    const { connect, call } = await stage(t, { env: { HOOKLINE_MAX_SYNC_BODY: '1KiB' } });
    assert.equal((await call(RUN, { body: 'x'.repeat(1024) })).status, 200);
    const byLength = await connect();
    await byLength.send(request('POST', RUN, { 'Content-Length': 1025 }));
    assertProblem(await byLength.response(), 413);
    const byChunks = await connect();
    await byChunks.send(request('POST', RUN, { 'Transfer-Encoding': 'chunked' }));
    await byChunks.send(`401\r\n${'x'.repeat(1025)}\r\n`);
    assertProblem(await byChunks.response(), 413);
});

test('an early answer reaches a caller that is still sending its body', async (t) => {
    const size = 64 << 10;
    const { connect } = await stage(t, { env: { HOOKLINE_MAX_SYNC_BODY: '1KiB' } });
    const client = await connect();
    client.socket.pause(); // it reads when it has sent everything
    await client.send(request('POST', RUN, { 'Content-Length': 32 * size }));
    for (let i = 0; i < 32; i++) {
        await client.send(Buffer.alloc(size));
        await sleep(100); // a slow link
    }
    assert.equal(client.socket.errored, null, 'no reset');
    assertProblem(await client.response(), 413);
    assert.ok(await client.isClosed());
});

test('HOOKLINE_STORE_MAX_BYTES: a full store refuses asynchronous calls with 503, synchronous ones go on', async (t) => {
    const doors = gate();
    const { call, sidecar } = await stage(t, {
        env: { HOOKLINE_STORE_MAX_BYTES: '16MiB', HOOKLINE_ASYNC_CONCURRENCY: '1' },
        app: async (x) => {
            if (x.head.has('x-run-attempt')) await doors.promise;
            await x.send(200);
        },
    });
    const body = Buffer.alloc(4 << 20, 'x');
    let refused;
    await until('an asynchronous call is refused', async () => {
        const response = await call(RUN, { query: { async: 'true' }, body });
        if (response.status !== 202) refused = response;
        return refused;
    });
    assertProblem(refused, 503);
    assert.equal((await call()).status, 200);
    assert.equal(await sidecar.probe('/_hookline/healthz'), 200);
    doors.open();
});
