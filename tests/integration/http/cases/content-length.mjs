// content-length.mjs - Content-Length: one number, once, and the body has that many bytes (RFC 9112 6).
import { HOST, SMUGGLED, either, forwarded, get, post, refused } from '../lib/case.mjs';

const length = (value, rest = 'hello') => post(`Content-Length: ${value}\r\n`, rest);
const body = (text) => ({ body: text, fields: { 'transfer-encoding': null } });

const good = [
    forwarded('a body', '9112 6.2', length('5'), body('hello')),
    forwarded('a body of nothing', '9112 6.2', length('0', ''), body('')),
    forwarded('no body', '9112 6.3', post(''), body('')),
    forwarded('a body of 100,000 bytes', '9112 6.2', length('100000', 'b'.repeat(100_000)), {
        body: 'b'.repeat(100_000),
    }),
    forwarded('white space around it', '9112 5.1', length(' \t5 \t'), body('hello')),
    forwarded('CONTENT-LENGTH', '9110 5.1', post('CONTENT-LENGTH: 5\r\n', 'hello'), body('hello')),
    forwarded(
        'a body that is bytes',
        '9112 6',
        length('6', '\0\r\n\xff\r\n'),
        body('\0\r\n\xff\r\n'),
    ),
    forwarded(
        'a body that is a request',
        '9112 6',
        length(`${SMUGGLED.length}`, SMUGGLED),
        body(SMUGGLED),
    ),
    ...['GET', 'DELETE', 'OPTIONS', 'PUT', 'PROPFIND'].map((method) =>
        forwarded(
            `${method} with a body`,
            '9110 9.3.1: content has no meaning, but is there',
            `${method} /x HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`,
            { method, body: 'hello' },
        ),
    ),
    forwarded(
        'HTTP/1.0 with a body',
        '9112 6.3',
        `POST /x HTTP/1.0\r\n${HOST}Content-Length: 5\r\n\r\nhello`,
        body('hello'),
    ),
];

const unusual = [
    either('leading zeros', '9110 8.6: 1*DIGIT', length('005'), body('hello')),
    either('40 leading zeros', '9110 8.6: 1*DIGIT', length(`${'0'.repeat(40)}5`), body('hello')),
    either(
        'the same twice',
        '9110 8.6',
        post('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello'),
        {
            body: 'hello',
        },
    ),
    either('a list of the same', '9110 8.6', length('5, 5'), body('hello')),
    either('nominated by Connection', '9110 7.6.1', length('5\r\nConnection: content-length'), {
        body: 'hello',
        fields: { 'content-length': /^5?$/ },
    }),
    either(
        'Content_Length, which some apps read as Content-Length',
        'CGI',
        get('Content_Length: 50\r\n'),
        { body: '' },
    ),
];

/** RFC 9112 6.3 rule 5: 400, and the connection ends. */
const bad = [
    ['a list of two', '5, 6'],
    ['a list with an empty element', '5,'],
    ['a list that begins empty', ',5'],
    ['a plus sign', '+5'],
    ['a minus sign', '-5'],
    ['minus zero', '-0'],
    ['hex', '0x5'],
    ['a fraction', '5.0'],
    ['an exponent', '5e0'],
    ['an underscore', '5_0'],
    ['two numbers', '5 5'],
    ['a number and a word', '5 bytes'],
    ['a semicolon', '5;a=b'],
    ['quotes', '"5"'],
    ['nothing', ''],
    ['white space', ' '],
    ['a word', 'five'],
    ['NaN', 'NaN'],
    ['a vertical tab before it', '\x0b5'],
    ['a form feed after it', '5\x0c'],
    ['a NUL after it', '5\0'],
    ['a bare CR in it', '5\r6'],
    ['a fold in it', '5\r\n 5'],
    ['a full-width digit', '\xef\xbc\x95'],
    ['a superscript', '\xb2'],
    ['2^63', '9223372036854775808'],
    ['2^64 + 5', '18446744073709551621'],
    ['2^32 + 5 in 128 bits', '340282366920938463463374607431768211461'],
    ['200 digits', '9'.repeat(200)],
].map(([name, value]) => refused(name, '9112 6.3 (5)', length(value), [400, 413]));

const two = [
    ['two that differ', '5', '6'],
    ['0 and then 5', '0', '5'],
    ['5 and then 0', '5', '0'],
    ['5 and then nothing', '5', ''],
    ['5 and then +5', '5', '+5'],
    ['5 and then 5x', '5', '5x'],
].map(([name, a, b]) =>
    refused(
        name,
        '9112 6.3 (5)',
        post(`Content-Length: ${a}\r\nContent-Length: ${b}\r\n`, 'hello'),
        [400],
    ),
);

const mismatch = [
    refused('a body that is too short', '9112 8', length('10', 'short'), true, { end: true }),
    refused('no body at all', '9112 8', length('10', ''), true, { end: true }),
    refused('a huge length', '9112 8', length('9223372036854775807', 'x'), true, { end: true }),
];

export default {
    title: 'Content-Length',
    cases: [...good, ...unusual, ...bad, ...two, ...mismatch],
};
