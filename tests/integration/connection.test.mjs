// Callers' connections and those to the app: keep-alive, pipelining, HTTP/1.0, closing, reuse.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, echo, shared, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { freePort } from './lib/sidecar.mjs';
import { gate, until, within } from './lib/until.mjs';

test('one connection serves many calls, and one to the app is enough for them', async (t) => {
    const { app, connect } = await stage(t, { env: { HOOKLINE_WORKERS: '1' } });
    const client = await connect();
    for (let i = 0; i < 20; i++) {
        await client.send(request('POST', RUN, {}, `body ${i}`));
        assert.equal(JSON.parse((await client.response()).text).body, `body ${i}`);
    }
    assert.equal(new Set(app.requests.map((r) => r.connection)).size, 1);
});

test('pipelined requests are answered in their order', async (t) => {
    const slow = gate();
    const { connect } = await shared(t, {
        app: async (x) => {
            if (x.path === '/slow') await slow.promise;
            await echo(x);
        },
    });
    const client = await connect();
    const paths = ['slow', 'a', 'b', 'c'];
    const bytes = paths.map((path) => request('POST', `/v4/p/a/${path}`, {}, `body of ${path}`));
    await client.send(
        Buffer.concat([
            ...bytes,
            request('GET', '/v2/projects/none'),
            request('GET', '/v4/p/a/last'),
        ]),
    );
    slow.open();
    for (const path of paths) {
        assert.equal(JSON.parse((await client.response()).text).body, `body of ${path}`);
    }
    assert.equal((await client.response()).status, 404);
    assert.equal(JSON.parse((await client.response()).text).target, '/last');
});

test('requests that come byte by byte are read like any other', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    await client.sendInPieces(request('POST', RUN, { 'X-A': 'b' }, 'body'));
    assert.equal((await client.response()).status, 200);
    const bytes = request('POST', RUN, { 'Transfer-Encoding': 'chunked' });
    await client.sendInPieces(
        Buffer.concat([bytes, Buffer.from('3\r\nabc\r\n1\r\nd\r\n0\r\nX-T: 1\r\n\r\n')]),
    );
    assert.equal((await client.response()).status, 200);
    assert.deepEqual(
        app.requests.map((r) => r.bytes.toString()),
        ['body', 'abcd'],
    );
});

test('an app that answers byte by byte is understood', async (t) => {
    const { connect } = await shared(t, {
        app: async (x) => {
            const bytes =
                'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
            for (const byte of bytes) {
                await x.raw(byte);
                await new Promise((resolve) => setImmediate(resolve));
            }
        },
    });
    const client = await connect();
    await client.send(request('POST', RUN, {}, ''));
    assert.equal((await client.response()).text, 'hello');
});

test('Connection: close of the caller ends the connection after the answer', async (t) => {
    const { connect } = await shared(t);
    const client = await connect();
    await client.send(request('POST', RUN, { Connection: 'close' }, ''));
    const response = await client.response();
    assert.equal(response.get('connection'), 'close');
    assert.ok(await client.isClosed());
});

test('Connection: close of the app is not the caller’s', async (t) => {
    const { app, connect } = await shared(t, {
        app: async (x) => {
            await x.send(200, { Connection: 'close' }, 'ok');
            x.end();
        },
    });
    const client = await connect();
    for (let i = 0; i < 3; i++) {
        await client.send(request('POST', RUN, {}, ''));
        const response = await client.response();
        assert.equal(response.text, 'ok');
        assert.doesNotMatch(response.get('connection') ?? '', /close/);
    }
    assert.equal(new Set(app.requests.map((r) => r.connection)).size, 3);
});

test('an HTTP/1.0 caller gets a whole answer without chunks, and the connection is closed', async (t) => {
    const { connect } = await stage(t, {
        app: async (x) => {
            await x.respond(103, { Link: '</x>' });
            await x.respond(200, { 'Transfer-Encoding': 'chunked' });
            await x.chunk('hel');
            await x.chunk('lo');
            await x.lastChunk();
        },
    });
    const client = await connect();
    await client.send('POST /v4/p/a/run HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}');
    const response = await client.response();
    assert.deepEqual(response.interim, []);
    assert.equal(response.framing.kind, 'close');
    assert.equal(response.text, 'hello');
});

/** Ends the call of a caller that has got a part of its response. */
const CUTS = [
    ['its own FIN', ({ client }) => client.end()],
    ['a reset of the app', ({ app }) => app.requests[0].reset()],
    [
        'a second SIGTERM',
        async ({ sidecar }) => {
            sidecar.signal('SIGTERM');
            await until('the first is seen', () => sidecar.log.some((l) => l.msg === 'signal'));
            sidecar.signal('SIGTERM');
            await within('its end', sidecar.exited());
        },
    ],
];
for (const [what, cut] of CUTS) {
    test(`an HTTP/1.0 caller whose response is cut by ${what} sees a reset, not its end`, async (t) => {
        const own = /SIGTERM/.test(what) ? stage : shared;
        const { app, sidecar, connect } = await own(t, {
            app: async (x) => {
                await x.respond(200, { 'Transfer-Encoding': 'chunked' });
                await x.chunk('a part');
                await x.gone;
            },
        });
        const client = await connect();
        const end = new Promise((resolve) => {
            client.socket.once('error', (error) => resolve(error.code));
            client.socket.once('end', () => resolve('FIN'));
        });
        await client.send('GET / HTTP/1.0\r\n\r\n');
        await client.reader.through('a part', 65536);
        await cut({ app, sidecar, client });
        assert.equal(await within('the end', end), 'ECONNRESET');
    });
}

test('an HTTP/1.0 caller may keep its connection', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    for (let i = 0; i < 2; i++) {
        await client.send(
            'POST /v4/p/a/run HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}',
        );
        const response = await client.response();
        assert.equal(response.status, 200);
        assert.match(response.get('connection'), /keep-alive/i);
    }
    assert.equal(app.requests.length, 2);
});

test('a caller that closes its sending half counts as gone', async (t) => {
    const { app, connect } = await shared(t, { app: (x) => x.gone });
    const client = await connect();
    await client.send(request('POST', RUN, {}, 'body'));
    await until('the app was called', () => app.requests.length === 1);
    client.end();
    await within('the app’s connection is closed', app.requests[0].gone);
    await within('the caller’s connection is closed', client.reader.gone);
});

test('a reused connection that the app closed is replaced without the caller noticing', async (t) => {
    const { app, connect } = await stage(t, {
        env: { HOOKLINE_WORKERS: '1' },
        app: async (x) => {
            if (x.path === '/dies' && app.requests.filter((r) => r.path === '/dies').length === 1)
                return x.reset();
            await echo(x);
        },
    });
    const client = await connect();
    await client.send(request('GET', '/v4/p/a/warm'));
    await client.response();
    await client.send(request('GET', '/v4/p/a/dies'));
    assert.equal((await client.response()).status, 200, 'a GET without a body is sent again');
    assert.equal(app.requests.filter((r) => r.path === '/dies').length, 2);
});

for (const [what, body] of [
    ['a POST with a body', 'body'],
    ['a POST without a body', undefined],
]) {
    test(`${what} that died on a reused connection is not sent again`, async (t) => {
        const { app, connect } = await stage(t, {
            env: { HOOKLINE_WORKERS: '1' },
            app: async (x) => {
                await x.body();
                if (x.path === '/dies') return x.reset();
                await x.send(200);
            },
        });
        const client = await connect();
        await client.send(request('GET', '/v4/p/a/warm'));
        await client.response();
        await client.send(request('POST', '/v4/p/a/dies', {}, body));
        assert.equal((await client.response()).status, 502);
        assert.equal(app.requests.filter((r) => r.path === '/dies').length, 1);
    });
}

test('an app that closes behind its answers without saying so loses no POST', async (t) => {
    const { call } = await stage(t, {
        env: { HOOKLINE_WORKERS: '1' },
        app: async (x) => {
            await x.body();
            x.send(200);
            x.end(); // its end is right behind the answer
        },
    });
    const statuses = new Map();
    const count = ({ status }) => statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const calls = async () => {
        for (let i = 0; i < 40; i++) count(await call(RUN, { body: `${i}` }));
    };
    count(await call());
    await Promise.all(Array.from({ length: 16 }, calls));
    assert.deepEqual([...statuses], [[200, 641]]);
});

test('bursts of POSTs leave no more connections open than there were calls at once', async (t) => {
    const AT_ONCE = 10;
    let all = gate();
    let inside = 0;
    const { app, call } = await stage(t, {
        env: { HOOKLINE_WORKERS: '1' },
        app: async (x) => {
            await x.body();
            if (++inside === AT_ONCE) all.open();
            await all.promise;
            await x.send(200, { 'Keep-Alive': 'timeout=1' }); // soon too old for a POST
        },
    });
    for (let i = 0; i < 5; i++) {
        [all, inside] = [gate(), 0];
        await Promise.all(Array.from({ length: AT_ONCE }, () => call(RUN, { body: '{}' })));
        await until('all of them have aged', () => new Promise((resolve) => setTimeout(resolve, 5, true)));
    }
    await until('few are left', () => app.openConnections <= AT_ONCE + 3);
});

test('what follows a response unasked spoils the connection, not the next call', async (t) => {
    const { app, connect } = await stage(t, {
        env: { HOOKLINE_WORKERS: '1' },
        app: async (x) => {
            await x.raw(
                'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison',
            );
        },
    });
    const client = await connect();
    for (let i = 0; i < 3; i++) {
        await client.send(request('POST', RUN, {}, ''));
        assert.equal((await client.response()).text, 'ok');
    }
    assert.equal(new Set(app.requests.map((r) => r.connection)).size, 3);
});

test('the caller gone, the call to the app is cut', async (t) => {
    const { app, connect } = await shared(t, { app: (x) => x.gone });
    const client = await connect();
    await client.send(request('POST', RUN, {}, '{}'));
    await until('the app was called', () => app.requests.length === 1);
    client.close();
    await within('the app’s connection is closed', app.requests[0].gone);
});

test('HOOKLINE_LISTEN takes several addresses, of both families', async (t) => {
    const ports = [await freePort(), await freePort()];
    const { sidecar } = await stage(t, {
        wait: false,
        env: { HOOKLINE_LISTEN: `127.0.0.1:${ports[0]},[::1]:${ports[1]}` },
    });
    for (const [i, host] of ['127.0.0.1', '[::1]'].entries()) {
        const url = `http://${host}:${ports[i]}${RUN}`;
        await until(`${host} answers`, async () => {
            assert.ok(sidecar.isRunning);
            const response = await fetch(url, { method: 'POST', body: host }).catch(() => null);
            return response && (await response.json()).body === host;
        });
    }
});

test('what follows Connection: close on the same connection is not served', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    const last = request('POST', RUN, { Connection: 'close' }, 'last');
    await client.send(Buffer.concat([last, request('POST', RUN, {}, 'too late')]));
    assert.equal((await client.response()).status, 200);
    assert.ok(await client.isClosed());
    assert.equal(app.requests.length, 1);
});

test('a thousand idle connections cost little and disturb nobody', async (t) => {
    const { call, connect, sidecar } = await stage(t, { env: { HOOKLINE_WORKERS: '1' } });
    await call();
    const before = await sidecar.rssAnon();
    for (let i = 0; i < 1000; i++) await connect();
    await until(
        'all are taken',
        async () => (await sidecar.metric('hookline_connections_open')) > 1000,
    );
    assert.equal((await call()).status, 200);
    assert.ok((await sidecar.rssAnon()) - before < 16 << 20);
});
