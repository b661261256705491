// expect.mjs - Expect, TE, Max-Forwards and Via of requests (RFC 9110 7.6.2, 7.6.3, 10.1.1, 10.1.4).
import assert from 'node:assert/strict';
import { HOST, either, forwarded, get, post, scripted } from '../lib/case.mjs';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const expecting = post('Content-Length: 5\r\nExpect: 100-continue\r\n');

/** The app asks for the body if it was asked to (RFC 9110 10.1.1), and then answers. */
async function invite(exchange, write) {
    if (exchange.head.all('expect').length) await write(exchange, CONTINUE);
    await exchange.whole;
    await write(exchange, OK);
}

/** Sends the head, waits for 100, sends the body. */
async function waitForContinue({ origin, connect, send, write }, head, rest = 'hello') {
    origin.begin((exchange) => invite(exchange, write));
    const caller = await connect();
    await send(caller, head);
    assert.match(await caller.take(12), /^HTTP\/1\.1 100$/);
    await caller.until('\r\n\r\n');
    await send(caller, rest);
    const { message } = await caller.response();
    assert.equal(message?.text, 'ok');
    assert.equal(origin.requests.length, 1);
    assert.equal(origin.requests[0].text, 'hello');
}

const expect = [
    scripted('100 lets the body come', '9110 10.1.1', (tools) => waitForContinue(tools, expecting)),
    scripted('100 lets chunks come', '9110 10.1.1', (tools) =>
        waitForContinue(
            tools,
            post('Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n'),
            '5\r\nhello\r\n0\r\n\r\n',
        ),
    ),
    scripted('100-Continue in other letters', '9110 10.1.1', (tools) =>
        waitForContinue(tools, expecting.replace('100-continue', '100-Continue')),
    ),
    scripted(
        'a caller that does not wait',
        '9110 10.1.1',
        async ({ origin, connect, send, write }) => {
            origin.begin((exchange) => invite(exchange, write));
            const caller = await connect();
            await send(caller, `${expecting}hello`);
            const { message } = await caller.response();
            assert.equal(message?.text, 'ok');
            assert.equal(origin.requests[0].text, 'hello');
        },
    ),
    scripted('an app that never says 100', '9110 10.1.1', async ({ connect, send, origin }) => {
        const caller = await connect();
        await send(caller, expecting);
        await new Promise((resolve) => setTimeout(resolve, 100));
        await send(caller, 'hello');
        const { message } = await caller.response();
        assert.equal(message?.text, '/x');
        assert.equal(origin.requests[0].text, 'hello');
    }),
    scripted(
        'an app that refuses the body',
        '9110 10.1.1',
        async ({ origin, connect, send, write }) => {
            origin.begin((exchange) =>
                write(exchange, 'HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'),
            );
            const caller = await connect();
            await send(caller, expecting);
            const { message, interim } = await caller.response('POST');
            assert.equal(message?.status, 413);
            assert.equal(message.text, 'no');
            // The connection ends, or the body is still read: it is never taken for a request.
            if (message.list('connection').includes('close')) {
                return void assert.ok(await caller.isClosed());
            }
            origin.begin();
            await send(caller, `hello${get('', '/next')}`);
            assert.equal((await caller.response()).message?.text, '/next');
            assert.equal(interim.length, 0);
        },
    ),
    scripted('HTTP/1.0 knows no 100', '9110 10.1.1', async ({ origin, connect, send, write }) => {
        origin.begin((exchange) => write(exchange, CONTINUE + OK));
        const caller = await connect();
        await send(caller, `${expecting.replace('HTTP/1.1', 'HTTP/1.0')}hello`);
        const { message, interim } = await caller.response();
        assert.equal(message?.text, 'ok');
        assert.equal(interim.length, 0);
    }),
    // The caller is told 200 before it has sent its body, which looks like a request: it is none.
    scripted(
        'a body that is a request, after an answer without 100',
        '9110 10.1.1',
        async ({ origin, connect, send, write }) => {
            origin.begin((exchange) => write(exchange, OK));
            const caller = await connect();
            const body = get('', '/smuggled');
            await send(caller, post(`Content-Length: ${body.length}\r\nExpect: 100-continue\r\n`));
            const { message } = await caller.response('POST');
            assert.ok(message);
            await send(caller, body);
            await send(caller, get('', '/next'));
            if (message.list('connection').includes('close')) await caller.isClosed();
            else assert.equal((await caller.response()).message?.text, 'ok');
            for (const { target } of origin.exchanges.map((exchange) => exchange.head))
                assert.ok(target === '/x' || target === '/next', target);
        },
    ),
    ...[
        ['twice', 'Expect: 100-continue\r\nExpect: 100-continue\r\n'],
        ['twice in a list', 'Expect: 100-continue, 100-continue\r\n'],
        ['beside another', 'Expect: 100-continue\r\nExpect: x\r\n'],
        ['behind a word', 'Expect: y 100-continue\r\n'],
        ['with a parameter', 'Expect: 100-continue;a=b\r\n'],
        ['between tabs', 'Expect:\t100-continue\t\r\n'],
        ['nominated by Connection', 'Connection: expect\r\nExpect: 100-continue\r\n'],
    ].map(([name, lines]) =>
        either(
            `100-continue ${name}`,
            '9110 10.1.1',
            post(`Content-Length: 5\r\n${lines}`, 'hello'),
            { body: 'hello' },
        ),
    ),
    ...[
        ['folded', 'Expect:\r\n 100-continue\r\n'],
        ['behind a space before its colon', 'Expect : 100-continue\r\n'],
        ['with a NUL', 'Expect: 100-continue\0\r\n'],
        ['behind a bare CR', 'X-A: 1\rExpect: 100-continue\r\n'],
    ].map(([name, lines]) =>
        either(`100-continue ${name}`, '9112 5', post(`Content-Length: 5\r\n${lines}`, 'hello'), {
            body: 'hello',
        }),
    ),
    either(
        'GET with 100-continue and a body that is a request',
        '9110 10.1.1',
        get(`Content-Length: ${get('', '/smuggled').length}\r\nExpect: 100-continue\r\n`) +
            get('', '/smuggled'),
        { target: '/x', body: get('', '/smuggled') },
    ),
    forwarded('Expect without a body', '9110 10.1.1', get('Expect: 100-continue\r\n'), {
        target: '/x',
    }),
    ...['200-ok', '100-continue, x', 'x=1', '""'].map((value) =>
        either(
            `Expect: ${value}`,
            '9110 10.1.1',
            post(`Content-Length: 5\r\nExpect: ${value}\r\n`, 'hello'),
            { body: 'hello' },
        ),
    ),
];

/** TE is for one connection: `trailers` may be said anew, a coding may not (its sender would get it). */
const te = [
    ['trailers', 'Connection: TE\r\nTE: trailers\r\n'],
    ['trailers without Connection', 'TE: trailers\r\n'],
    ['Trailers', 'Connection: te\r\nTE: Trailers\r\n'],
    ['trailers, gzip', 'Connection: TE\r\nTE: trailers, gzip;q=0.5\r\n'],
    ['gzip', 'Connection: TE\r\nTE: gzip\r\n'],
    ['nothing', 'Connection: TE\r\nTE:\r\n'],
    ['trailers in a second TE', 'Connection: TE\r\nTE: gzip\r\nTE: trailers\r\n'],
].map(([name, lines]) =>
    forwarded(`TE: ${name}`, '9110 10.1.4', get(lines), (request) => {
        for (const coding of request.list('te')) assert.equal(coding, 'trailers');
    }),
);

const options = (lines, target = '/x') => `OPTIONS ${target} HTTP/1.1\r\n${HOST}${lines}\r\n`;
const final = ({ status }) => assert.ok(status === 200 || status === 204, `${status}`);
const atZero = (name, bytes) => ({ name, rfc: '9110 7.6.2', send: bytes, allow: { own: final } });

const maxForwards = [
    atZero('Max-Forwards: 0 ends here', options('Max-Forwards: 0\r\n')),
    atZero('Max-Forwards: 0 ends here for *', options('Max-Forwards: 0\r\n', '*')),
    atZero('Max-Forwards: 000 is 0', options('Max-Forwards: 000\r\n')),
    ...[
        ['1', '0'],
        ['5', '4'],
        ['10', '9'],
        ['100', '99'],
    ].map(([from, to]) =>
        forwarded(
            `Max-Forwards: ${from} goes on as ${to}`,
            '9110 7.6.2',
            options(`Max-Forwards: ${from}\r\n`),
            {
                method: 'OPTIONS',
                fields: { 'max-forwards': to },
            },
        ),
    ),
    forwarded('OPTIONS without it', '9110 7.6.2', options(''), {
        fields: { 'max-forwards': null },
    }),
    either('a huge Max-Forwards', '9110 7.6.2', options(`Max-Forwards: ${'9'.repeat(30)}\r\n`), {
        fields: { 'max-forwards': /^\d{1,20}$|^9{29}8$/ },
    }),
    ...['-1', 'x', ''].map((value) =>
        either(
            `Max-Forwards: ${value || '(empty)'}`,
            '9110 7.6.2',
            options(`Max-Forwards: ${value}\r\n`),
            {
                fields: { 'max-forwards': null },
            },
        ),
    ),
    either('two Max-Forwards', '9110 5.3', options('Max-Forwards: 5\r\nMax-Forwards: 0\r\n'), {
        fields: { 'max-forwards': null },
    }),
    forwarded('of GET it may be ignored', '9110 7.6.2', get('Max-Forwards: 0\r\n'), {
        target: '/x',
    }),
    {
        name: 'TRACE with Max-Forwards: 0 goes no further',
        rfc: '9110 7.6.2',
        send: `TRACE /x HTTP/1.1\r\n${HOST}Max-Forwards: 0\r\n\r\n`,
        allow: { own: final, refused: true },
    },
];

const via = [
    forwarded('Via is added', '9110 7.6.3', get(), { fields: { via: /^1\.1 \S+$/ } }),
    forwarded('Via says that HTTP/1.0 came', '9110 7.6.3', `GET /x HTTP/1.0\r\n${HOST}\r\n`, {
        fields: { via: /^1\.0 \S+$/ },
    }),
    forwarded('Via is extended', '9110 7.6.3', get('Via: 1.0 fred\r\n'), {
        fields: { via: /^1\.0 fred, 1\.1 \S+$/ },
    }),
    forwarded('two Vias keep their order', '9110 7.6.3', get('Via: 1.0 a\r\nVia: 1.1 b (c)\r\n'), {
        fields: { via: /^1\.0 a, 1\.1 b \(c\), 1\.1 \S+$/ },
    }),
];

export default {
    title: 'Expect, TE, Max-Forwards, Via',
    cases: [...expect, ...te, ...maxForwards, ...via],
};
