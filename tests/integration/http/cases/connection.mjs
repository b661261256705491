// connection.mjs - what is meant for one connection ends there: nominated fields and hop-by-hop ones (RFC 9110 7.6.1).
import assert from 'node:assert/strict';
import { HOST, either, forwarded, get, post } from '../lib/case.mjs';

const gone = (...names) => ({
    target: '/x',
    fields: Object.fromEntries(names.map((n) => [n, null])),
});

/** The nominated field is gone, and so is its nomination. */
const nominated = [
    ['a field', 'Connection: x-hop\r\nX-Hop: 1\r\n'],
    ['a field before it', 'X-Hop: 1\r\nConnection: x-hop\r\n'],
    ['in other letters', 'Connection: X-HOP\r\nx-hop: 1\r\n'],
    ['several lines of a field', 'X-Hop: 1\r\nConnection: x-hop\r\nX-Hop: 2\r\nx-hop: 3\r\n'],
    ['beside close', 'Connection: close, x-hop\r\nX-Hop: 1\r\n'],
    ['before close', 'Connection: x-hop, close\r\nX-Hop: 1\r\n'],
    ['beside keep-alive', 'Connection: keep-alive, x-hop\r\nX-Hop: 1\r\n'],
    ['without spaces', 'Connection: keep-alive,x-hop\r\nX-Hop: 1\r\n'],
    ['with tabs', 'Connection:\tkeep-alive\t,\tx-hop\t\r\nX-Hop: 1\r\n'],
    ['among empty elements', 'Connection: ,, x-hop ,,\r\nX-Hop: 1\r\n'],
    ['in a second Connection', 'Connection: keep-alive\r\nConnection: x-hop\r\nX-Hop: 1\r\n'],
    ['in the first Connection', 'Connection: x-hop\r\nConnection: keep-alive\r\nX-Hop: 1\r\n'],
    [
        'in a third Connection',
        'Connection: a\r\nconnection: b\r\nCONNECTION: x-hop\r\nX-Hop: 1\r\n',
    ],
    ['twice', 'Connection: x-hop, x-hop\r\nX-Hop: 1\r\n'],
    ['an empty field', 'Connection: x-hop\r\nX-Hop:\r\n'],
    ['the last of 30', `Connection: ${'a, '.repeat(29)}x-hop\r\nX-Hop: 1\r\n`],
].map(([name, lines]) =>
    forwarded(`nominated: ${name}`, '9110 7.6.1', get(lines), (request) => {
        assert.deepEqual(request.all('x-hop'), []);
        assert.ok(!request.list('connection').includes('x-hop'), 'still nominated');
    }),
);

const nominatedAtAll = [
    forwarded(
        'two of three',
        '9110 7.6.1',
        get('Connection: x-a, x-c\r\nX-A: 1\r\nX-B: 2\r\nX-C: 3\r\n'),
        {
            fields: { 'x-a': null, 'x-b': '2', 'x-c': null },
        },
    ),
    forwarded('one that is not there', '9110 7.6.1', get('Connection: x-hop\r\nX-A: 1\r\n'), {
        fields: { 'x-a': '1' },
    }),
    forwarded('the beginning of a name', '9110 7.6.1', get('Connection: x\r\nX-A: 1\r\n'), {
        fields: { 'x-a': '1' },
    }),
    ...['Cookie: a=b', 'Authorization: Basic YTpi', 'Cache-Control: no-cache', 'Accept: a/b'].map(
        (line) => {
            const name = line.split(':')[0];
            const lines = `Connection: ${name}\r\n${line}\r\n`;
            return either(`${name}`, '9110 7.6.1', get(lines), gone(name));
        },
    ),
    either(
        'what a proxy adds',
        'nominations are not for ours',
        get('Connection: via, x-forwarded-for\r\n'),
        {
            fields: { via: /^1\.1 \S/ },
        },
    ),
    either('Expect', '9110 7.6.1', post('Connection: expect\r\nContent-Length: 5\r\n', 'hello'), {
        body: 'hello',
    }),
    either(
        '100 options',
        '9110 7.6.1',
        get(`Connection: ${'a, '.repeat(99)}x-hop\r\nX-Hop: 1\r\n`),
        {
            fields: { 'x-hop': null },
        },
    ),
    either(
        '100 Connections',
        '9110 7.6.1',
        get(`${'Connection: x-hop\r\n'.repeat(100)}X-Hop: 1\r\n`),
        {
            fields: { 'x-hop': null },
        },
    ),
].map((theCase) => ({ ...theCase, name: `nominated: ${theCase.name}` }));

/** What is not a list of names may be ignored or refused, not passed on. */
const malformed = ['x hop', '"x-hop"', 'x-hop;a=b', 'x-hop=1', 'x-hop\x80', '@', 'x:hop'].map(
    (value) =>
        either(
            `Connection: ${value}`,
            '9110 7.6.1',
            get(`Connection: ${value}\r\nX-A: 1\r\n`),
            (request) => assert.ok(!request.all('connection').includes(value), 'passed on'),
        ),
);

const always = [
    ['Keep-Alive', 'Keep-Alive: timeout=5\r\n'],
    ['Proxy-Connection', 'Proxy-Connection: keep-alive\r\n'],
    ['Upgrade', 'Upgrade: foo/1\r\n'],
    ['TE', 'TE: gzip\r\n'],
    ['TE that is nominated', 'Connection: TE\r\nTE: gzip;q=0.5\r\n'],
    [
        'HTTP2-Settings',
        'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
    ],
].map(([name, lines]) => {
    const field = /^(?:Connection:.*\r\n)?([^:]+):/.exec(lines)[1];
    return forwarded(
        `${name} goes no further`,
        '9110 7.6.1',
        get(lines),
        gone(field, 'http2-settings'),
    );
});

const proxyAuth = [
    either('Proxy-Authorization', '9110 11.7.2', get('Proxy-Authorization: Basic YTpi\r\n'), {}),
];

/** RFC 9112 9.3, 9.6. */
const persistence = [
    ['Connection: close', get('Connection: close\r\n'), true],
    ['Connection: CLOSE', get('Connection: CLOSE\r\n'), true],
    ['close beside keep-alive', get('Connection: keep-alive, close\r\n'), true],
    ['close in a second field', get('Connection: keep-alive\r\nConnection: close\r\n'), true],
    ['HTTP/1.0', `GET /x HTTP/1.0\r\n${HOST}\r\n`, true],
    ['HTTP/1.0 with close', `GET /x HTTP/1.0\r\n${HOST}Connection: close\r\n\r\n`, true],
    [
        'HTTP/1.0 with close and keep-alive',
        `GET /x HTTP/1.0\r\n${HOST}Connection: close, keep-alive\r\n\r\n`,
        true,
    ],
    ['HTTP/1.0 with keep-alive', `GET /x HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n\r\n`, false],
    ['HTTP/1.1', get(), false],
    ['HTTP/1.1 with Proxy-Connection: close', get('Proxy-Connection: close\r\n'), false],
].map(([name, bytes, closes]) =>
    forwarded(`the end of a connection: ${name}`, '9112 9.3', bytes, { target: '/x' }, { closes }),
);

export default {
    title: 'Connection',
    cases: [...nominated, ...nominatedAtAll, ...malformed, ...always, ...proxyAuth, ...persistence],
};
