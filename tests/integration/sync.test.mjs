// A synchronous call passes through as it is: methods, statuses, bodies in every framing, trailers, interim responses.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, echo, shared, stage } from './lib/stage.mjs';
import { chunk, request } from './lib/raw.mjs';
import { gate, until } from './lib/until.mjs';

const BODYLESS = new Set([204, 205, 304]);

test('the app’s status, reason and body are the caller’s', async (t) => {
    const { connect } = await shared(t, {
        app: async (x) => {
            const status = Number(x.path.slice(1));
            if (status === 204 || status === 304) await x.respond(status, { 'X-Status': status });
            else
                await x.send(
                    status,
                    { 'X-Status': status },
                    BODYLESS.has(status) ? '' : `body of ${status}`,
                );
        },
    });
    const client = await connect();
    for (const status of [
        200, 201, 202, 204, 206, 226, 299, 301, 302, 304, 307, 400, 401, 404, 405, 409, 410, 418,
        422, 429, 451, 500, 501, 503, 504, 599,
    ]) {
        await client.send(request('POST', `/v4/p/a/${status}`, {}, ''));
        const response = await client.response('POST');
        assert.equal(response.status, status);
        assert.equal(response.reason, 'Scripted');
        assert.equal(response.get('x-status'), String(status));
        assert.equal(response.text, BODYLESS.has(status) ? '' : `body of ${status}`);
    }
});

test('through a unix socket to the app just the same', async (t) => {
    const { app, call } = await stage(t, { unix: true });
    const response = await call(RUN, { body: 'over a unix socket' });
    assert.equal(response.json().body, 'over a unix socket');
    assert.equal(
        app.requests[0].get('host'),
        new URL(`http://${app.requests[0].get('host')}`).host,
    );
});

for (const size of [0, 1, 100, 65_535, 65_536, 1 << 20, 10 << 20]) {
    test(`a body of ${size} bytes is echoed whole, by length and by chunks`, async (t) => {
        const { app, connect } = await shared(t, {
            app: async (x) => {
                const body = await x.body();
                if (x.path === '/length') return x.send(200, {}, body);
                await x.respond(200, { 'Transfer-Encoding': 'chunked' });
                for (let at = 0; at < body.length; at += 70_000)
                    await x.chunk(body.subarray(at, at + 70_000));
                await x.lastChunk();
            },
        });
        const body = randomBytes(size);
        const client = await connect();
        for (const path of ['/length', '/chunked']) {
            void client.send(request('POST', `/v4/p/a${path}`, {}, body));
            assert.ok((await client.response()).body.equals(body), `${path}, sent by length`);
            const head = request('POST', `/v4/p/a${path}`, { 'Transfer-Encoding': 'chunked' });
            const pieces = [head];
            for (let at = 0; at < size; at += 50_000)
                pieces.push(chunk(body.subarray(at, at + 50_000)));
            void client.send(Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]));
            assert.ok((await client.response()).body.equals(body), `${path}, sent in chunks`);
        }
        for (const seen of app.requests) assert.ok(seen.bytes.equals(body));
    });
}

test('a response that ends with the connection is passed whole, and the caller is told where it ends', async (t) => {
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(200, { 'Content-Type': 'text/plain' });
            await x.raw('until ');
            await x.raw('close');
            x.end();
        },
    });
    const client = await connect();
    for (let i = 0; i < 2; i++) {
        await client.send(request('POST', RUN, {}, ''));
        const response = await client.response();
        assert.equal(response.text, 'until close');
        assert.equal(response.framing.kind, 'chunked', 'the connection can be used again');
    }
});

test('a request without a body stays without one', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    await client.send(request('GET', '/v4/p/a/x'));
    await client.response();
    await client.send(request('POST', RUN, { 'Content-Length': 0 }));
    await client.response();
    assert.deepEqual(
        app.requests.map((r) => r.head.framing.kind),
        ['none', 'length'],
    );
});

test('a chunked request reaches the app chunked, extensions dropped', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    await client.send(request('POST', RUN, { 'Transfer-Encoding': 'chunked' }));
    await client.send('3;ext=1;q="a;b"\r\nabc\r\nA\r\n0123456789\r\n000\r\n\r\n');
    assert.equal((await client.response()).status, 200);
    assert.equal(app.requests[0].head.framing.kind, 'chunked');
    assert.equal(app.requests[0].bytes.toString(), 'abc0123456789');
});

test('a request body reaches the app while the caller is still sending', async (t) => {
    const first = gate();
    const { connect } = await shared(t, {
        app: async (x) => {
            for await (const piece of x.pieces()) first.open(piece.toString());
            await x.send(200, {}, 'done');
        },
    });
    const client = await connect();
    await client.send(request('POST', RUN, { 'Content-Length': 10 }));
    await client.send('first');
    assert.equal(await first.promise, 'first');
    await client.send('later');
    assert.equal((await client.response()).text, 'done');
});

test('a response body reaches the caller while the app is still sending', async (t) => {
    const more = gate();
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(200, { 'Content-Length': 10 });
            await x.raw('first');
            await more.promise;
            await x.raw('later');
        },
    });
    const client = await connect();
    await client.send(request('POST', RUN, {}, ''));
    const head = await client.responseHead();
    const pieces = client.pieces(head);
    assert.equal((await pieces.next()).value.toString(), 'first');
    more.open();
    assert.equal((await pieces.next()).value.toString(), 'later');
});

test('a response that comes before the request’s end reaches the caller at once', async (t) => {
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.send(413, {}, 'too much');
            x.end();
        },
    });
    const client = await connect();
    await client.send(request('POST', RUN, { 'Content-Length': 1_000_000 }));
    await client.send('only a little');
    const response = await client.response();
    assert.equal(response.status, 413);
    assert.equal(response.text, 'too much');
});

test('trailers reach a caller that takes them, and no field of ours is let in through them', async (t) => {
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(200, { 'Transfer-Encoding': 'chunked', Trailer: 'X-Checksum' });
            await x.chunk('body');
            await x.lastChunk({
                'X-Checksum': 'abc',
                'X-Request-Id': 'spoof',
                'Content-Length': '3',
                'Transfer-Encoding': 'x',
            });
        },
    });
    const client = await connect();
    await client.send(request('POST', RUN, { TE: 'trailers', Connection: 'TE' }, ''));
    const response = await client.response();
    assert.equal(response.text, 'body');
    assert.deepEqual(response.trailers, [['X-Checksum', 'abc']]);
});

test('trailers of a request reach the app', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    await client.send(request('POST', RUN, { 'Transfer-Encoding': 'chunked', Trailer: 'X-Sum' }));
    await client.send('4\r\nbody\r\n0\r\nX-Sum: 42\r\nX-Request-Id: spoof\r\nHost: evil\r\n\r\n');
    assert.equal((await client.response()).status, 200);
    assert.deepEqual(app.requests[0].head.trailers, [['X-Sum', '42']]);
});

test('HEAD has the head of the answer and no body, the connection goes on', async (t) => {
    const { connect } = await shared(t, {
        app: (x) =>
            x.method === 'HEAD'
                ? x.respond(200, { 'Content-Length': 12345, ETag: '"x"' })
                : x.send(200, {}, 'body'),
    });
    const client = await connect();
    await client.send(request('HEAD', '/v4/p/a/file'));
    const response = await client.response('HEAD');
    assert.equal(response.get('content-length'), '12345');
    assert.equal(response.get('etag'), '"x"');
    await client.send(request('GET', '/v4/p/a/file'));
    assert.equal((await client.response()).text, 'body');
});

test('an error of hookline’s own to HEAD has no body either', async (t) => {
    const { connect } = await shared(t);
    const client = await connect();
    await client.send(request('HEAD', '/v2/projects/none'));
    const response = await client.response('HEAD');
    assert.equal(response.status, 404);
    await client.send(request('GET', '/v4/p/a/x'));
    assert.equal((await client.response()).status, 200);
});

test('a 304 keeps its Content-Length and has no body', async (t) => {
    const { connect } = await shared(t, {
        app: (x) =>
            x.path === '/304' ? x.respond(304, { 'Content-Length': 99, ETag: '"x"' }) : echo(x),
    });
    const client = await connect();
    await client.send(request('GET', '/v4/p/a/304'));
    const response = await client.response();
    assert.deepEqual([response.status, response.get('etag'), response.text], [304, '"x"', '']);
    await client.send(request('GET', '/v4/p/a/x'));
    assert.equal((await client.response()).status, 200);
});

test('interim responses are passed on before the final one', async (t) => {
    const hints = gate();
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(103, { Link: '</style.css>; rel=preload' }, 'Early Hints');
            await x.respond(102, {}, 'Processing');
            await hints.promise;
            await x.send(200, {}, 'final');
        },
    });
    const client = await connect();
    await client.send(request('POST', RUN, {}, ''));
    const whole = client.response();
    await until('the sidecar passed something on', () => client.socket.bytesRead > 0);
    hints.open();
    const response = await whole;
    assert.deepEqual(
        response.interim.map((r) => r.status),
        [103, 102],
    );
    assert.equal(response.interim[0].get('link'), '</style.css>; rel=preload');
    assert.equal(response.text, 'final');
});

test('Expect: 100-continue is the app’s to answer, and the body follows', async (t) => {
    const { app, connect } = await shared(t, {
        app: async (x) => {
            if (x.head.has('expect')) await x.respond(100, {}, 'Continue');
            await echo(x);
        },
    });
    const client = await connect();
    await client.send(request('POST', RUN, { Expect: '100-continue', 'Content-Length': 4 }));
    await until('100 Continue', () => client.socket.bytesRead > 0);
    await client.send('body');
    const response = await client.response();
    assert.deepEqual(
        response.interim.map((r) => r.status),
        [100],
    );
    assert.equal(response.status, 200);
    assert.equal(app.requests[0].bytes.toString(), 'body');
});

test('a caller that does not wait for 100 is served by an app that never sends it', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    await client.send(request('POST', RUN, { Expect: '100-continue' }, 'body'));
    const response = await client.response();
    assert.equal(response.status, 200);
    assert.equal(app.requests[0].bytes.toString(), 'body');
});

test('an app may refuse instead of sending 100', async (t) => {
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.send(401, { 'X-Why': 'no token' });
            x.end();
        },
    });
    const client = await connect();
    await client.send(request('POST', RUN, { Expect: '100-continue', 'Content-Length': 4 }));
    const response = await client.response();
    assert.deepEqual([response.status, response.interim.length], [401, 0]);
});

test('Expect: 100-continue works for an asynchronous call', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    await client.send(
        request('POST', `${RUN}?async=true`, { Expect: '100-continue', 'Content-Length': 4 }),
    );
    await until('100 Continue', () => client.socket.bytesRead > 0);
    await client.send('body');
    assert.equal((await client.response()).status, 202);
    await until('the app was called', () => app.requests[0]?.bytes);
    assert.equal(app.requests[0].bytes.toString(), 'body');
});

test('a caller that expects to be told gets the refusal instead of 100', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    await client.send(
        request('POST', `${RUN}?async=maybe`, { Expect: '100-continue', 'Content-Length': 4 }),
    );
    const response = await client.response();
    assert.deepEqual(response.interim, []);
    assertProblem(response, 400);
    assert.equal(app.requests.length, 0);
});

test('an unknown expectation is 417', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    await client.send(request('POST', RUN, { Expect: 'a-miracle' }, 'body'));
    assertProblem(await client.response(), 417);
    assert.equal(app.requests.length, 0);
});

test('many calls at once do not mix', async (t) => {
    const { call } = await shared(t);
    const bodies = Array.from({ length: 200 }, (_, i) => `call ${i} ${'x'.repeat(i * 50)}`);
    const responses = await Promise.all(bodies.map((body) => call(RUN, { body })));
    assert.deepEqual(
        responses.map((r) => r.json().body),
        bodies,
    );
    assert.equal(new Set(responses.map((r) => r.id)).size, bodies.length);
});
