// pipeline.mjs - several requests on one connection, callers that half-close, and HTTP/1.0 callers (RFC 9112 9).
import assert from 'node:assert/strict';
import { HOST, forwarded, get, passed, post, scripted } from '../lib/case.mjs';
import { echo } from '../lib/origin.mjs';

const a = (lines = '') => get(lines, '/a');
const b = (lines = '') => get(lines, '/b');
const body = post('Content-Length: 5\r\n', 'hello');
const chunks = post('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n');

/** Sends all at once (or byte by byte), expects the answers to these targets, in this order. */
async function inOrder({ connect, send, stays }, bytes, targets, methods = []) {
    const caller = await connect();
    await send(caller, bytes);
    for (const [i, target] of targets.entries()) {
        const { message } = await caller.response(methods[i]);
        assert.equal(message?.status, 200);
        if (methods[i] !== 'HEAD') assert.equal(message.text, target);
    }
    assert.ok(await stays(caller));
}

const pipelines = [
    ['two', a() + b(), ['/a', '/b']],
    ['three with bodies', body + a() + body, ['/x', '/a', '/x']],
    ['behind chunks', chunks + a(), ['/x', '/a']],
    [
        'behind chunks with a trailer',
        chunks.replace('0\r\n\r\n', '0\r\nX-A: 1\r\n\r\n') + a(),
        ['/x', '/a'],
    ],
    ['with an empty line between', `${body}\r\n${a()}`, ['/x', '/a']],
    ['twenty', a().repeat(20), Array(20).fill('/a')],
    ['behind a body of nothing', post('Content-Length: 0\r\n') + a(), ['/x', '/a']],
].map(([name, bytes, targets]) =>
    scripted(`pipelined: ${name}`, '9112 9.3.2', (tools) => inOrder(tools, bytes, targets)),
);

const more = [
    scripted('pipelined: behind HEAD', '9112 9.3.2', (tools) =>
        inOrder(tools, `HEAD /h HTTP/1.1\r\n${HOST}\r\n${a()}`, ['/h', '/a'], ['HEAD']),
    ),
    scripted('pipelined: the first is slow', '9112 9.3.2', async (tools) => {
        tools.origin.begin(async (exchange) => {
            if (exchange.head.target === '/a') await new Promise((r) => setTimeout(r, 150));
            await echo(exchange);
        });
        await inOrder(tools, a() + b(), ['/a', '/b']);
    }),
    scripted('nothing behind a bad request is served', '9112 2.2', async (tools) => {
        const { origin, connect, send } = tools;
        const caller = await connect();
        await send(caller, `${a()}GET /bad HTTP/9\r\n\r\n${b()}`);
        assert.equal((await caller.response()).message?.text, '/a');
        const { message, head } = await caller.response();
        assert.ok(!(message ?? head) || message.status >= 400);
        assert.ok(await caller.isClosed());
        assert.deepEqual(
            origin.requests.map((r) => r.target),
            ['/a'],
        );
    }),
    scripted(
        'nothing behind bad chunks is served',
        '9112 7.1',
        async ({ origin, connect, send }) => {
            const caller = await connect();
            await send(caller, `${post('Transfer-Encoding: chunked\r\n', 'z\r\n\r\n')}${b()}`);
            const { message, head } = await caller.response();
            assert.ok(!(message ?? head) || message.status >= 400);
            assert.ok(await caller.isClosed());
            assert.deepEqual(origin.requests, []);
        },
    ),
    scripted('nothing behind Connection: close is served', '9112 9.6', async (tools) => {
        const { origin, connect, send } = tools;
        const caller = await connect();
        await send(caller, a('Connection: close\r\n') + b());
        const { message } = await caller.response();
        if (message) assert.equal(message.text, '/a'); // it may be lost with the connection
        assert.ok(await caller.isClosed());
        assert.equal(caller.bytes.length, 0);
        assert.deepEqual(
            origin.requests.map((r) => r.target),
            ['/a'],
        );
    }),
    scripted('nothing behind an answer that closes is served', '9112 9.6', async (tools) => {
        const { origin, connect, send } = tools;
        const caller = await connect();
        await send(caller, `GET /a HTTP/1.0\r\n${HOST}\r\n${b()}`);
        const { message } = await caller.response();
        if (message) assert.equal(message.text, '/a');
        assert.ok(await caller.isClosed());
        assert.deepEqual(
            origin.requests.map((r) => r.target),
            ['/a'],
        );
    }),
];

/** A caller that ends its side may get its answer or not; never a part of one that looks whole. */
const halfClosed = [
    ['behind a request', a(), 1],
    ['behind a body', body, 1],
    ['behind two requests', a() + b(), 2],
    ['inside a head', a().slice(0, -4), 0],
    ['inside a body', body.slice(0, -2), 0],
    ['inside chunks', chunks.slice(0, -4), 0],
    ['behind nothing', '', 0],
].map(([name, bytes, count]) =>
    scripted(`FIN ${name}`, '9112 9.6', async ({ origin, connect, send }) => {
        const caller = await connect();
        await send(caller, bytes);
        caller.end();
        assert.ok(await caller.isClosed());
        while (caller.bytes.length) {
            const { message } = await caller.response();
            assert.ok(message, 'an answer that broke off');
            assert.ok(count > 0 || message.status >= 400);
        }
        assert.ok(origin.requests.length <= count);
    }),
);

const broken = [
    ['behind a request', a()],
    ['inside a body', body.slice(0, -2)],
    ['inside chunks', chunks.slice(0, -4)],
].map(([name, bytes]) =>
    scripted(`RST ${name}`, '9112 9.5', async ({ connect, send }) => {
        const caller = await connect();
        await send(caller, bytes);
        caller.socket.resetAndDestroy();
    }),
);

/** RFC 9112 6.1, 7.1.2, RFC 9110 15.2: HTTP/1.0 knows no chunks, trailers or interim responses. */
const old = `GET /x HTTP/1.0\r\n${HOST}\r\n`;
const CHUNKS = '5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n';
const hello = { status: 200, body: 'hello', fields: { 'transfer-encoding': null } };
const oldCallers = [
    passed('a length', '9112 6.3', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', hello),
    passed(
        'chunks become an end of the connection or a length',
        '9112 6.1',
        `HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
        hello,
    ),
    passed(
        '100 is kept back',
        '9110 15.2',
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
        (response, interim) => {
            assert.equal(response.text, 'hello');
            assert.equal(interim.length, 0);
        },
    ),
    passed(
        '103 is kept back',
        '9110 15.2',
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
        (response, interim) => {
            assert.equal(response.text, 'hello');
            assert.equal(interim.length, 0);
        },
    ),
    passed('204', '9112 6.3', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '' }),
].map((theCase) => ({ ...theCase, name: `to HTTP/1.0: ${theCase.name}`, send: old }));

/** Nothing but the connection's end ends a body there: a part must not look like the whole. */
const part = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n';
const cutShort = [
    ['chunks, FIN', part, 'close'],
    ['chunks, RST', part, 'reset'],
    ['chunks that go wrong', `${part}z\r\n`, 'close'],
    ['chunks without their last line', `${part}0\r\n`, 'close'],
    ['no length, RST', 'HTTP/1.1 200 OK\r\n\r\nhello', 'reset'],
    ['an app of HTTP/1.0, RST', 'HTTP/1.0 200 OK\r\n\r\nhello', 'reset'],
    ['a length, FIN', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello', 'close'],
    ['a length, RST', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello', 'reset'],
].map(([name, app, then]) => ({
    name: `cut for HTTP/1.0: ${name}`,
    rfc: '9112 8',
    send: old,
    app,
    then,
    allow: { broken: true, badGateway: true },
}));

const leaving = [
    scripted('FIN of an HTTP/1.0 caller inside its answer', '9112 8, 9.6', async (tools) => {
        const { origin, connect, send, write } = tools;
        let finish;
        const isLeft = new Promise((resolve) => (finish = resolve));
        origin.begin(async (exchange) => {
            await exchange.whole;
            await write(exchange, 'HTTP/1.1 200 OK\r\n\r\nhel');
            await Promise.race([isLeft, exchange.gone]);
            await write(exchange, 'lo');
            exchange.end();
        });
        const caller = await connect();
        await send(caller, old);
        await caller.until('hel');
        const head = caller.all.toString('latin1').split('\r\n\r\n')[0];
        caller.end();
        setTimeout(finish, 100);
        assert.ok(await caller.isClosed());
        const isWhole = caller.all.toString('latin1').endsWith('hello');
        if (!isWhole && !/content-length|transfer-encoding/i.test(head))
            assert.equal(caller.closed, 'reset', 'a part that looks whole');
    }),
    scripted('FIN of an HTTP/1.1 caller inside its answer', '9112 8, 9.6', async (tools) => {
        const { origin, connect, send, write } = tools;
        origin.begin(async (exchange) => {
            await exchange.whole;
            await write(exchange, 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel');
            await Promise.race([new Promise((r) => setTimeout(r, 100)), exchange.gone]);
            await write(exchange, 'lo');
        });
        const caller = await connect();
        await send(caller, a());
        await caller.until('hel');
        caller.end();
        assert.ok(await caller.isClosed());
        assert.match(caller.all.toString('latin1'), /hel(lo)?$/);
    }),
];

const keptOpen = [
    scripted('HTTP/1.0 with keep-alive, twice', '9112 C.2.2', async ({ connect, send }) => {
        const caller = await connect();
        const bytes = `GET /a HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n\r\n`;
        for (let i = 0; i < 2; i++) {
            await send(caller, bytes);
            const { message } = await caller.response();
            assert.equal(message?.text, '/a');
            if (!message.list('connection').includes('keep-alive')) {
                return void assert.ok(await caller.isClosed());
            }
        }
    }),
    scripted('chunks broken off are seen by HTTP/1.0', '9112 8', async (tools) => {
        const { origin, connect, send, write } = tools;
        origin.begin(async (exchange) => {
            await write(
                exchange,
                'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
            );
            exchange.end();
        });
        const caller = await connect();
        await send(caller, old);
        const { message, head } = await caller.response();
        if (message) assert.ok(message.status >= 500, 'a part that looks whole');
        else if (head && !head.framing) assert.equal(caller.closed, 'reset');
    }),
    forwarded(
        'HEAD of HTTP/1.0',
        '9110 9.3.2',
        `HEAD /x HTTP/1.0\r\n${HOST}\r\n`,
        { method: 'HEAD' },
        {
            method: 'HEAD',
        },
    ),
];

export default {
    title: 'pipelines, half-closed connections, HTTP/1.0',
    cases: [
        ...[...pipelines, ...more, ...halfClosed, ...broken],
        ...[...oldCallers, ...cutShort, ...leaving, ...keptOpen],
    ],
};
