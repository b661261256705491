// upgrade.mjs - changes of protocol: WebSocket by consent of both sides, nothing else (RFC 9110 7.8, RFC 6455).
import assert from 'node:assert/strict';
import { HOST, either, forwarded, get, post, scripted } from '../lib/case.mjs';

const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const SOCKET = `Connection: Upgrade\r\nUpgrade: websocket\r\n${KEY}Sec-WebSocket-Version: 13\r\n`;
const SWITCH =
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n';

/** The app switches and sends back what it gets, in capitals; `greeting` comes with the 101. */
function switching({ origin, write }, greeting = '') {
    origin.begin((exchange) => {
        let said = write(exchange, SWITCH + greeting); // one after the other: each may go byte by byte
        const say = (act) => (said = said.then(act));
        exchange.take(
            (bytes) => void say(() => exchange.write(bytes.toString('latin1').toUpperCase())),
            () => void say(() => exchange.end()),
        );
    });
}

async function open(tools, lines = SOCKET, first = '') {
    const caller = await tools.connect();
    await tools.send(caller, get(lines) + first);
    const { message } = await caller.response();
    assert.equal(message?.status, 101);
    assert.deepEqual(message.list('upgrade'), ['websocket']);
    assert.ok(message.list('connection').includes('upgrade'));
    return caller;
}

async function says(tools, caller, bytes) {
    await tools.send(caller, bytes);
    assert.equal(await caller.take(bytes.length), bytes.toUpperCase());
}

const accepted = [
    ['an upgrade', SOCKET],
    [
        'in other letters',
        SOCKET.replace('Upgrade\r', 'UPGRADE\r').replace('websocket', 'WebSocket'),
    ],
    ['beside keep-alive', SOCKET.replace('Upgrade\r', 'keep-alive, Upgrade\r')],
    ['with Content-Length: 0', `${SOCKET}Content-Length: 0\r\n`],
].map(([name, lines]) =>
    scripted(`${name} is a tunnel after 101`, '6455 4', async (tools) => {
        switching(tools);
        const caller = await open(tools, lines);
        await says(tools, caller, 'hello \0\r\n\r\n\x80');
        await says(tools, caller, 'get / http/1.1\r\nhost: b.test\r\n\r\n');
    }),
);

const tunnel = [
    scripted('fields of the handshake pass', '6455 4.1', async (tools) => {
        switching(tools);
        const caller = await open(
            tools,
            `${SOCKET}Sec-WebSocket-Protocol: a, b\r\nSec-WebSocket-Extensions: permessage-deflate\r\n`,
        );
        assert.match(
            caller.all.toString(),
            /^sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r$/im,
        );
        const { head } = tools.origin.exchanges[0];
        assert.deepEqual(head.all('sec-websocket-key'), ['dGhlIHNhbXBsZSBub25jZQ==']);
        assert.deepEqual(head.all('sec-websocket-version'), ['13']);
        assert.deepEqual(head.list('sec-websocket-protocol'), ['a', 'b']);
        assert.deepEqual(head.list('upgrade'), ['websocket']);
    }),
    scripted('bytes behind the request come through the tunnel', '9110 7.8', async (tools) => {
        switching(tools);
        const caller = await open(tools, SOCKET, 'early');
        assert.equal(await caller.take(5), 'EARLY');
    }),
    scripted('bytes behind the 101 come through the tunnel', '9110 7.8', async (tools) => {
        switching(tools, 'welcome');
        const caller = await open(tools);
        assert.equal(await caller.take(7), 'welcome');
        await says(tools, caller, 'more');
    }),
    scripted('the app’s end ends the tunnel', '6455 7', async (tools) => {
        tools.origin.begin(async (exchange) => {
            exchange.take(() => {});
            await tools.write(exchange, `${SWITCH}bye`);
            exchange.end();
        });
        const caller = await open(tools);
        assert.equal(await caller.take(3), 'bye');
        assert.ok(await caller.isClosed());
    }),
    scripted('what the caller sent before its end arrives', '6455 7', async (tools) => {
        let text = '';
        const ended = new Promise((resolve) => {
            tools.origin.begin((exchange) => {
                exchange.take((bytes) => (text += bytes.toString('latin1')), resolve);
                void tools.write(exchange, SWITCH);
            });
        });
        const caller = await open(tools);
        await tools.send(caller, 'last words');
        caller.end();
        await ended;
        assert.equal(text, 'last words');
    }),
    scripted('an interim response before 101', '9110 15.2', async (tools) => {
        tools.origin.begin((exchange) => {
            exchange.take((bytes) => void exchange.write(bytes.toString('latin1')));
            void tools.write(exchange, `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${SWITCH}`);
        });
        const caller = await open(tools);
        await tools.send(caller, 'abc');
        assert.equal(await caller.take(3), 'abc');
    }),
];

/** The app says no: what follows is HTTP, read and edited as ever. */
const declined = [
    [
        '426',
        'HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\nContent-Length: 2\r\n\r\nno',
    ],
    ['200', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno'],
    ['403', 'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n'],
].map(([status, answer]) =>
    scripted(`the app declines with ${status}: there is no tunnel`, '9110 7.8', async (tools) => {
        const { origin, connect, send, write } = tools;
        const plain = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain';
        origin.begin(async (exchange) => {
            await exchange.whole;
            await write(exchange, exchange.nth === 0 ? answer : plain);
        });
        const caller = await connect();
        await send(caller, get(SOCKET) + get('', '/next'));
        const first = await caller.response();
        assert.equal(first.message?.status, Number(status));
        assert.equal(first.message.text, 'no');
        const second = await caller.response();
        if (!second.message) return; // it may end the connection instead
        assert.equal(second.message.text, 'plain');
        assert.ok(origin.requests[1].all('via').length, 'the next request went through unread');
    }),
);

const notATunnel = [
    ['101 without Upgrade', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n'],
    ['101 to another protocol', SWITCH.replace('Upgrade: websocket', 'Upgrade: h2c')],
    ['101 without Connection', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n'],
    ['101 in HTTP/1.0', SWITCH.replace('HTTP/1.1', 'HTTP/1.0')],
].map(([name, app]) => ({
    name,
    rfc: '9110 7.8, 6455 4.1',
    send: get(SOCKET),
    app: `${app}not for the caller`,
    allow: { badGateway: true },
}));

const plain = (means) => (request) => {
    assert.deepEqual(request.all('upgrade'), []);
    assert.deepEqual(request.all('http2-settings'), []);
    assert.ok(!request.list('connection').includes('upgrade'));
    if (means !== undefined) assert.equal(request.text, means);
};
/** HTTP/2 without TLS would let a caller speak past whoever reads HTTP/1.1 here. */
const h2c = [
    [
        'h2c',
        'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
    ],
    ['h2c without Connection', 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'],
    ['h2c without HTTP2-Settings', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'],
    ['WebSocket without Connection', SOCKET.replace('Connection: Upgrade\r\n', '')],
    ['nothing, with Connection: upgrade', 'Connection: Upgrade\r\n'],
].map(([name, lines]) =>
    forwarded(`upgrade to ${name}: served as plain HTTP`, '9110 7.8', get(lines), plain()),
);

/** A proxy may offer these on, as its own (strict.mjs sees to that); the app here does not take them. */
const others = ['h2', 'TLS/1.3', 'foo/1', 'foo/1, bar/2'].map((protocol) => {
    const lines = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`;
    return forwarded(`upgrade to ${protocol}`, '9110 7.8', get(lines), { target: '/x', body: '' });
});

const odd = [
    forwarded(
        'h2c of a POST',
        '9110 7.8',
        post('Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n', 'hello'),
        plain('hello'),
    ),
    forwarded(
        'WebSocket in HTTP/1.0',
        '9110 7.8',
        `GET /x HTTP/1.0\r\n${HOST}${SOCKET}\r\n`,
        plain(),
    ),
    either(
        'WebSocket or h2c',
        '9110 7.8',
        get(SOCKET.replace('websocket', 'websocket, h2c')),
        (request) => {
            for (const protocol of request.list('upgrade')) assert.equal(protocol, 'websocket');
        },
    ),
    either('WebSocket of a POST', '6455 4.1', post(`${SOCKET}Content-Length: 5\r\n`, 'hello'), {
        body: 'hello',
    }),
    either('WebSocket with a body', '6455 4.1', get(`${SOCKET}Content-Length: 5\r\n`) + 'hello', {
        body: 'hello',
    }),
    either(
        'WebSocket with chunks',
        '6455 4.1',
        get(`${SOCKET}Transfer-Encoding: chunked\r\n`) + '5\r\nhello\r\n0\r\n\r\n',
        { body: 'hello' },
    ),
    either('WebSocket of an old version', '6455 4.4', get(SOCKET.replace('13', '8')), {
        fields: { 'sec-websocket-version': '8' },
    }),
    either('WebSocket without a key', '6455 4.1', get(SOCKET.replace(KEY, '')), { target: '/x' }),
    either(
        'an Upgrade that is not a list',
        '9110 7.8',
        get(SOCKET.replace('websocket', 'web socket')),
        plain(),
    ),
];

export default {
    title: 'upgrades',
    cases: [...accepted, ...tunnel, ...declined, ...notATunnel, ...h2c, ...others, ...odd],
};
