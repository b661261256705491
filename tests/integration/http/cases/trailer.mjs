// trailer.mjs - trailer sections of requests: passed on or dropped, never merged, never forbidden (RFC 9110 6.5).
import assert from 'node:assert/strict';
import { chunked, either, forwarded, refused } from '../lib/case.mjs';
import { valuesOf } from '../lib/strict.mjs';

const withTrailers = (lines, head = '') => chunked(`5\r\nhello\r\n0\r\n${lines}\r\n`, head);

/** As it came or not at all, and never as if it had stood in the head. */
const passes = (name, value) => (request) => {
    assert.equal(request.text, 'hello');
    assert.deepEqual(request.all(name), [], 'merged into the head');
    const found = valuesOf(request.trailers, name);
    assert.ok(found.length === 0 || found.join('|') === value, `trailer ${found}`);
};

const good = [
    ['one', 'X-Sum: 1\r\n', passes('x-sum', '1')],
    ['two', 'X-Sum: 1\r\nX-Other: 2\r\n', passes('x-other', '2')],
    ['two of one name', 'X-Sum: 1\r\nX-Sum: 2\r\n', passes('x-sum', '1|2')],
    ['an empty value', 'X-Sum:\r\n', passes('x-sum', '')],
    ['bytes above 0x7f', 'X-Sum: \xe4\r\n', passes('x-sum', '\xe4')],
].map(([name, lines, means]) => forwarded(name, '9112 7.1.2', withTrailers(lines), means));

const announced = [
    forwarded(
        'announced by Trailer',
        '9110 6.6.2',
        withTrailers('X-Sum: 1\r\n', 'Trailer: X-Sum\r\n'),
        passes('x-sum', '1'),
    ),
    forwarded('announced and missing', '9110 6.6.2', withTrailers('', 'Trailer: X-Sum\r\n'), {
        body: 'hello',
        fields: { 'x-sum': null },
    }),
    forwarded('40 of them', '9112 7.1.2', withTrailers('X-Sum: 1\r\n'.repeat(40)), {
        body: 'hello',
    }),
];

/** RFC 9110 7.6.1: a nominated field goes no further, in a trailer section either. */
const nominated = [
    ['one', 'Connection: x-sum\r\n'],
    ['beside keep-alive', 'Connection: keep-alive, X-SUM\r\n'],
    ['in a second Connection', 'Connection: keep-alive\r\nConnection: x-sum\r\n'],
].map(([name, head]) =>
    forwarded(
        `nominated by Connection: ${name}`,
        '9110 7.6.1',
        withTrailers('X-Sum: 1\r\n', head),
        {
            body: 'hello',
            trailers: { 'x-sum': null },
        },
    ),
);

/** The strict reader refuses a message that has one of these in its trailer section. */
const forbidden = [
    'Content-Length: 50',
    'Transfer-Encoding: chunked',
    'Host: evil.test',
    'Connection: close',
    'Trailer: X-Sum',
    'TE: trailers',
    'Upgrade: h2c',
    'Expect: 100-continue',
    'Max-Forwards: 0',
    'Authorization: Basic YTpi',
    'Proxy-Authorization: Basic YTpi',
    'Cookie: a=b',
    'Cache-Control: no-cache',
    'Range: bytes=0-1',
    'Content-Type: text/evil',
    'Content-Encoding: gzip',
    'Content-Range: bytes 0-1/2',
    'Keep-Alive: timeout=1',
    'cONTENT-lENGTH: 50',
].map((line) => {
    const name = line.split(':')[0].toLowerCase();
    const inHead = (request) => {
        assert.equal(request.text, 'hello');
        const isFraming = name === 'transfer-encoding'; // the head's own is the same
        assert.ok(
            isFraming || !request.all(name).includes(line.split(': ')[1]),
            'merged into the head',
        );
    };
    return either(`forbidden: ${line}`, '9110 6.5.1', withTrailers(`${line}\r\n`), inHead);
});

const bad = [
    ['no colon', 'X-Sum\r\n'],
    ['no name', ': 1\r\n'],
    ['a space before the colon', 'X-Sum : 1\r\n'],
    ['a name that is not a token', 'X(Sum): 1\r\n'],
    ['a fold', 'X-Sum: 1\r\n 2\r\n'],
    ['a line that begins with a space', ' X-Sum: 1\r\n'],
    ['a NUL', 'X-Sum: 1\0\r\n'],
    ['a control', 'X-Sum: \x01\r\n'],
    ['a bare CR', 'X-Sum: 1\r2\r\n'],
    ['a bare LF', 'X-Sum: 1\nX-Other: 2\r\n'],
    ['a request line', 'GET /smuggled HTTP/1.1\r\n'],
].map(([name, lines]) =>
    either(`malformed: ${name}`, '9112 5', withTrailers(lines), { body: 'hello' }, { end: true }),
);

const endless = [
    either('5,000 of them', '9110 5.4', withTrailers('X-Sum: 1\r\n'.repeat(5000)), {
        body: 'hello',
    }),
    either('100,000 of them', '9110 5.4', withTrailers('X-Sum: 1\r\n'.repeat(100_000)), {
        body: 'hello',
    }),
    either('one of 500,000 bytes', '9110 5.4', withTrailers(`X-Sum: ${'1'.repeat(500_000)}\r\n`), {
        body: 'hello',
    }),
    refused('cut off', '9112 8', chunked('5\r\nhello\r\n0\r\nX-Sum: 1\r\n'), true, { end: true }),
    refused('cut off inside a line', '9112 8', chunked('5\r\nhello\r\n0\r\nX-S'), true, {
        end: true,
    }),
];

export default {
    title: 'trailers of requests',
    cases: [...good, ...announced, ...nominated, ...forbidden, ...bad, ...endless].map(
        (theCase) => ({
            ...theCase,
            name: `trailers: ${theCase.name}`,
        }),
    ),
};
