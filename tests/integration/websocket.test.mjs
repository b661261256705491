// WebSocket upgrades are tunnelled both ways after the app's 101; every other upgrade is stripped.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { WebSocket, WebSocketServer } from 'ws';
import { test } from './lib/case.mjs';
import { RUN, UUID_V7, assertProblem, echo, stage } from './lib/stage.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { request } from './lib/raw.mjs';
import { gate, until, within } from './lib/until.mjs';

const UPGRADE = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': 13,
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** An app that speaks WebSocket with `ws`: `onSocket(webSocket, exchange)`. */
function webSocketApp(onSocket, options) {
    const server = new WebSocketServer({ noServer: true, ...options });
    return (exchange) => {
        const { socket, reader } = exchange.take();
        const headers = Object.fromEntries(
            exchange.head.fields.map(([n, v]) => [n.toLowerCase(), v]),
        );
        const message = { method: exchange.method, url: exchange.target, headers };
        server.handleUpgrade(message, socket, reader.release(), (ws) => onSocket(ws, exchange));
    };
}

const echoes = (options) =>
    webSocketApp((ws) => ws.on('message', (data, binary) => ws.send(data, { binary })), options);

async function openSocket(t, sidecar, path = '/v4/p/a/socket', ...rest) {
    const ws = new WebSocket(`ws://127.0.0.1:${sidecar.port}${path}`, ...rest);
    atEnd(t, () => ws.terminate());
    await once(ws, 'open');
    return ws;
}

/** An app that answers 101 and gives the bare connection to `onTunnel`. */
function tunnelApp(onTunnel) {
    return async (exchange) => {
        await exchange.respond(101, {
            Connection: 'Upgrade',
            Upgrade: 'websocket',
            'Sec-WebSocket-Accept': 'x',
        });
        const { socket, reader } = exchange.take();
        onTunnel(socket, reader);
    };
}

test('text and binary messages go both ways', async (t) => {
    const { app, sidecar } = await stage(t, { app: echoes() });
    const ws = await openSocket(t, sidecar, '/v4/p/a/socket?room=1');
    for (const message of ['hello', '', 'ä'.repeat(1000), randomBytes(200_000)]) {
        ws.send(message);
        const [data, isBinary] = await once(ws, 'message');
        assert.equal(isBinary, typeof message !== 'string');
        assert.ok(Buffer.from(message).equals(data));
    }
    assert.equal(app.requests[0].target, '/socket?room=1');
    assert.equal(app.requests[0].get('upgrade'), 'websocket');
    assert.match(app.requests[0].get('connection'), /upgrade/i);
    assert.match(app.requests[0].id, UUID_V7);
});

test('compression and subprotocols are the two ends’ business', async (t) => {
    const { sidecar } = await stage(t, {
        app: echoes({ perMessageDeflate: true, handleProtocols: () => 'chat.v2' }),
    });
    const ws = await openSocket(t, sidecar, '/socket', ['chat.v1', 'chat.v2'], {
        perMessageDeflate: true,
    });
    assert.equal(ws.protocol, 'chat.v2');
    assert.match(ws.extensions, /permessage-deflate/);
    ws.send('x'.repeat(100_000));
    const [data] = await once(ws, 'message');
    assert.equal(data.length, 100_000);
});

test('a close handshake started by either side passes with its code', async (t) => {
    const { sidecar } = await stage(t, {
        app: webSocketApp((ws) => ws.on('message', () => ws.close(4001, 'by the app'))),
    });
    const first = await openSocket(t, sidecar);
    first.send('close me');
    const [code, reason] = await once(first, 'close');
    assert.deepEqual([code, reason.toString()], [4001, 'by the app']);
    const second = await openSocket(t, sidecar);
    second.close(4002, 'by the caller');
    const [echoed] = await once(second, 'close');
    assert.equal(echoed, 4002);
});

test('many sockets at once keep their messages apart', async (t) => {
    const { sidecar } = await stage(t, { app: echoes() });
    const sockets = await Promise.all(Array.from({ length: 50 }, () => openSocket(t, sidecar)));
    await Promise.all(
        sockets.map(async (ws, i) => {
            for (let n = 0; n < 10; n++) {
                ws.send(`socket ${i} message ${n}`);
                const [data] = await once(ws, 'message');
                assert.equal(data.toString(), `socket ${i} message ${n}`);
            }
        }),
    );
});

test('bytes sent right behind the upgrade and right behind the 101 are not lost', async (t) => {
    const { connect } = await stage(t, {
        app: async (x) => {
            await x.raw(
                'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly from the app',
            );
            const { socket, reader } = x.take();
            socket.write(await reader.exactly('early from the caller'.length));
        },
    });
    const client = await connect();
    await client.send(
        Buffer.concat([request('GET', '/v4/p/a/x', UPGRADE), Buffer.from('early from the caller')]),
    );
    const head = await client.responseHead();
    assert.equal(head.status, 101);
    assert.match(head.get('x-request-id'), UUID_V7);
    const expected = 'early from the appearly from the caller';
    assert.equal((await client.reader.exactly(expected.length)).toString(), expected);
});

test('half-close passes in both directions', async (t) => {
    const { connect } = await stage(t, {
        app: tunnelApp(async (socket, reader) => {
            const all = await reader.rest();
            socket.end(`got ${all.length}`);
        }),
    });
    const client = await connect();
    await client.send(request('GET', '/v4/p/a/x', UPGRADE));
    assert.equal((await client.responseHead()).status, 101);
    await client.send(Buffer.alloc(300_000, 'x'));
    client.end();
    assert.equal((await client.reader.rest()).toString(), 'got 300000');

    const { connect: connectOther } = await stage(t, {
        app: tunnelApp(async (socket, reader) => {
            socket.end('bye');
            received = await reader.rest();
        }),
    });
    let received;
    const other = await connectOther();
    await other.send(request('GET', '/v4/p/a/x', UPGRADE));
    await other.responseHead();
    assert.equal((await other.reader.rest()).toString(), 'bye');
    await other.send('still talking');
    other.end();
    await until('the app read it', () => received);
    assert.equal(received.toString(), 'still talking');
});

test('a reset of either side reaches the other', async (t) => {
    const tunnels = [];
    const { connect } = await stage(t, {
        app: tunnelApp((socket, reader) => tunnels.push({ socket, reader })),
    });
    const first = await connect();
    await first.send(request('GET', '/v4/p/a/x', UPGRADE));
    await first.responseHead();
    await until('the tunnel', () => tunnels.length === 1);
    first.reset();
    await within('the app’s side is closed', tunnels[0].reader.gone);
    const second = await connect();
    await second.send(request('GET', '/v4/p/a/x', UPGRADE));
    await second.responseHead();
    await until('the tunnel', () => tunnels.length === 2);
    tunnels[1].socket.resetAndDestroy();
    await within('the caller’s side is closed', second.reader.gone);
});

test('a tunnel pushes back on whoever sends too fast', async (t) => {
    const big = Buffer.alloc(1 << 20);
    let sent = 0;
    const { sidecar, connect } = await stage(t, {
        app: tunnelApp(async (socket) => {
            socket.on('drain', push);
            push();
            function push() {
                while (sent < 256 && socket.write(big)) sent++;
                sent++;
                if (sent >= 256) socket.end();
            }
        }),
    });
    const client = await connect();
    await client.send(request('GET', '/v4/p/a/x', UPGRADE));
    await client.responseHead();
    client.socket.pause();
    const before = await sidecar.rssAnon();
    let last = -1;
    await until('the sender stands still', async () => {
        const isStill = sent === last;
        last = sent;
        await new Promise((resolve) => setTimeout(resolve, 300));
        return isStill;
    });
    assert.ok(sent < 200, `${sent} MiB went into a tunnel that nobody reads`);
    assert.ok((await sidecar.rssAnon()) - before < 48 << 20);
});

test('a refused upgrade is an ordinary response and the connection goes on', async (t) => {
    const { app, connect } = await stage(t, {
        app: (x) => (x.head.has('upgrade') ? x.send(403, { 'X-Why': 'no' }, 'refused') : echo(x)),
    });
    const client = await connect();
    await client.send(request('GET', '/v4/p/a/x', UPGRADE));
    const response = await client.response();
    assert.deepEqual(
        [response.status, response.text, response.get('x-why')],
        [403, 'refused', 'no'],
    );
    await client.send(request('GET', '/v4/p/a/y'));
    assert.equal((await client.response()).status, 200);
    assert.equal(app.requests.length, 2);
});

test('every other upgrade is stripped and served as plain HTTP', async (t) => {
    const { app, connect } = await stage(t);
    const h2c = {
        Connection: 'Upgrade, HTTP2-Settings',
        Upgrade: 'h2c',
        'HTTP2-Settings': 'AAMAAABkAAQAAP__',
    };
    const attempts = [
        ['GET', h2c],
        ['POST', h2c],
        ['POST', UPGRADE],
        ['GET', { Connection: 'upgrade', Upgrade: 'TLS/1.0' }],
        ['GET', { Connection: 'upgrade', Upgrade: 'h2c, websocket2' }],
        ['GET', { Upgrade: 'websocket' }],
    ];
    for (const [method, fields] of attempts) {
        const client = await connect();
        await client.send(
            request(method, '/v4/p/a/x', fields, method === 'POST' ? '{}' : undefined),
        );
        assert.equal((await client.response()).status, 200);
        const seen = app.requests.at(-1);
        assert.equal(seen.head.has('upgrade'), false, JSON.stringify(fields));
        assert.equal(seen.head.has('http2-settings'), false);
        assert.doesNotMatch(seen.get('connection') ?? '', /upgrade|http2/i);
    }
});

test('a 101 that nobody asked for is 502', async (t) => {
    const { connect } = await stage(t, {
        app: (x) => x.respond(101, { Connection: 'Upgrade', Upgrade: 'websocket' }),
    });
    const client = await connect();
    await client.send(request('GET', '/v4/p/a/x'));
    assertProblem(await client.response(), 502);
});

test('webhookEndpoint on an upgrade is ignored', async (t) => {
    const upgraded = echoes();
    const { app, call, receiver, sidecar } = await stage(t, {
        app: (x) => (x.head.has('upgrade') ? upgraded(x) : echo(x)),
    });
    const hook = encodeURIComponent(receiver.url());
    const ws = await openSocket(t, sidecar, `/v4/p/a/socket?webhookEndpoint=${hook}&x=1`);
    ws.send('hello');
    await once(ws, 'message');
    ws.close();
    await once(ws, 'close');
    assert.equal(app.requests[0].target, '/socket?x=1');
    const plain = await call(RUN, { query: { webhookEndpoint: receiver.url() } });
    assert.equal((await receiver.envelope()).run_id, plain.id);
    assert.equal(receiver.requests.length, 1, 'only the plain call was forwarded');
});

test('async=true on an upgrade is 400', async (t) => {
    const { app, connect } = await stage(t);
    const client = await connect();
    await client.send(request('GET', '/v4/p/a/x?async=true', UPGRADE));
    assertProblem(await client.response(), 400);
    assert.equal(app.requests.length, 0);
});

test('HOOKLINE_TUNNEL_DRAIN closes tunnels after SIGTERM, not calls', async (t) => {
    const doors = gate();
    const sockets = echoes();
    const { app, sidecar, call } = await stage(t, {
        env: { HOOKLINE_DRAIN_TIMEOUT: '1h', HOOKLINE_TUNNEL_DRAIN: '300ms' },
        app: async (x) => {
            if (x.target === '/late') await doors.promise;
            if (/socket|late/.test(x.target)) return sockets(x);
            await doors.promise;
            await x.send(200);
        },
    });
    const ws = await openSocket(t, sidecar);
    const late = openSocket(t, sidecar, '/v4/p/a/late');
    const running = call();
    await until('all are inside the app', () => app.requests.length === 3);
    const closed = once(ws, 'close');
    sidecar.signal('SIGTERM');
    const [code] = await within('the tunnel is closed', closed);
    assert.equal(code, 1006);
    assert.ok(sidecar.isRunning);
    doors.open();
    assert.equal((await running).status, 200);
    const socket = await late;
    await within('a tunnel that begins later is closed, too', socket.readyState > 1 || once(socket, 'close'));
    assert.deepEqual(await within('the end', sidecar.exited()), { code: 0, signal: null });
});
