// head-method.mjs - HEAD: an answer without content, whoever gives it and however bad the request is (RFC 9110 9.3.2).
import assert from 'node:assert/strict';
import { HOST, either, forwarded, scripted } from '../lib/case.mjs';

const head = (lines = '', target = '/x') => `HEAD ${target} HTTP/1.1\r\n${HOST}${lines}\r\n`;
const asHead = { method: 'HEAD' };

/** Refused or cleaned up, but not one byte behind the head of the answer: what comes there fails the case. */
const bad = [
    ['a bad field', head('X A: 1\r\n')],
    ['a fold', head('X-A: 1\r\n 2\r\n')],
    ['a space before a colon', head('X-A : 1\r\n')],
    ['a NUL', head('X-A: \0\r\n')],
    ['a bare LF', head('X-A: 1\n')],
    ['no Host', 'HEAD /x HTTP/1.1\r\n\r\n'],
    ['two Hosts', head('Host: b.test\r\n')],
    ['a bad Host', 'HEAD /x HTTP/1.1\r\nHost: a b\r\n\r\n'],
    ['HTTP/2.0', `HEAD /x HTTP/2.0\r\n${HOST}\r\n`],
    ['a bad version', `HEAD /x HTTP/x\r\n${HOST}\r\n`],
    ['a bad target', head('', '/a#b')],
    ['no path', head('', 'x')],
    ['a coding that nobody knows', head('Transfer-Encoding: x\r\n')],
    [
        'a length and chunks',
        `${head('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n')}0\r\n\r\n`,
    ],
    ['two lengths', `${head('Content-Length: 5\r\nContent-Length: 6\r\n')}hello`],
    ['a length that is none', head('Content-Length: x\r\n')],
    ['bad chunks', `${head('Transfer-Encoding: chunked\r\n')}z\r\n\r\n`],
].map(([name, send]) => either(`with ${name}`, '9110 9.3.2', send, asHead, asHead));

const doubtful = [
    ['a field of 100,000 bytes', head(`X-A: ${'a'.repeat(100_000)}\r\n`)],
    ['1,000 fields', head('X-A: 1\r\n'.repeat(1000))],
    ['an expectation that nobody knows', head('Expect: x\r\n')],
    ['an empty line before it', `\r\n${head()}`],
    ['a body', `${head('Content-Length: 5\r\n')}hello`],
    ['chunks', `${head('Transfer-Encoding: chunked\r\n')}5\r\nhello\r\n0\r\n\r\n`],
    ['Expect: 100-continue and no body', head('Expect: 100-continue\r\n')],
    [
        'an upgrade',
        head('Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'),
    ],
].map(([name, send]) => either(`with ${name}`, '9110 9.3.2', send, asHead, asHead));

const good = [
    forwarded('of HTTP/1.1', '9110 9.3.2', head(), asHead, asHead),
    forwarded('that closes', '9110 9.3.2', head('Connection: close\r\n'), asHead, asHead),
    forwarded('of an absolute target', '9112 3.2.2', head('', 'http://a.test/x'), asHead, asHead),
];

/** The app fails: the error that the proxy makes of it has no content either. */
const failing = [
    ['closes without an answer', (exchange) => exchange.end()],
    ['resets', (exchange) => exchange.reset()],
    ['answers nonsense', (exchange) => exchange.write('nonsense\r\n\r\n')],
    ['says nothing', () => {}],
    [
        'answers with two lengths',
        (x) => x.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'),
    ],
].map(([name, fail]) =>
    scripted(`an app that ${name}`, '9110 9.3.2', async ({ origin, connect, send }) => {
        origin.begin(async (exchange) => {
            await exchange.whole;
            await fail(exchange);
        });
        const caller = await connect();
        await send(caller, head('Connection: close\r\n'));
        const { message } = await caller.response('HEAD', 20_000);
        if (message) assert.ok(message.status >= 500 && message.status <= 504, `${message.status}`);
        assert.ok(await caller.isClosed());
        assert.equal(caller.bytes.length, 0, 'content');
    }),
);

const inARow = [
    scripted('three in a row, then a GET', '9112 9.3.2', async ({ connect, send, stays }) => {
        const caller = await connect();
        await send(caller, head('', '/1') + head('', '/22') + head('', '/333'));
        for (const length of ['2', '3', '4']) {
            const { message } = await caller.response('HEAD');
            assert.deepEqual(message?.all('content-length'), [length]);
        }
        assert.ok(await stays(caller));
    }),
    scripted('content behind its answer is not the next call’s', '9110 9.3.2', async (tools) => {
        const { origin, connect, send } = tools;
        const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
        origin.begin(async (exchange) => {
            const { method, target } = await exchange.whole;
            const length = method === 'HEAD' ? evil.length : target.length;
            await exchange.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`);
            await exchange.write(method === 'HEAD' ? evil : target);
        });
        for (let i = 0; i < 3; i++) {
            const caller = await connect();
            await send(caller, head('', `/h${i}`));
            await caller.response('HEAD');
            caller.close();
            await origin.settled();
            await new Promise((resolve) => setTimeout(resolve, 50));
            const next = await connect();
            await send(next, `GET /g${i} HTTP/1.1\r\n${HOST}\r\n`);
            const { message } = await next.response();
            if (message?.status === 200) assert.equal(message.text, `/g${i}`);
            next.close();
        }
    }),
    scripted('a head that never ends', '9110 9.3.2', async ({ connect, send }) => {
        const caller = await connect();
        await send(caller, head().slice(0, -2));
        const { message } = await caller.response('HEAD', 20_000);
        if (message) assert.ok(message.status >= 400);
        assert.ok(await caller.isClosed());
        assert.equal(caller.bytes.length, 0, 'content');
    }),
];

export default { title: 'HEAD', cases: [...good, ...doubtful, ...bad, ...failing, ...inARow] };
