// response-head.mjs - status lines and fields of the app's answers, good and bad (RFC 9112 4, 5).
import { broken, lie, passed } from '../lib/case.mjs';

const LENGTH = 'Content-Length: 2\r\n';
const answer = (line, lines = '') => `${line}\r\n${lines}${LENGTH}\r\nok`;
const ok = (lines) => answer('HTTP/1.1 200 OK', lines);
const is = { status: 200, body: 'ok' };

const statuses = [
    200, 201, 202, 203, 206, 226, 299, 300, 301, 307, 400, 401, 404, 418, 451, 499, 500, 502, 503,
    599,
];
const good = [
    ...statuses.map((status) =>
        passed(`status ${status}`, '9110 15', answer(`HTTP/1.1 ${status} Word`), {
            status,
            body: 'ok',
        }),
    ),
    passed('a reason of several words', '9112 4', answer('HTTP/1.1 200 All is well'), {
        reason: 'All is well',
    }),
    passed('no reason', '9112 4', answer('HTTP/1.1 200 '), is),
    passed('a reason in latin1', '9112 4', answer('HTTP/1.1 200 gr\xfcn'), is),
    passed('an app of HTTP/1.0', '9112 2.3', answer('HTTP/1.0 200 OK'), { ...is, minor: 1 }),
    passed('fields, in order', '9110 5.3', ok('X-A: 1\r\nX-B: 2\r\nx-a: 3\r\n'), {
        ...is,
        fields: { 'x-a': ['1', '3'], 'x-b': '2' },
    }),
    passed('two cookies', '9110 5.3', ok('Set-Cookie: a=b; Path=/\r\nSet-Cookie: c=d\r\n'), {
        fields: { 'set-cookie': ['a=b; Path=/', 'c=d'] },
    }),
    passed('an empty value', '9110 5.5', ok('X-A:\r\n'), { fields: { 'x-a': '' } }),
    passed('bytes above 0x7f', '9110 5.5', ok('X-A: \xe4\xff\r\n'), {
        fields: { 'x-a': '\xe4\xff' },
    }),
    passed('white space around a value', '9112 5.1', ok('X-A: \t a b \t\r\n'), {
        fields: { 'x-a': 'a b' },
    }),
    passed('ETag, Location, Vary', '9110 7.7', ok('ETag: W/"a"\r\nLocation: /a?b\r\nVary: *\r\n'), {
        fields: { etag: 'W/"a"', location: '/a?b', vary: '*' },
    }),
    passed('40 fields', '9110 5.4', ok('X-A: 1\r\n'.repeat(40)), is),
];

/** Repaired or an error; never as they came. */
const repairable = [
    lie('no space behind the status', '9112 4', answer('HTTP/1.1 200'), is),
    lie('an empty line before it', '9112 2.2', `\r\n${ok()}`, is),
    lie('bare LFs', '9112 2.2', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok', is),
    lie('a space before the colon', '9112 5.1', ok('X-A : 1\r\n'), {
        ...is,
        fields: { 'x-a': '1' },
    }),
    lie('a fold', '9112 5.2', ok('X-A: a\r\n b\r\n'), { ...is, fields: { 'x-a': /^a +b$/ } }),
    lie('a fold with a tab', '9112 5.2', ok('X-A: a\r\n\tb\r\n'), {
        ...is,
        fields: { 'x-a': /^a\s+b$/ },
    }),
    lie('a fold of a field that it hides', '9112 5.2', ok('X-A: a\r\n Set-Cookie: b\r\n'), {
        ...is,
        fields: { 'set-cookie': null },
    }),
    lie('no colon', '9112 5', ok('X-A\r\n'), is),
    lie('no name', '9112 5', ok(': 1\r\n'), is),
    lie('a name with a space', '9112 5', ok('X A: 1\r\n'), is),
    lie('a name with a NUL', '9112 5', ok('X\0A: 1\r\n'), is),
    lie('a name with a byte of 0x80', '9112 5', ok('X\x80A: 1\r\n'), is),
    lie('a name with a bracket', '9112 5', ok('X(A): 1\r\n'), is),
    lie('a NUL in a value', '9110 5.5', ok('X-A: a\0b\r\n'), {
        ...is,
        fields: { 'x-a': /^(a b)?$/ },
    }),
    lie('a bare CR in a value', '9110 5.5', ok('X-A: a\rb\r\n'), {
        ...is,
        fields: { 'x-a': /^(a b)?$/ },
    }),
    lie('a field hidden by a bare CR', '9110 5.5', ok('X-A: a\rSet-Cookie: b\r\n'), {
        ...is,
        fields: { 'set-cookie': null },
    }),
    lie('a bare LF in a value', '9112 2.2', ok('X-A: a\nX-B: b\r\n'), {
        ...is,
        fields: { 'x-b': 'b' },
    }),
    lie('an escape in a value', '9110 5.5', ok('X-A: a\x1b[31m\r\n'), {
        ...is,
        fields: { 'x-a': null },
    }),
    lie('a DEL in a value', '9110 5.5', ok('X-A: a\x7f\r\n'), { ...is, fields: { 'x-a': null } }),
    lie('a NUL in the reason', '9112 4', answer('HTTP/1.1 200 O\0K'), is),
    lie('a bare CR in the reason', '9112 4', answer('HTTP/1.1 200 O\rK'), is),
    lie('an escape in the reason', '9112 4', answer('HTTP/1.1 200 O\x1bK'), is),
    lie('300 fields', '9110 5.4', ok('X-A: 1\r\n'.repeat(300)), is),
    lie('two spaces before the status', '9112 4', answer('HTTP/1.1  200 OK'), is),
    lie('a tab before the status', '9112 4', answer('HTTP/1.1\t200 OK'), is),
    lie('a space before the version', '9112 4', answer(' HTTP/1.1 200 OK'), is),
    lie('HTTP/2.0', '9110 2.5', answer('HTTP/2.0 200 OK'), is),
    lie('HTTP/1.7', '9110 2.5', answer('HTTP/1.7 200 OK'), is),
];

/** None of these is a status line. */
const bad = [
    ['another protocol', 'RTSP/1.0 200 OK'],
    ['ICY', 'ICY 200 OK'],
    ['HTTP/0.9', 'HTTP/0.9 200 OK'],
    ['lower case', 'http/1.1 200 OK'],
    ['HTTP/1', 'HTTP/1 200 OK'],
    ['HTTP/11.1', 'HTTP/11.1 200 OK'],
    ['no version', '200 OK'],
    ['no status', 'HTTP/1.1 OK'],
    ['nothing behind the version', 'HTTP/1.1'],
    ['a status of two digits', 'HTTP/1.1 20 OK'],
    ['a status of four digits', 'HTTP/1.1 2000 OK'],
    ['a status with a letter', 'HTTP/1.1 2x0 OK'],
    ['a status with a sign', 'HTTP/1.1 +20 OK'],
    ['a status with a fraction', 'HTTP/1.1 200.5 OK'],
    ['status 000', 'HTTP/1.1 000 Zero'],
    ['status 099', 'HTTP/1.1 099 Low'],
    ['status 600', 'HTTP/1.1 600 High'],
    ['status 999', 'HTTP/1.1 999 High'],
    ['no space before the reason', 'HTTP/1.1 200OK'],
    ['a request', 'GET / HTTP/1.1'],
    ['HTML', '<html><body>hello</body></html>'],
].map(([name, line]) =>
    lie(`a status line: ${name}`, '9112 4', answer(line), undefined, { then: 'close' }),
);

const garbage = [
    ['nothing', ''],
    ['an empty line', '\r\n\r\n'],
    ['a NUL', '\0'],
    ['TLS', '\x15\x03\x01\x00\x02\x02\x16'],
    ['a banner', '220 a.test ESMTP\r\n'],
    ['an HTTP/0.9 answer', 'hello, world'],
    ['a head without end', 'HTTP/1.1 200 OK\r\nX-A: 1\r\n'],
    ['a head cut in a name', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['a head cut in the version', 'HTT'],
    ['a head that ends with CR CR', 'HTTP/1.1 200 OK\r\n\r\r'],
].flatMap(([name, app]) => [
    lie(`${name}, then FIN`, '9112 8', app, undefined, { then: 'close' }),
    lie(`${name}, then RST`, '9112 8', app, undefined, { then: 'reset' }),
]);

const limits = [
    lie('a value without end', '9110 5.4', ok(`X-A: ${'v'.repeat(500_000)}\r\n`), is, {
        then: 'close',
    }),
    lie('fields without end', '9110 5.4', ok('X-A: 1\r\n'.repeat(50_000)), is, { then: 'close' }),
    lie('an app that says nothing', '9110 15.6.5', async () => {}),
];

const twice = [
    // The second may be lost; it is never another call's.
    passed(
        'two answers to one request',
        '9112 9.3',
        ok() + answer('HTTP/1.1 200 OK', 'X-Evil: 1\r\n'),
        {
            ...is,
            fields: { 'x-evil': null },
        },
    ),
    passed('garbage behind an answer', '9112 9.3', `${ok()}\0\0garbage\r\n\r\n`, is),
    broken(
        'a second head in the place of a body',
        '9112 8',
        'HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
        {
            then: 'close',
        },
    ),
];

export default {
    title: 'heads of answers',
    cases: [...good, ...repairable, ...bad, ...garbage, ...limits, ...twice],
};
