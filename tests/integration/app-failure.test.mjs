// An app that is down, dies, or does not speak HTTP: what callers and webhooks are told.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, shared, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { freePort } from './lib/sidecar.mjs';
import { startServer } from './lib/server.mjs';
import { until } from './lib/until.mjs';

/** Answers by path. */
const byPath = (answers) => async (x) => {
    await x.body();
    await answers[x.path.slice(1)](x);
};

test('an app that is down is 502 after HOOKLINE_CONNECT_TIMEOUT', async (t) => {
    const { call } = await stage(t, { app: null, env: { HOOKLINE_CONNECT_TIMEOUT: '400ms' } });
    const response = await call();
    assertProblem(response, 502);
    assert.ok(response.ms >= 350, 'it was tried until then');
});

test('an app that comes up within HOOKLINE_CONNECT_TIMEOUT answers', async (t) => {
    const port = await freePort();
    const { call } = await stage(t, {
        app: null,
        env: { HOOKLINE_APP_URL: `http://127.0.0.1:${port}` },
    });
    const pending = call(RUN, { body: 'patience' });
    setTimeout(() => startServer(t, async (x) => x.send(200, {}, await x.body()), port), 600);
    const response = await pending;
    assert.deepEqual([response.status, response.text], [200, 'patience']);
});

test('a unix socket that is not there is 502, too', async (t) => {
    const { call } = await stage(t, {
        app: null,
        env: { HOOKLINE_APP_URL: 'unix:/nonexistent/app.sock', HOOKLINE_CONNECT_TIMEOUT: '200ms' },
    });
    assertProblem(await call(), 502);
});

test('an app that dies before its response is 502', async (t) => {
    const { call } = await shared(t, {
        app: byPath({
            reset: (x) => x.reset(),
            close: (x) => x.end(),
            half: (x) => x.raw('HTTP/1.1 200 OK\r\nContent-Le').then(() => x.end()),
        }),
    });
    for (const path of ['reset', 'close', 'half']) {
        assertProblem(await call(`/v4/p/a/${path}`, { body: '{}' }), 502);
    }
});

test('an app that dies inside its body breaks the caller’s response, and is not passed off as whole', async (t) => {
    const { connect, call } = await shared(t, {
        app: byPath({
            length: async (x) => {
                await x.respond(200, { 'Content-Length': 100 });
                await x.raw('only this');
                x.end();
            },
            chunks: async (x) => {
                await x.respond(200, { 'Transfer-Encoding': 'chunked' });
                await x.chunk('only this');
                x.end();
            },
            reset: async (x) => {
                await x.respond(200, { 'Transfer-Encoding': 'chunked' });
                await x.chunk('only this');
                await new Promise((resolve) => setTimeout(resolve, 50));
                x.reset();
            },
            broken: async (x) => {
                await x.respond(200, { 'Transfer-Encoding': 'chunked' });
                await x.chunk('only this');
                await x.raw('not a chunk size\r\n');
            },
            ok: (x) => x.send(200),
        }),
    });
    for (const path of ['length', 'chunks', 'reset', 'broken']) {
        const client = await connect();
        await client.send(request('POST', `/v4/p/a/${path}`, {}, '{}'));
        const head = await client.responseHead();
        assert.equal(head.status, 200);
        await assert.rejects(
            async () => {
                for await (const piece of client.pieces(head))
                    assert.equal(piece.toString(), 'only this');
            },
            undefined,
            path,
        );
        assert.equal((await call('/v4/p/a/ok')).status, 200, 'the next call is fine');
    }
});

test('webhooks say how the app failed', async (t) => {
    const { call, receiver } = await shared(t, {
        app: byPath({
            reset: (x) => x.reset(),
            partial: async (x) => {
                await x.respond(200, { 'Content-Type': 'text/plain', 'Content-Length': 100 });
                await x.raw('only this');
                x.end();
            },
            garbage: (x) => x.raw('NOT HTTP AT ALL\r\n\r\n'),
            chunk: async (x) => {
                await x.respond(200, { 'Transfer-Encoding': 'chunked' });
                await x.raw('zz\r\n');
            },
        }),
    });
    const expected = {
        reset: ['upstream_reset', null],
        partial: ['upstream_reset', 200],
        garbage: ['bad_response', null],
        chunk: ['bad_response', 200],
    };
    for (const mode of [{}, { async: 'true' }]) {
        for (const [path, [reason, status]] of Object.entries(expected)) {
            const hook = `/${path}/${mode.async}`;
            await call(`/v4/p/a/${path}`, {
                query: { ...mode, webhookEndpoint: receiver.url(hook) },
                body: '{}',
            }).catch(() => {});
            const envelope = await receiver.envelope(hook);
            assert.deepEqual(
                [envelope.type, envelope.status, envelope.reason],
                ['run.failure', 'failure', reason],
                hook,
            );
            assert.equal(envelope.status_code, status, hook);
        }
    }
});

test('a synchronous call to an app that is down sends its webhook as well', async (t) => {
    const { call, receiver } = await stage(t, {
        app: null,
        env: { HOOKLINE_CONNECT_TIMEOUT: '200ms' },
    });
    const response = await call(RUN, { query: { webhookEndpoint: receiver.url() } });
    assert.equal(response.status, 502);
    const envelope = await receiver.envelope();
    assert.deepEqual(
        [envelope.run_id, envelope.reason, envelope.response],
        [response.id, 'upstream_unreachable', null],
    );
});

test('a response that is not valid HTTP is 502', async (t) => {
    const heads = {
        'no status line': 'HELLO\r\n\r\n',
        'other protocol': 'RTSP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n',
        ICE: 'ICY 200 OK\r\n\r\n',
        'HTTP/2': 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n',
        'status of two digits': 'HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n',
        'status 600 upward': 'HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n',
        'status 0': 'HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n',
        'obs-fold': 'HTTP/1.1 200 OK\r\nX-A: 1\r\n folded\r\nContent-Length: 0\r\n\r\n',
        'no colon': 'HTTP/1.1 200 OK\r\nNoColon\r\nContent-Length: 0\r\n\r\n',
        'space before colon': 'HTTP/1.1 200 OK\r\nX-A : 1\r\nContent-Length: 0\r\n\r\n',
        'NUL in a value': 'HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n',
        'bare CR in a value': 'HTTP/1.1 200 OK\r\nX-A: a\rb\r\nContent-Length: 0\r\n\r\n',
        'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
        'a length that is none': 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n',
        'length and chunked':
            'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        'unknown coding': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n',
    };
    const names = Object.keys(heads);
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.raw(Buffer.from(heads[names[Number(x.path.slice(1))]], 'latin1'));
            x.end();
        },
    });
    for (const [i, name] of names.entries()) {
        const client = await connect();
        await client.send(request('POST', `/v4/p/a/${i}`, {}, '{}'));
        const response = await client.response();
        assert.equal(response.status, 502, name);
        assertProblem(response, 502);
    }
});

test('a response head over HOOKLINE_MAX_HEAD is 502', async (t) => {
    const { call } = await stage(t, {
        env: { HOOKLINE_MAX_HEAD: '8KiB' },
        app: (x) => x.send(200, { 'X-Big': 'x'.repeat(9000) }),
    });
    assertProblem(await call(), 502);
});

test('an app that is gone and back is used again', async (t) => {
    const port = await freePort();
    const context = await stage(t, {
        app: null,
        env: { HOOKLINE_APP_URL: `http://127.0.0.1:${port}`, HOOKLINE_CONNECT_TIMEOUT: '1s' },
    });
    const first = await startServer(t, (x) => x.send(200, {}, 'first'), port);
    assert.equal((await context.call()).text, 'first');
    await first.close();
    assert.equal((await context.call()).status, 502);
    await startServer(t, (x) => x.send(200, {}, 'second'), port);
    await until('it answers again', async () => (await context.call()).text === 'second');
});

test('kept connections are closed when the app is not ready any more', async (t) => {
    let isReady = true;
    const { app, call, sidecar } = await stage(t, {
        app: (x) => x.send(x.path === '/health' && !isReady ? 500 : 200),
        env: { HOOKLINE_APP_HEALTH_PATH: '/health', HOOKLINE_WORKERS: '2' },
    });
    await Promise.all(Array.from({ length: 8 }, () => call()));
    assert.ok(app.openConnections > 1, 'some are kept');
    isReady = false;
    await until('it is not ready', async () => (await sidecar.probe('/_hookline/readyz')) === 503);
    await until('none but the check’s is open', () => app.openConnections <= 1);
    assert.equal((await call()).status, 200, 'a call tries the app itself');
});
