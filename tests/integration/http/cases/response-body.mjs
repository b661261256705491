// response-body.mjs - where the app's answer ends, and apps that lie about it (RFC 9112 6.3, 8).
import { HOST, broken, lie, passed } from '../lib/case.mjs';

const OK = 'HTTP/1.1 200 OK\r\n';
const length = (value, body = 'hello') => `${OK}Content-Length: ${value}\r\n\r\n${body}`;
const is = (body) => ({ status: 200, body });
const close = { then: 'close' };
const HEAD = { send: `HEAD /x HTTP/1.1\r\n${HOST}\r\n`, method: 'HEAD' };

const good = [
    passed('a length', '9112 6.2', length('5'), is('hello')),
    passed('a length of 0', '9112 6.2', length('0', ''), is('')),
    passed(
        '100,000 bytes',
        '9112 6.2',
        length('100000', 'b'.repeat(100_000)),
        is('b'.repeat(100_000)),
    ),
    passed('white space around a length', '9112 5.1', length(' \t5 \t'), is('hello')),
    passed('an end of the connection', '9112 6.3 (8)', `${OK}\r\nhello`, is('hello'), close),
    passed(
        'an end of the connection, nothing before it',
        '9112 6.3 (8)',
        `${OK}\r\n`,
        is(''),
        close,
    ),
    passed(
        'HTTP/1.0 to its end',
        '9112 6.3 (8)',
        'HTTP/1.0 200 OK\r\n\r\nhello',
        is('hello'),
        close,
    ),
    passed('a length, then FIN', '9112 9.6', length('5'), is('hello'), close),
    passed('a body that is a response', '9112 6', length(`${OK.length}`, OK), is(OK)),
    passed(
        'Connection: close and a length',
        '9112 9.6',
        `${OK}Connection: close\r\nContent-Length: 5\r\n\r\nhello`,
        is('hello'),
        close,
    ),
];

const short = [
    broken('too short for its length', '9112 8', length('10', 'short'), close),
    broken('too short for its length, RST', '9112 8', length('10', 'short'), { then: 'reset' }),
    broken('nothing of its length', '9112 8', length('10', ''), close),
    broken('a byte too short', '9112 8', length('5', 'hell'), close),
    broken('a huge length', '9112 8', length('9223372036854775807', 'x'), close),
    broken('no length, RST', '9112 8', `${OK}\r\nhello`, { then: 'reset' }),
];

/** What is behind the end is nobody's; the next call gets its own answer (each case looks). */
const long = [
    passed('too long for its length', '9112 6.3', length('5', 'hello, world'), is('hello')),
    passed(
        'a second answer behind it',
        '9112 6.3',
        length('5', `hello${length('4', 'evil')}`),
        is('hello'),
    ),
    passed('a body behind a length of 0', '9112 6.3', length('0', 'evil'), is('')),
    passed('CR LF behind it', '9112 2.2', length('5', 'hello\r\n'), is('hello')),
];

const badLengths = [
    ['a plus sign', '+5'],
    ['a minus sign', '-5'],
    ['hex', '0x5'],
    ['a fraction', '5.0'],
    ['two numbers', '5 5'],
    ['a list of two', '5, 6'],
    ['a word', 'five'],
    ['nothing', ''],
    ['a semicolon', '5;a'],
    ['a NUL', '5\0'],
    ['a vertical tab', '\x0b5'],
    ['2^63', '9223372036854775808'],
    ['2^64 + 5', '18446744073709551621'],
].map(([name, value]) => lie(`a length: ${name}`, '9112 6.3 (5)', length(value), undefined, close));

const two = (a, b) => `${OK}Content-Length: ${a}\r\nContent-Length: ${b}\r\n\r\nhello`;
const lengths = [
    lie('two lengths', '9112 6.3 (5)', two(5, 6), undefined, close),
    lie('two lengths, 0 first', '9112 6.3 (5)', two(0, 5), undefined, close),
    lie('the same length twice', '9112 6.3 (5)', two(5, 5), is('hello')),
    lie('a list of the same', '9112 6.3 (5)', length('5, 5'), is('hello')),
    lie('leading zeros', '9110 8.6', length('005'), is('hello')),
];

const coded = (lines, body = '5\r\nhello\r\n0\r\n\r\n') => `${OK}${lines}\r\n${body}`;
const noLength = { ...is('hello'), fields: { 'content-length': /^5?$/ } };
const codings = [
    lie(
        'chunks and a length',
        '9112 6.3 (3)',
        coded('Transfer-Encoding: chunked\r\nContent-Length: 3\r\n'),
        noLength,
    ),
    lie(
        'a length and chunks',
        '9112 6.3 (3)',
        coded('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n'),
        noLength,
    ),
    lie(
        'chunks in HTTP/1.0',
        '9112 6.1',
        coded('Transfer-Encoding: chunked\r\n').replace('1.1', '1.0'),
        noLength,
        close,
    ),
    ...[
        ['gzip, chunked', 'gzip, chunked'],
        ['chunked twice', 'chunked, chunked'],
        ['xchunked', 'xchunked'],
        ['identity', 'identity'],
        ['chunked, identity', 'chunked, identity'],
        ['quotes', '"chunked"'],
        ['a vertical tab', '\x0bchunked'],
        ['nothing', ''],
    ].map(([name, value]) =>
        lie(`a coding: ${name}`, '9112 6.1', coded(`Transfer-Encoding: ${value}\r\n`), undefined, {
            ...close,
            allow: { broken: true },
        }),
    ),
    lie(
        'two codings',
        '9112 6.1',
        coded('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'),
        undefined,
        close,
    ),
    lie(
        'a coding behind a space',
        '9112 5.1',
        coded('Transfer-Encoding : chunked\r\n'),
        noLength,
        close,
    ),
    lie(
        'a folded coding',
        '9112 5.2',
        coded('Transfer-Encoding:\r\n chunked\r\n'),
        noLength,
        close,
    ),
];

/** RFC 9112 6.3 rule 1, RFC 9110 8.6, 15.3.5, 15.4.5: no body, whatever the fields say. */
const empty = (status, fields = {}) => ({ status, body: '', fields });
const without = [
    passed('204', '9110 15.3.5', 'HTTP/1.1 204 No Content\r\n\r\n', empty(204)),
    passed(
        '204 with a length of 0',
        '9110 8.6',
        'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n',
        empty(204),
    ),
    lie(
        '204 with a body',
        '9112 6.3 (1)',
        'HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil',
        empty(204),
    ),
    lie(
        '204 with chunks',
        '9112 6.3 (1)',
        'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n',
        empty(204),
    ),
    lie(
        '204 with bytes behind it',
        '9112 6.3 (1)',
        'HTTP/1.1 204 No Content\r\n\r\nevil',
        empty(204),
    ),
    lie(
        '204 with an answer behind it',
        '9112 6.3 (1)',
        `HTTP/1.1 204 No Content\r\n\r\n${length('4', 'evil')}`,
        empty(204),
    ),
    passed(
        '304',
        '9110 15.4.5',
        'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n',
        empty(304, { etag: '"a"' }),
    ),
    passed(
        '304 with the length of what is not sent',
        '9110 8.6',
        'HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n',
        empty(304, { 'content-length': /^4?$/ }),
    ),
    lie(
        '304 with a body',
        '9112 6.3 (1)',
        'HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nevil',
        empty(304),
    ),
    lie(
        '304 with chunks',
        '9112 6.3 (1)',
        'HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n',
        empty(304),
    ),
    passed(
        '205',
        '9110 15.3.6',
        'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n',
        empty(205),
    ),
    passed(
        'HEAD with a length',
        '9110 9.3.2',
        length('5', ''),
        empty(200, { 'content-length': /^5?$/ }),
        HEAD,
    ),
    passed(
        'HEAD with chunks',
        '9110 9.3.2',
        coded('Transfer-Encoding: chunked\r\n', ''),
        empty(200),
        HEAD,
    ),
    passed('HEAD without framing', '9110 9.3.2', `${OK}\r\n`, empty(200), HEAD),
    lie(
        'HEAD and 204 with a length',
        '9110 8.6',
        'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n',
        empty(204),
        HEAD,
    ),
    lie('HEAD with a body', '9112 6.3 (1)', length('5'), empty(200), HEAD),
    lie(
        'HEAD with an answer behind it',
        '9112 6.3 (1)',
        length('5', length('4', 'evil')),
        empty(200),
        HEAD,
    ),
];

export default {
    title: 'bodies of answers',
    cases: [...good, ...short, ...long, ...badLengths, ...lengths, ...codings, ...without],
};
