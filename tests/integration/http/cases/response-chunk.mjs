// response-chunk.mjs - chunks and trailers of the app's answers (RFC 9112 7.1, RFC 9110 6.5).
import assert from 'node:assert/strict';
import { broken, get, lie, passed } from '../lib/case.mjs';
import { valuesOf } from '../lib/strict.mjs';

const END = '0\r\n\r\n';
const chunks = (body, lines = '') =>
    `HTTP/1.1 200 OK\r\n${lines}Transfer-Encoding: chunked\r\n\r\n${body}`;
const is = (body) => ({ status: 200, body });
const close = { then: 'close' };

const good = [
    ['one chunk', `5\r\nhello\r\n${END}`, 'hello'],
    ['none', END, ''],
    ['three chunks', `1\r\nh\r\n3\r\nell\r\n1\r\no\r\n${END}`, 'hello'],
    ['a size in upper-case hex', `A\r\n0123456789\r\n${END}`, '0123456789'],
    ['leading zeros', `0005\r\nhello\r\n${END}`, 'hello'],
    ['data that looks like framing', `7\r\n\r\n0\r\n\r\n\r\n${END}`, '\r\n0\r\n\r\n'],
    ['100,000 bytes', `186a0\r\n${'x'.repeat(100_000)}\r\n${END}`, 'x'.repeat(100_000)],
    ['an extension', `5;a=b\r\nhello\r\n${END}`, 'hello'],
    ['a quoted extension', `5;a="b;\\""\r\nhello\r\n${END}`, 'hello'],
    ['an extension of the last chunk', '5\r\nhello\r\n0;a\r\n\r\n', 'hello'],
].map(([name, bytes, body]) => passed(name, '9112 7.1', chunks(bytes), is(body)));

const behind = [
    passed('bytes behind the end', '9112 7.1', chunks(`5\r\nhello\r\n${END}evil`), is('hello')),
    passed(
        'an answer behind the end',
        '9112 9.3',
        chunks(`5\r\nhello\r\n${END}${chunks(END)}`),
        is('hello'),
    ),
];

/** What came before may have gone on already: then the caller must see that the rest is missing. */
const bad = [
    ['a size that is none', 'zz\r\n'],
    ['an empty size', '\r\n'],
    ['a plus sign', '+5\r\nhello\r\n'],
    ['a minus sign', '-5\r\nhello\r\n'],
    ['0x', '0x5\r\nhello\r\n'],
    ['a space before a size', ' 5\r\nhello\r\n'],
    ['2^64 + 5', '10000000000000005\r\nhello\r\n'],
    ['2^63', '8000000000000000\r\nhello\r\n'],
    ['a bare CR behind a size', '5\rhello\r\n'],
    ['nothing behind data', '5\r\nhello'],
    ['a byte too many', '5\r\nhello!\r\n'],
    ['a byte too few', '5\r\nhell\r\n'],
    ['a bare LF in an extension', '5;a\nb\r\nhello\r\n'],
    ['a bare CR in an extension', '5;a\rb\r\nhello\r\n'],
    ['an extension without end', `5;${'a'.repeat(500_000)}\r\nhello\r\n`],
].map(([name, bytes]) => broken(name, '9112 7.1', chunks(`3\r\nabc\r\n${bytes}${END}`), close));

/** One reading is possible: framed anew, it may pass. */
const sloppy = [
    ['a word behind a size', '5 hello\r\nhello\r\n'],
    ['a bare LF behind a size', '5\nhello\r\n'],
    ['a bare LF behind data', '5\r\nhello\n'],
    ['a NUL in an extension', '5;a=\0\r\nhello\r\n'],
].map(([name, bytes]) => {
    const { allow, ...theCase } = passed(name, '9112 7.1', chunks(bytes + END), is('hello'), close);
    return { ...theCase, allow: { ...allow, broken: true, badGateway: true } };
});

const cut = [
    ['before the last chunk', '5\r\nhello\r\n'],
    ['behind the last chunk', '5\r\nhello\r\n0\r\n'],
    ['inside data', '5\r\nhel'],
    ['inside a size', '5\r\nhello\r\n1'],
    ['inside a trailer', '5\r\nhello\r\n0\r\nX-Su'],
    ['before the first chunk', ''],
].flatMap(([name, bytes]) => [
    broken(`cut ${name}, FIN`, '9112 8', chunks(bytes), close),
    broken(`cut ${name}, RST`, '9112 8', chunks(bytes), { then: 'reset' }),
]);

const trailing = (lines, head = '') => chunks(`5\r\nhello\r\n0\r\n${lines}\r\n`, head);
const passes = (name, value) => (response) => {
    assert.equal(response.text, 'hello');
    assert.deepEqual(response.all(name), [], 'merged into the head');
    const found = valuesOf(response.trailers, name);
    assert.ok(found.length === 0 || found.join('|') === value, `trailer ${found}`);
};
const wanting = { send: get('Connection: TE\r\nTE: trailers\r\n') };

const trailers = [
    passed('a trailer', '9112 7.1.2', trailing('X-Sum: 1\r\n'), passes('x-sum', '1')),
    passed(
        'a trailer that was asked for',
        '9110 6.5.1',
        trailing('X-Sum: 1\r\n'),
        passes('x-sum', '1'),
        wanting,
    ),
    passed(
        'an announced trailer',
        '9110 6.6.2',
        trailing('X-Sum: 1\r\n', 'Trailer: X-Sum\r\n'),
        passes('x-sum', '1'),
        wanting,
    ),
    passed(
        'a trailer that Connection nominates',
        '9110 7.6.1',
        trailing('X-Sum: 1\r\n', 'Connection: x-sum\r\n'),
        {
            body: 'hello',
            trailers: { 'x-sum': null },
        },
        wanting,
    ),
    passed('40 trailers', '9112 7.1.2', trailing('X-Sum: 1\r\n'.repeat(40)), is('hello')),
    ...[
        'Content-Length: 50',
        'Transfer-Encoding: chunked',
        'Set-Cookie: a=b',
        'Content-Type: text/evil',
        'Content-Encoding: gzip',
        'Cache-Control: public',
        'Connection: close',
        'Trailer: X-Sum',
        'Content-Range: bytes 0-1/2',
        'Keep-Alive: timeout=1',
    ].map((line) =>
        lie(`a forbidden trailer: ${line}`, '9110 6.5.1', trailing(`${line}\r\n`), is('hello'), {
            ...wanting,
            allow: {
                broken: true,
                whole: (_, response) => {
                    assert.equal(response.text, 'hello');
                    const [, name, value] = /^(.*): (.*)$/.exec(line);
                    if (value !== 'chunked')
                        assert.ok(!response.all(name).includes(value), 'merged');
                },
            },
        }),
    ),
    ...[
        ['no colon', 'X-Sum\r\n'],
        ['a space before the colon', 'X-Sum : 1\r\n'],
        ['a fold', 'X-Sum: 1\r\n 2\r\n'],
        ['a NUL', 'X-Sum: \0\r\n'],
        ['a bare CR', 'X-Sum: 1\r2\r\n'],
        ['a bare LF', 'X-Sum: 1\nX-Other: 2\r\n'],
        ['a status line', 'HTTP/1.1 200 OK\r\n'],
        ['without end', `${'X-Sum: 1\r\n'.repeat(60_000)}`],
    ].map(([name, lines]) =>
        lie(`bad trailers: ${name}`, '9112 7.1.2', trailing(lines), is('hello'), {
            then: 'close',
            allow: { broken: true, whole: (_, response) => assert.equal(response.text, 'hello') },
        }),
    ),
];

export default {
    title: 'chunks of answers',
    cases: [...good, ...behind, ...bad, ...sloppy, ...cut, ...trailers],
};
