// field.mjs - field lines: names, values, white space, folds, line ends (RFC 9112 5, RFC 9110 5).
import { HOST, either, forwarded, get, post, refused } from '../lib/case.mjs';

const has = (fields) => ({ method: 'GET', target: '/x', fields });
const many = (n, line) => Array.from({ length: n }, (_, i) => line(i)).join('');

const good = [
    ['one field', 'X-A: 1\r\n', { 'x-a': '1' }],
    ['no space after the colon', 'X-A:1\r\n', { 'x-a': '1' }],
    ['white space around a value', 'X-A: \t 1 \t \r\n', { 'x-a': '1' }],
    ['an empty value', 'X-A:\r\n', { 'x-a': '' }],
    ['a value of white space', 'X-A: \t \r\n', { 'x-a': '' }],
    ['white space inside a value', 'X-A: a \t b\r\n', { 'x-a': 'a \t b' }],
    ['a colon in a value', 'X-A: a:b: c\r\n', { 'x-a': 'a:b: c' }],
    ['a quoted string', 'X-A: "a, \\"b\\""\r\n', { 'x-a': '"a, \\"b\\""' }],
    ['bytes above 0x7f', 'X-A: \x80\xe4\xff\r\n', { 'x-a': '\x80\xe4\xff' }],
    ['a name of one letter', 'X: 1\r\n', { x: '1' }],
    ['a long value', `X-A: ${'v'.repeat(6000)}\r\n`, { 'x-a': 'v'.repeat(6000) }],
    ['lines of one name, in order', 'X-A: 1\r\nX-B: 2\r\nx-a: 3\r\n', { 'x-a': ['1', '3'] }],
    ['a list', 'X-A: 1, 2,3\r\n', { 'x-a': '1, 2,3' }],
    ['60 fields', many(60, (i) => `X-${i}: ${i}\r\n`), { 'x-0': '0', 'x-59': '59' }],
    ['Cookie', 'Cookie: a=b; c="d"\r\n', { cookie: 'a=b; c="d"' }],
    ['Authorization', 'Authorization: Basic YTpi\r\n', { authorization: 'Basic YTpi' }],
    ['Content-Type without a body', 'Content-Type: a/b\r\n', { 'content-type': 'a/b' }],
    ['Range', 'Range: bytes=0-1\r\n', { range: 'bytes=0-1' }],
    ['If-None-Match', 'If-None-Match: W/"a", "b"\r\n', { 'if-none-match': 'W/"a", "b"' }],
    [
        'Accept-Encoding',
        'Accept-Encoding: gzip;q=0.5, *;q=0\r\n',
        { 'accept-encoding': /gzip;q=0\.5/ },
    ],
].map(([name, lines, fields]) => forwarded(`${name} goes on`, '9110 5', get(lines), has(fields)));

const unusual = [
    either('a name of every token character', '9110 5.1', get("!#$%&'*+-.^_`|~9: 1\r\n"), has({})),
    either('an underscore in a name', '9110 5.1', get('X_A: 1\r\n'), has({ 'x-a': null })),
    either('a name of 10,000 letters', '9110 5.4', get(`${'X'.repeat(10_000)}: 1\r\n`), has({})),
    either('120 fields', '9110 5.4', get(many(120, (i) => `X-${i}: 1\r\n`)), has({ 'x-119': '1' })),
    either(
        '1,000 fields',
        '9110 5.4',
        get(many(1000, (i) => `X-${i}: 1\r\n`)),
        has({ 'x-999': '1' }),
    ),
    either('a value of 50,000 bytes', '9110 5.4', get(`X-A: ${'v'.repeat(50_000)}\r\n`), {
        fields: { 'x-a': 'v'.repeat(50_000) },
    }),
    refused('a value without end', '9110 5.4', get(`X-A: ${'v'.repeat(300_000)}\r\n`)),
    refused('fields without end', '9110 5.4', get(many(30_000, (i) => `X-${i}: 1\r\n`))),
];

/** RFC 9112 5.1: refuse, and with 400. */
const beforeColon = [
    ['a space', 'X-A : 1\r\n'],
    ['a tab', 'X-A\t: 1\r\n'],
    ['a space, Host', 'Host : a.test\r\n'],
    ['a space, Content-Length', 'Content-Length : 0\r\n'],
    ['a space, Transfer-Encoding', 'Transfer-Encoding : chunked\r\n'],
    ['a space, Connection', 'Connection : close\r\n'],
    ['a vertical tab', 'X-A\x0b: 1\r\n'],
].map(([name, lines]) => refused(`${name} before the colon`, '9112 5.1', get(lines)));

/** What is not a field line may be dropped; it may not be passed on. */
const badName = [
    ['a space', 'X A: 1\r\n'],
    ['no name', ': 1\r\n'],
    ['no colon', 'X-A\r\n'],
    ['nothing but a colon', ':\r\n'],
    ['a bracket', 'X(A): 1\r\n'],
    ['an at sign', 'X@A: 1\r\n'],
    ['a slash', 'X/A: 1\r\n'],
    ['an equals sign', 'X=A: 1\r\n'],
    ['a quote', '"X-A": 1\r\n'],
    ['a comma', 'X,A: 1\r\n'],
    ['a semicolon', 'X;A: 1\r\n'],
    ['a backslash', 'X\\A: 1\r\n'],
    ['a NUL', 'X\0A: 1\r\n'],
    ['a control', 'X\x01A: 1\r\n'],
    ['a DEL', 'X\x7fA: 1\r\n'],
    ['a byte of 0x80', 'X\x80A: 1\r\n'],
    ['UTF-8', 'X\xc3\xa4: 1\r\n'],
    ['a no-break space at its end', 'X-A\xa0: 1\r\n'],
    ['a bare CR', 'X\rA: 1\r\n'],
    ['a bare LF', 'X\nA: 1\r\n'],
    ['Content-Length and a NUL', 'Content-Length\0: 5\r\n'],
    ['Transfer-Encoding and a byte of 0xff', 'Transfer-Encoding\xff: chunked\r\n'],
    ['a second request line', 'GET /smuggled HTTP/1.1\r\n'],
].map(([name, lines]) =>
    either(`a name with ${name}`, '9110 5.1', get(lines), has({ 'x-a': /^$/ })),
);

const blank = { 'x-a': /^a[ \t]+b$/ };
const folds = [
    ['a fold', 'X-A: a\r\n b\r\n', blank],
    ['a fold with a tab', 'X-A: a\r\n\tb\r\n', blank],
    ['a fold of many spaces', 'X-A: a\r\n      b\r\n', blank],
    ['a fold before the value', 'X-A:\r\n b\r\n', { 'x-a': /^ *b$/ }],
    ['two folds', 'X-A: a\r\n \r\n b\r\n', blank],
    [
        'a fold with a field in it',
        'X-A: a\r\n X-B: b\r\n',
        { 'x-a': /^a[ \t]+X-B: b$/, 'x-b': null },
    ],
    ['an empty fold at the end', 'X-A: a\r\n \r\n', { 'x-a': /^a[ \t]*$/ }],
    ['a fold after a bare LF', 'X-A: a\n b\r\n', blank],
    ['a folded Cookie', 'Cookie: a=b;\r\n c=d\r\n', { cookie: /^a=b;[ \t]+c=d$/ }],
].map(([name, lines, fields]) => either(name, '9112 5.2', get(lines), has(fields)));

/** RFC 9110 5.5: refuse, or put a space there; other controls have no safe place in a proxy. */
const controls = [
    ['a NUL', 'a\0b'],
    ['a NUL at its end', 'a b\0'],
    ['a bare CR', 'a\rb'],
    ['a bell', 'a\x07b'],
    ['a backspace', 'a\x08b'],
    ['a vertical tab', 'a\x0bb'],
    ['a form feed', 'a\x0cb'],
    ['an escape', 'a\x1bb'],
    ['a DEL', 'a\x7fb'],
].map(([name, value]) =>
    either(`${name} in a value`, '9110 5.5', get(`X-A: ${value}\r\n`), has({ 'x-a': /^a b ?$/ })),
);

const lineEnds = [
    either('a bare LF ends a line', '9112 2.2', get('X-A: a\nX-B: b\r\n'), has({ 'x-b': 'b' })),
    refused('a bare CR ends a line', '9112 2.2', get('X-A: a\rX-B: b\r\n')),
    either('two CRs end a line', '9112 2.2', get('X-A: a\r\r\n'), has({ 'x-a': /^a ?$/ })),
    either('CRs and LF end a line', '9112 2.2', get('X-A: a\r\r\r\n'), has({ 'x-a': /^a *$/ })),
    either('a line that begins with a CR', '9112 2.2', get('X-A: a\r\n\rX-B: b\r\n'), {
        fields: { 'x-b': null },
    }),
    either('LF LF ends the head', '9112 2.2', `GET /x HTTP/1.1\r\n${HOST}X-A: a\n\n`, has({})),
    either('LF CR LF ends the head', '9112 2.2', `GET /x HTTP/1.1\r\n${HOST}X-A: a\n\r\n`, has({})),
    refused('CR CR ends the head', '9112 2.2', `GET /x HTTP/1.1\r\n${HOST}\r\r`, true, {
        end: true,
    }),
    refused('CR LF CR ends the head', '9112 2.2', `GET /x HTTP/1.1\r\n${HOST}\r`, true, {
        end: true,
    }),
    refused(
        'LF CR CR LF in the head',
        '9112 2.2',
        `GET /x HTTP/1.1\r\n${HOST}\r\r\nX-A: 1\r\n\r\n`,
    ),
    refused('the head never ends', '9112 2.1', `GET /x HTTP/1.1\r\n${HOST}X-A: a\r\n`, true, {
        end: true,
    }),
];

/** A line that one reader sees and another does not, with a length for each to believe. */
const hidden = [
    ['by a bare CR', 'X-A: a\rTransfer-Encoding: chunked\r\n'],
    ['by a fold', 'X-A: a\r\n Transfer-Encoding: chunked\r\n'],
    ['by a NUL', 'X-A: a\0\r\nX-B: b\0Transfer-Encoding: chunked\r\n'],
    ['by a bare LF', 'X-A: a\nX-B: b\r\n'],
].map(([name, lines]) =>
    either(
        `a field is hidden ${name}`,
        '9112 11.2',
        post(`Content-Length: 5\r\n${lines}`, '0\r\n\r\n'),
        {
            body: '0\r\n\r\n',
            fields: { 'transfer-encoding': null },
        },
    ),
);

export default {
    title: 'field lines',
    cases: [
        ...good,
        ...unusual,
        ...beforeColon,
        ...badName,
        ...folds,
        ...controls,
        ...lineEnds,
        ...hidden,
    ],
};
