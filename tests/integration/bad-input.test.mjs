// Requests that are not HTTP, or ambiguous: the right 4xx as problem+json, a closed connection, and the app never called.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, shared, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { until } from './lib/until.mjs';

const H = 'Host: x\r\n';
const post = (fields, body = '') => `POST ${RUN} HTTP/1.1\r\n${fields}\r\n${body}`;

const BAD = {
    'no request line': ['\x16\x03\x01\x02\x00\x01\x00\x01', 400],
    garbage: ['hello world\r\n\r\n', 400],
    SSH: ['SSH-2.0-OpenSSH_9.2\r\n\r\n', 400],
    'no version': [`POST ${RUN}\r\n${H}\r\n`, 400],
    'HTTP/0.9': [`GET /v4/p/a/x\r\n\r\n`, 400],
    'HTTP/2 preface': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 505]],
    'HTTP/3.0': [`POST ${RUN} HTTP/3.0\r\n${H}\r\n`, [400, 505]],
    'lower-case http': [`POST ${RUN} http/1.1\r\n${H}\r\n`, 400],
    'ICE protocol': [`SOURCE /x ICE/1.0\r\n${H}\r\n`, 400],
    'two spaces in the request line': [`POST  ${RUN} HTTP/1.1\r\n${H}\r\n`, 400],
    'a tab in the request line': [`POST\t${RUN} HTTP/1.1\r\n${H}\r\n`, 400],
    'a space in the target': [`POST /v4/p/a/x y HTTP/1.1\r\n${H}\r\n`, 400],
    'a fragment in the target': [`POST /v4/p/a/x#y HTTP/1.1\r\n${H}\r\n`, 400],
    'a NUL in the target': [`POST /v4/p/a/x\0y HTTP/1.1\r\n${H}\r\n`, 400],
    'a raw byte above 0x7e in the target': [`POST /v4/p/a/\xe4 HTTP/1.1\r\n${H}\r\n`, 400],
    'a method that is not a token': [`P@ST ${RUN} HTTP/1.1\r\n${H}\r\n`, 400],
    'a target without a slash': [`POST run HTTP/1.1\r\n${H}\r\n`, 400],
    'bare LF line ends': [`POST ${RUN} HTTP/1.1\nHost: x\n\n`, 400],
    'a bare LF among CRLFs': [`POST ${RUN} HTTP/1.1\r\nHost: x\nX-A: 1\r\n\r\n`, 400],
    'a bare CR in a value': [post(`${H}X-A: a\rb\r\n`), 400],
    'a bare CR at a line end': [post(`${H}X-A: a\rX-B: b\r\n`), 400],
    'a NUL in a value': [post(`${H}X-A: a\0b\r\n`), 400],
    'an escape in a value': [post(`${H}X-A: a\x1bb\r\n`), 400],
    'a DEL in a value': [post(`${H}X-A: a\x7fb\r\n`), 400],
    'a folded line': [post(`${H}X-A: a\r\n b\r\n`), 400],
    'a folded Transfer-Encoding': [
        post(`${H}Transfer-Encoding:\r\n chunked\r\n`, '0\r\n\r\n'),
        400,
    ],
    'a space before the first field': [`POST ${RUN} HTTP/1.1\r\n ${H}\r\n`, 400],
    'a space before the colon': [post(`${H}Content-Length : 0\r\n`), 400],
    'no colon': [post(`${H}NoColon\r\n`), 400],
    'an empty name': [post(`${H}: x\r\n`), 400],
    'a name that is not a token': [post(`${H}X(A): x\r\n`), 400],
    'no Host': [post('X-A: 1\r\n'), 400],
    'two Hosts': [post(`${H}${H}`), 400],
    'two different Hosts': [post(`${H}Host: y\r\n`), 400],
    'an empty Host': [post('Host:\r\n'), 400],
    'a Host with a path': [post('Host: x/y\r\n'), 400],
    'a Host with userinfo': [post('Host: u@x\r\n'), 400],
    'a Host with a bad port': [post('Host: x:99999999\r\n'), 400],
    'a Host with a space': [post('Host: x y\r\n'), 400],
    'two Content-Lengths': [post(`${H}Content-Length: 1\r\nContent-Length: 2\r\n`, 'ab'), 400],
    'a list of Content-Lengths': [post(`${H}Content-Length: 1, 2\r\n`, 'ab'), 400],
    'a signed Content-Length': [post(`${H}Content-Length: +1\r\n`, 'a'), 400],
    'a negative Content-Length': [post(`${H}Content-Length: -1\r\n`), 400],
    'a hex Content-Length': [post(`${H}Content-Length: 0x1\r\n`, 'a'), 400],
    'an empty Content-Length': [post(`${H}Content-Length:\r\n`), 400],
    'a Content-Length of 2^64': [post(`${H}Content-Length: 18446744073709551616\r\n`), 400],
    'a Content-Length with spaces': [post(`${H}Content-Length: 1 0\r\n`, 'a'), 400],
    'length and chunked': [
        post(`${H}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n`, '0\r\n\r\n'),
        400,
    ],
    'chunked and length': [
        post(`${H}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n`, '0\r\n\r\n'),
        400,
    ],
    'chunked twice': [post(`${H}Transfer-Encoding: chunked, chunked\r\n`, '0\r\n\r\n'), 400],
    'two Transfer-Encodings': [
        post(`${H}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n`, '0\r\n\r\n'),
        400,
    ],
    'chunked is not last': [
        post(`${H}Transfer-Encoding: chunked, gzip\r\n`, '0\r\n\r\n'),
        [400, 501],
    ],
    'an unknown coding': [
        post(`${H}Transfer-Encoding: gzip, chunked\r\n`, '0\r\n\r\n'),
        [400, 501],
    ],
    identity: [post(`${H}Transfer-Encoding: identity\r\n`), [400, 501]],
    'a coding with junk': [post(`${H}Transfer-Encoding: xchunked\r\n`, '0\r\n\r\n'), [400, 501]],
    'a coding in quotes': [post(`${H}Transfer-Encoding: "chunked"\r\n`, '0\r\n\r\n'), [400, 501]],
    'a vertical tab in the coding': [
        post(`${H}Transfer-Encoding: \x0bchunked\r\n`, '0\r\n\r\n'),
        400,
    ],
    'a coding in HTTP/1.0': [
        `POST ${RUN} HTTP/1.0\r\n${H}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        400,
    ],
};

test('what is not a request is refused, with a closed connection, and the app is never called', async (t) => {
    const { app, connect } = await shared(t);
    for (const [name, [bytes, allowed]] of Object.entries(BAD)) {
        const client = await connect();
        await client.send(bytes);
        const response = await client.response();
        assert.ok([allowed].flat().includes(response.status), `${name}: ${response.status}`);
        assertProblem(response, response.status);
        assert.equal(response.get('connection'), 'close', name);
        assert.ok(await client.isClosed(), name);
    }
    assert.equal(app.requests.length, 0);
});

test('the same byte by byte', async (t) => {
    const { app, connect } = await shared(t);
    await Promise.all(
        Object.entries(BAD).map(async ([name, [bytes, allowed]]) => {
            const client = await connect();
            await client.sendInPieces(bytes);
            const response = await client.response();
            assert.ok([allowed].flat().includes(response.status), `${name}: ${response.status}`);
        }),
    );
    assert.equal(app.requests.length, 0);
});

const BAD_CHUNKS = {
    'a size that is none': 'zz\r\nab\r\n0\r\n\r\n',
    'an empty size': '\r\nab\r\n0\r\n\r\n',
    'a negative size': '-1\r\nab\r\n0\r\n\r\n',
    'a size with 0x': '0x2\r\nab\r\n0\r\n\r\n',
    'a size beyond 64 bits': '10000000000000000\r\nab\r\n0\r\n\r\n',
    'a space before the size': ' 2\r\nab\r\n0\r\n\r\n',
    'a bare LF after the size': '2\nab\r\n0\r\n\r\n',
    'data without its CRLF': '2\r\nabXX0\r\n\r\n',
    'data with a bare LF': '2\r\nab\n0\r\n\r\n',
    'too much data': '2\r\nabc\r\n0\r\n\r\n',
    'a NUL in an extension': '2;a=\0\r\nab\r\n0\r\n\r\n',
    'a bare CR in an extension': '2;a=\rb\r\nab\r\n0\r\n\r\n',
    'endless extensions': `2;${'x'.repeat(100_000)}\r\nab\r\n0\r\n\r\n`,
    'a trailer that is not a field': '2\r\nab\r\n0\r\nno colon\r\n\r\n',
    'a folded trailer': '2\r\nab\r\n0\r\nX-A: 1\r\n 2\r\n\r\n',
    'endless trailers': `2\r\nab\r\n0\r\n${'X-A: 1\r\n'.repeat(20_000)}\r\n`,
};

test('a bad chunk is 400 on an asynchronous call, and nothing is queued', async (t) => {
    const { app, connect, call } = await shared(t);
    for (const [name, bytes] of Object.entries(BAD_CHUNKS)) {
        const client = await connect();
        void client.send(
            post(`${H}Transfer-Encoding: chunked\r\n`, bytes).replace(RUN, `${RUN}?async=true`),
        );
        const response = await client.response();
        assert.ok(
            response.status === 400 || response.status === 431 || response.status === 413,
            `${name}: ${response.status}`,
        );
        assert.ok(await client.isClosed(), name);
    }
    await call();
    assert.equal(app.requests.length, 1);
});

test('a bad chunk on a synchronous call never reaches the app as a whole request', async (t) => {
    const { app, connect } = await shared(t);
    for (const [name, bytes] of Object.entries(BAD_CHUNKS)) {
        const client = await connect();
        void client.send(post(`${H}Transfer-Encoding: chunked\r\n`, bytes));
        const response = await client.response();
        assert.ok(response.status >= 400 && response.status < 500, `${name}: ${response.status}`);
        assert.ok(await client.isClosed(), name);
    }
    assert.ok(
        app.requests.every((r) => !r.bytes),
        'no body ended',
    );
});

test('a smuggled request is body, not a request', async (t) => {
    const { app, connect } = await shared(t);
    const hidden = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
    const client = await connect();
    await client.send(request('POST', RUN, {}, hidden));
    await client.response();
    await client.send(
        post(
            `${H}Transfer-Encoding: chunked\r\n`,
            `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
        ),
    );
    await client.response();
    assert.deepEqual(
        app.requests.map((r) => [r.target, r.bytes.toString()]),
        [
            ['/run', hidden],
            ['/run', hidden],
        ],
    );
});

test('a few empty lines before a request are tolerated', async (t) => {
    const { connect } = await shared(t);
    const client = await connect();
    await client.send(Buffer.concat([Buffer.from('\r\n'), request('POST', RUN, {}, '')]));
    assert.equal((await client.response()).status, 200);
});

test('a connection that sends nothing, or only a part, and closes does no harm', async (t) => {
    const { app, connect, call } = await stage(t);
    for (const bytes of [
        '',
        'P',
        'POST / HTTP/1.1\r\n',
        post(`${H}Content-Length: 10\r\n`, 'part'),
    ]) {
        for (const leave of ['end', 'reset', 'close']) {
            const client = await connect();
            await client.send(bytes);
            client[leave]();
        }
    }
    assert.equal((await call()).status, 200);
    await until('partial calls are let go', () => app.openConnections <= 2);
});

test('random bytes never harm it', async (t) => {
    const { connect, call } = await shared(t);
    let seed = 12345;
    const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
    const valid = request('POST', `${RUN}?async=true`, {
        'Transfer-Encoding': 'chunked',
        'X-A': 'b',
    });
    const whole = Buffer.concat([valid, Buffer.from('3\r\nabc\r\n0\r\n\r\n')]);
    for (let i = 0; i < 300; i++) {
        const bytes = Buffer.from(whole);
        for (let n = 0; n < 1 + random() * 4; n++)
            bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
        const client = await connect();
        await client.send(bytes);
        client.end();
        client.close();
    }
    assert.equal((await call()).status, 200);
});

test('TLS and HTTP/2 spoken to the plain port are told apart, each in one line for a peer, and counted', async (t) => {
    const { connect, sidecar } = await stage(t, { env: { HOOKLINE_WORKERS: '1' } });
    const HELLO = '\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03';
    const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
    for (const [bytes, status, says] of [
        [HELLO, 400, /TLS handshake.*http:\/\//],
        [PREFACE, 505, /HTTP\/2/],
    ])
        for (let i = 0; i < 3; i++) {
            const client = await connect();
            void client.send(bytes);
            assert.match(assertProblem(await client.response(), status).detail, says);
        }
    const lines = () => sidecar.log.filter(({ msg }) => /another protocol/.test(msg));
    await until('a line for each', () => lines().length === 2);
    for (const line of lines()) assert.deepEqual([line.level, line.client, line.left_out], ['info', '127.0.0.1', undefined]);
    assert.deepEqual(lines().map(({ protocol }) => protocol), ['TLS', 'HTTP/2']);
    await sidecar.stop();
    assert.deepEqual(lines().slice(2).map(({ protocol, left_out }) => [protocol, left_out]), [
        ['TLS', 2],
        ['HTTP/2', 2],
    ]);
});
