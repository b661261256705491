// An asynchronous call is answered with 202 once it is on disk, and the app is called in the background.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, UUID_V7, assertProblem, counting, echo, shared, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { freePort } from './lib/sidecar.mjs';
import { startServer } from './lib/server.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const ASYNC = { async: 'true' };

test('the 202 has exactly the contract’s body and fields', async (t) => {
    const { call } = await shared(t);
    const response = await call(RUN, { query: ASYNC, body: '{}' });
    assert.equal(response.status, 202);
    assert.equal(response.headers['content-type'], 'application/json');
    assert.match(response.id, UUID_V7);
    assert.equal(response.text, `{"run_id":"${response.id}"}`);
});

test('the 202 comes while the app has not answered', async (t) => {
    const doors = gate();
    const { app, call } = await shared(t, {
        app: async (x) => {
            await doors.promise;
            await x.send(200);
        },
    });
    for (let i = 0; i < 5; i++) assert.equal((await call(RUN, { query: ASYNC })).status, 202);
    await until('the app was called', () => app.requests.length >= 5);
    doors.open();
});

test('the app gets the call as it was made, with its run id and attempt', async (t) => {
    const { app, call } = await shared(t);
    const response = await call('/v4/p/a/deep/path', {
        method: 'PUT',
        query: { ...ASYNC, x: '1' },
        body: 'the body',
        headers: {
            'content-type': 'text/x-own',
            'x-own': 'kept',
            authorization: 'Bearer x',
            'x-webhook-secret': 's',
        },
    });
    await until('the app was called', () => app.requests[0]?.bytes);
    const [seen] = app.requests;
    assert.deepEqual(
        [seen.method, seen.target, seen.bytes.toString()],
        ['PUT', '/deep/path?x=1', 'the body'],
    );
    assert.equal(seen.id, response.id);
    assert.equal(seen.get('x-run-attempt'), '1');
    assert.match(seen.get('x-run-deadline'), /^[1-9][0-9]{9}$/);
    assert.equal(seen.get('content-type'), 'text/x-own');
    assert.equal(seen.get('x-own'), 'kept');
    assert.equal(seen.get('authorization'), 'Bearer x');
    assert.equal(seen.get('accept-encoding'), 'identity');
    assert.equal(seen.get('x-forwarded-for'), '127.0.0.1');
    assert.match(seen.get('traceparent'), /^00-/);
    assert.equal(seen.head.has('x-webhook-secret'), false);
});

test('a synchronous call has neither X-Run-Attempt nor X-Run-Deadline', async (t) => {
    const { app, call } = await shared(t);
    await call();
    assert.equal(app.requests[0].head.has('x-run-attempt'), false);
    assert.equal(app.requests[0].head.has('x-run-deadline'), false);
});

test('X-Run-Deadline is when the grace period ends, counted from when the app was reached', async (t) => {
    const port = await freePort();
    const { sidecar, call, receiver } = await stage(t, {
        app: null,
        env: {
            HOOKLINE_APP_URL: `http://127.0.0.1:${port}`,
            HOOKLINE_RESPONSE_GRACE_PERIOD: '1h',
        },
    });
    const query = { async: 'true', webhookEndpoint: receiver.url('/done') };
    assert.equal((await call(RUN, { query, headers: { 'X-Run-Deadline': '1' } })).status, 202);
    await until('the run waits', () => sidecar.metric('hookline_runs_queued'));
    await sleep(2100); // so that the accept and the call are told apart in seconds
    const before = Date.now();
    const app = await startServer(t, (x) => x.send(200), port);
    await receiver.delivered('/done');
    const deadline = Number(app.requests[0].get('x-run-deadline'));
    assert.ok(deadline >= Math.floor(before / 1000) + 3600, `${deadline}`);
    assert.ok(deadline <= app.requests[0].at / 1000 + 3600, `${deadline}`);
});

test('every framing of the request body works, none too', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    const target = `${RUN}?async=true`;
    await client.send(request('POST', target, {}, 'by length'));
    await client.send(
        Buffer.concat([
            request('POST', target, { 'Transfer-Encoding': 'chunked' }),
            Buffer.from('3\r\nby \r\n6\r\nchunks\r\n0\r\nX-Trailer: 1\r\n\r\n'),
        ]),
    );
    await client.send(request('POST', target, { 'Content-Length': 0 }));
    await client.send(request('POST', target));
    for (let i = 0; i < 4; i++) assert.equal((await client.response()).status, 202);
    await until('four calls of the app', () => app.requests.filter((r) => r.bytes).length === 4);
    const bodies = app.requests.map((r) => r.bytes.toString()).sort();
    assert.deepEqual(bodies, ['', '', 'by chunks', 'by length']);
});

test('the app is called once for each call', async (t) => {
    const { app, call } = await shared(t);
    const responses = await Promise.all(
        Array.from({ length: 100 }, (_, i) => call(RUN, { query: ASYNC, body: `${i}` })),
    );
    const ids = responses.map((r) => r.json().run_id).sort();
    assert.equal(new Set(ids).size, 100);
    await until('100 calls of the app', () => app.requests.filter((r) => r.bytes).length >= 100);
    assert.deepEqual([...app.callsById().keys()].sort(), ids);
    assert.deepEqual(new Set(app.callsById().values()), new Set([1]));
    assert.equal(new Set(app.requests.map((r) => r.bytes.toString())).size, 100);
});

test('a call may go on after its caller has gone', async (t) => {
    const { app, connect, receiver } = await shared(t);
    const client = await connect();
    await client.send(
        request(
            'POST',
            `${RUN}?async=true&webhookEndpoint=${encodeURIComponent(receiver.url())}`,
            {},
            '{}',
        ),
    );
    await client.response();
    client.reset();
    assert.equal((await receiver.envelope()).status, 'success');
    assert.equal(app.requests.length, 1);
});

test('a caller that goes away inside its body has called nothing', async (t) => {
    const { app, connect, call } = await shared(t);
    const client = await connect();
    await client.send(request('POST', `${RUN}?async=true`, { 'Content-Length': 100 }));
    await client.send('only a part');
    client.reset();
    await call();
    assert.equal(app.requests.length, 1, 'only the call after it');
});

test('Prefer: respond-async asks for the same and is told so', async (t) => {
    const { call } = await shared(t);
    for (const prefer of [
        'respond-async',
        'Respond-Async, handling=strict',
        'respond-async, wait=0',
        'return=minimal, respond-async;x=1',
    ]) {
        const response = await call(RUN, { headers: { prefer } });
        assert.equal(response.status, 202, prefer);
        assert.equal(response.headers['preference-applied'], 'respond-async');
    }
    for (const prefer of ['return=minimal', 'respond-async-not', '"respond-async"']) {
        assert.equal((await call(RUN, { headers: { prefer } })).status, 200, prefer);
    }
});

test('what hookline honours of Prefer never reaches the app; what it does not, and what is passed through, does', async (t) => {
    const { app, call } = await stage(t, { app: echo, env: { HOOKLINE_PROJECT_ID: 'p' } });
    const seen = async (headers, { query = {}, path = RUN } = {}) => {
        const { length } = app.requests;
        assert.ok((await call(path, { headers, query })).status < 300);
        await until('the app was called', () => app.requests.length > length);
        return app.requests[length].head.all('prefer').join(' | ');
    };
    assert.equal(await seen({ prefer: 'respond-async' }), '');
    assert.equal(await seen({ prefer: 'respond-async' }, { query: { async: 'false' } }), '');
    assert.equal(await seen({ prefer: 'wait=20' }), '');
    assert.equal(await seen({ prefer: 'wait=5', accept: 'text/event-stream' }), '');
    assert.equal(await seen({ prefer: 'wait=never, return=minimal' }), 'return=minimal');
    assert.equal(await seen({ prefer: ['handling=strict', 'respond-async, return=minimal'] }), 'handling=strict,return=minimal');
    assert.equal(await seen({ prefer: ['a="wait=1,  b"', 'c'] }), 'a="wait=1,  b" | c', 'not a byte is changed where none is ours');
    assert.equal(await seen({ prefer: 'respond-async, wait=1' }, { path: '/elsewhere' }), 'respond-async, wait=1');
});

test('an explicit async wins over Prefer', async (t) => {
    const { call } = await shared(t);
    const headers = { prefer: 'respond-async' };
    const response = await call(RUN, { headers, query: { async: 'false' } });
    assert.equal(response.status, 200);
    assert.equal(response.headers['preference-applied'], undefined);
});

test('an app that is not up yet is waited for', async (t) => {
    const port = await freePort();
    const { call, receiver } = await stage(t, {
        app: null,
        env: { HOOKLINE_APP_URL: `http://127.0.0.1:${port}` },
    });
    const responses = await Promise.all(
        [1, 2, 3].map(() => call(RUN, { query: { ...ASYNC, webhookEndpoint: receiver.url() } })),
    );
    for (const { status } of responses) assert.equal(status, 202);
    await sleep(700); // several tries of hookline's meet nobody
    const app = await startServer(t, echo, port);
    await receiver.delivered('/hook', 3);
    assert.deepEqual([...app.callsById().keys()].sort(), responses.map((r) => r.id).sort());
    for (const { bytes } of receiver.deliveries())
        assert.equal(JSON.parse(bytes).status, 'success');
});

test('an app that does not come up ends the run as upstream_unreachable', async (t) => {
    const { call, receiver } = await stage(t, {
        app: null,
        env: { HOOKLINE_APP_START_TIMEOUT: '600ms' },
    });
    const { id } = await call(RUN, { query: { ...ASYNC, webhookEndpoint: receiver.url() } });
    const envelope = await receiver.envelope();
    assert.equal(envelope.run_id, id);
    assert.equal(envelope.type, 'run.failure');
    assert.equal(envelope.reason, 'upstream_unreachable');
    assert.equal(envelope.response, null);
});

test('the grace period ends a run as timeout and cuts the app off', async (t) => {
    const { app, call, receiver } = await stage(t, {
        app: (x) => x.gone,
        env: { HOOKLINE_RESPONSE_GRACE_PERIOD: '400ms' },
    });
    const { id } = await call(RUN, { query: { ...ASYNC, webhookEndpoint: receiver.url() } });
    const envelope = await receiver.envelope();
    assert.deepEqual(
        [envelope.run_id, envelope.type, envelope.status, envelope.reason],
        [id, 'run.failure', 'failure', 'timeout'],
    );
    assert.equal(envelope.response, null);
    await until('the app was cut off', () => app.openConnections <= 1);
});

test('the grace period bounds a response that never ends, too', async (t) => {
    const { call, receiver } = await stage(t, {
        env: { HOOKLINE_RESPONSE_GRACE_PERIOD: '500ms' },
        app: async (x) => {
            await x.respond(200, { 'Transfer-Encoding': 'chunked' });
            for (let isGone = false; !isGone; ) {
                await x.chunk('more');
                isGone = await Promise.race([x.gone.then(() => true), sleep(50)]);
            }
        },
    });
    await call(RUN, { query: { ...ASYNC, webhookEndpoint: receiver.url() } });
    const envelope = await receiver.envelope();
    assert.deepEqual([envelope.status, envelope.reason], ['failure', 'timeout']);
});

test('a body over HOOKLINE_MAX_REQUEST_BODY is 413, by length and by chunks, and nothing is queued', async (t) => {
    const { app, connect, call } = await stage(t, { env: { HOOKLINE_MAX_REQUEST_BODY: '1KiB' } });
    const target = `${RUN}?async=true`;
    const first = await connect();
    await first.send(request('POST', target, {}, 'x'.repeat(1024)));
    assert.equal((await first.response()).status, 202);
    const second = await connect();
    await second.send(request('POST', target, { 'Content-Length': 1025 }));
    assertProblem(await second.response(), 413);
    const third = await connect();
    await third.send(request('POST', target, { 'Transfer-Encoding': 'chunked' }));
    await third.send(`400\r\n${'x'.repeat(1024)}\r\n1\r\nx\r\n`);
    assertProblem(await third.response(), 413);
    assert.equal(
        (await call(RUN, { body: 'x'.repeat(5000) })).status,
        200,
        'a synchronous call is not bound by it',
    );
    await until('the one accepted run', () => app.requests.length === 2);
});

test('a caller that waits for 100 is told of 413 instead', async (t) => {
    const { connect } = await stage(t, { env: { HOOKLINE_MAX_REQUEST_BODY: '1KiB' } });
    const client = await connect();
    const fields = { Expect: '100-continue', 'Content-Length': 1025 };
    await client.send(request('POST', `${RUN}?async=true`, fields));
    const response = await client.response();
    assertProblem(response, 413);
    assert.deepEqual(response.interim, []);
});

test('GET and HEAD can be asynchronous as well', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    for (const method of ['GET', 'HEAD']) {
        await client.send(request(method, '/v4/p/a/x?async=true'));
        const response = await client.response(method);
        assert.equal(response.status, 202);
        assert.equal(response.text === '', method === 'HEAD');
    }
    await until('both', () => app.requests.length === 2);
    assert.deepEqual(app.requests.map((r) => r.method).sort(), ['GET', 'HEAD']);
});

test('HOOKLINE_MAX_QUEUED_RUNS refuses with 429 and Retry-After, and accepts again later', async (t) => {
    const doors = gate();
    const { app, call } = await stage(t, {
        env: {
            HOOKLINE_MAX_QUEUED_RUNS: '3',
            HOOKLINE_ASYNC_CONCURRENCY: '1',
            HOOKLINE_WORKERS: '1',
        },
        app: async (x) => {
            await doors.promise;
            await x.send(200);
        },
    });
    await call(RUN, { query: ASYNC });
    await until('the first run is inside the app', () => app.requests.length === 1);
    for (let i = 0; i < 3; i++) assert.equal((await call(RUN, { query: ASYNC })).status, 202);
    const refused = await call(RUN, { query: ASYNC });
    assertProblem(refused, 429);
    assert.match(refused.headers['retry-after'], /^[1-9][0-9]*$/);
    doors.open();
    await until('it accepts again', async () => (await call(RUN, { query: ASYNC })).status === 202);
});

test('HOOKLINE_ASYNC_CONCURRENCY bounds the asynchronous runs inside the app', async (t) => {
    const { app: handler, seen } = counting(20);
    const { app, call } = await stage(t, { env: { HOOKLINE_ASYNC_CONCURRENCY: '3' }, app: handler });
    await Promise.all(Array.from({ length: 30 }, () => call(RUN, { query: ASYNC })));
    await until('30 runs', () => app.requests.length === 30 && seen.inside === 0);
    assert.ok(seen.most <= 3, `${seen.most} at once`);
});

test('queued runs survive a restart and run then', async (t) => {
    const doors = gate();
    const { app, call, sidecar, receiver } = await stage(t, {
        env: { HOOKLINE_ASYNC_CONCURRENCY: '1' },
        app: async (x) => {
            await doors.promise;
            await x.send(200);
        },
    });
    const query = { ...ASYNC, webhookEndpoint: receiver.url() };
    const accepted = await Promise.all(
        Array.from({ length: 10 }, () => call(RUN, { query, body: '{}' })),
    );
    await until('one is inside', () => app.requests.length === 1);
    await sidecar.kill();
    doors.open();
    await sidecar.restart();
    await receiver.delivered('/hook', 10);
    const states = receiver
        .deliveries()
        .map(({ bytes }) => JSON.parse(bytes))
        .map((e) => e.reason ?? e.status);
    assert.deepEqual(states.sort(), ['interrupted', ...Array(9).fill('success')]);
    assert.deepEqual([...app.callsById().keys()].sort(), accepted.map((r) => r.id).sort());
    assert.deepEqual(new Set(app.callsById().values()), new Set([1]));
});

test('HOOKLINE_RUN_ATTEMPTS lets an interrupted run run again, and the app can tell', async (t) => {
    const doors = gate();
    const { app, call, sidecar, receiver } = await stage(t, {
        env: { HOOKLINE_RUN_ATTEMPTS: '2' },
        app: async (x) => {
            if (x.get('x-run-attempt') === '1') await doors.promise;
            else await x.send(200, {}, 'second time');
        },
    });
    const { id } = await call(RUN, { query: { ...ASYNC, webhookEndpoint: receiver.url() } });
    await until('it is inside', () => app.requests.length === 1);
    await sidecar.kill();
    await sidecar.restart();
    const envelope = await receiver.envelope();
    assert.deepEqual(
        [envelope.run_id, envelope.status, envelope.response],
        [id, 'success', 'second time'],
    );
    assert.deepEqual(
        app.requests.map((r) => [r.id, r.get('x-run-attempt')]),
        [
            [id, '1'],
            [id, '2'],
        ],
    );
    doors.open();
});

test('a large request body is spilled to disk and arrives whole', async (t) => {
    const { app, call, sidecar } = await stage(t, { env: { HOOKLINE_WORKERS: '1' } });
    const body = Buffer.alloc(20 << 20, 'The quick brown fox. ');
    await call(RUN, { query: ASYNC, body: 'warm' });
    const before = await sidecar.rssAnon();
    await Promise.all([1, 2, 3].map(() => call(RUN, { query: ASYNC, body })));
    await until(
        'three large runs',
        () => app.requests.filter((r) => r.bytes?.equals(body)).length === 3,
    );
    const growth = (await sidecar.rssAnon()) - before;
    assert.ok(growth < 40 << 20, `RssAnon grew by ${growth >> 20} MiB for 60 MiB of bodies`);
});

test('runs are kept in memory with HOOKLINE_STORE=memory, which says what is lost', async (t) => {
    const { call, receiver, sidecar } = await stage(t, { env: { HOOKLINE_STORE: 'memory' } });
    const { id } = await call(RUN, {
        query: { ...ASYNC, webhookEndpoint: receiver.url() },
        body: '{}',
    });
    assert.equal((await receiver.envelope()).run_id, id);
    await sidecar.logged((line) => line.level === 'warn' && /memory/i.test(line.msg));
});

test('HOOKLINE_STORE=memory: the oldest finished body goes first, and what waits alone fills it', async (t) => {
    const doors = gate();
    const body = Buffer.alloc(1 << 20, 'x');
    const { call } = await stage(t, {
        env: { HOOKLINE_STORE: 'memory', HOOKLINE_STORE_MAX_BYTES: '8MiB', HOOKLINE_APP_CONCURRENCY: '1' },
        app: async (x) => {
            await x.body();
            if (x.path === '/wait') await doors.promise;
            await x.send(200, { 'Content-Type': 'text/plain' }, x.path === '/wait' ? '' : body);
        },
    });
    const result = (id) => call(`/v2/projects/p/apps/a/runs/${id}/result`, { method: 'GET' });
    const ended = (id) => until(`${id} has ended`, async () => [200, 410].includes((await result(id)).status));
    const ids = [];
    for (let i = 0; i < 10; i++) {
        ids.push((await call(RUN, { query: ASYNC, body: '{}' })).id);
        await ended(ids.at(-1));
    }
    await until('the first has gone', async () => (await result(ids[0])).status === 410);
    assert.equal((await result(ids.at(-1))).text, body.toString());
    const statuses = [];
    while (statuses.at(-1) !== 503 && statuses.length < 30)
        statuses.push((await call('/v4/p/a/wait', { query: ASYNC, body })).status);
    assert.deepEqual(new Set(statuses), new Set([202, 503]));
    assert.ok(statuses.length >= 7, `${statuses.length - 1} had room`);
    doors.open();
    await until('there is room again', async () => (await call(RUN, { query: ASYNC, body: '{}' })).status === 202);
});

test('HOOKLINE_STORE=memory: bodies on their way have no more memory than the store', async (t) => {
    const piece = Buffer.alloc(1 << 20, 'x');
    const { connect, sidecar } = await stage(t, {
        env: { HOOKLINE_STORE: 'memory', HOOKLINE_STORE_MAX_BYTES: '16MiB', HOOKLINE_WORKERS: '2' },
    });
    const before = await sidecar.rssAnon();
    const uploads = [];
    for (let i = 0; i < 24; i++) {
        const client = await connect();
        await client.send(request('POST', `${RUN}?async=true`, { 'Content-Length': 8 << 20 }));
        for (let sent = 1; sent < 8; sent++) await client.send(piece);
        uploads.push(client);
    }
    await until('all that was sent is read', async () =>
        uploads.every(({ socket }) => socket.writableLength === 0),
    );
    const grown = (await sidecar.rssAnon()) - before;
    assert.ok(grown < 96 << 20, `RssAnon grew by ${grown >> 20} MiB`);
    const statuses = [];
    for (const client of uploads) {
        await client.send(piece);
        statuses.push((await client.response()).status);
    }
    assert.ok(statuses.includes(202), 'some had room');
    assert.ok(statuses.every((status) => status === 202 || status === 503), `${statuses}`);
});
