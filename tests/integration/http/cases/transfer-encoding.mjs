// transfer-encoding.mjs - Transfer-Encoding: chunked alone, in one spelling, never beside a length (RFC 9112 6).
import assert from 'node:assert/strict';
import { HOST, SMUGGLED, either, forwarded, post, refused } from '../lib/case.mjs';

const HIDDEN = `0\r\n\r\n${SMUGGLED}`;
const HELLO = '5\r\nhello\r\n0\r\n\r\n';
const body = (text) => ({ body: text, fields: { 'content-length': /^(\d+)?$/ } });
/** Both readings have an end: as chunks before the hidden request, by length behind it. */
const both = (lines, codedFirst = false) => {
    const length = `Content-Length: ${HIDDEN.length}\r\n`;
    return post(codedFirst ? lines + length : length + lines, HIDDEN);
};

const good = [
    ['chunked', 'Transfer-Encoding: chunked\r\n'],
    ['Chunked', 'Transfer-Encoding: Chunked\r\n'],
    ['CHUNKED', 'transfer-ENCODING: CHUNKED\r\n'],
    ['no space before it', 'Transfer-Encoding:chunked\r\n'],
    ['spaces around it', 'Transfer-Encoding:   chunked  \r\n'],
].map(([name, lines]) => forwarded(name, '9112 6.1', post(lines, HELLO), body('hello')));

const methods = ['GET', 'DELETE', 'PUT', 'PROPFIND'].map((method) =>
    forwarded(
        `${method} with chunks`,
        '9112 6.3',
        `${method} /x HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n${HELLO}`,
        { method, body: 'hello' },
    ),
);

const unusual = [
    either('tabs around it', '9112 5.1', post('Transfer-Encoding:\tchunked\t\r\n', HELLO), {
        body: 'hello',
    }),
    either(
        'an empty element before it',
        '9110 5.6.1',
        post('Transfer-Encoding: , chunked\r\n', HELLO),
        {
            body: 'hello',
        },
    ),
    either(
        'an empty element after it',
        '9110 5.6.1',
        post('Transfer-Encoding: chunked,\r\n', HELLO),
        {
            body: 'hello',
        },
    ),
    either(
        'nominated by Connection',
        '9110 7.6.1',
        post('Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n', HELLO),
        { body: 'hello' },
    ),
    either(
        'Transfer_Encoding, which some apps read as Transfer-Encoding',
        'CGI',
        post('Transfer_Encoding: chunked\r\nContent-Length: 5\r\n', 'hello'),
        { body: 'hello', fields: { 'transfer-encoding': null } },
    ),
];

/** RFC 9112 6.1, 6.3: an error, or the length is removed, the chunks are read, the connection ends. */
const withLength = [
    either('a length before chunks', '9112 6.1', both('Transfer-Encoding: chunked\r\n'), body('')),
    either(
        'a length after chunks',
        '9112 6.1',
        both('Transfer-Encoding: chunked\r\n', true),
        body(''),
    ),
    either(
        'a length that is the chunks’',
        '9112 6.1',
        post(`Content-Length: ${HELLO.length}\r\nTransfer-Encoding: chunked\r\n`, HELLO),
        body('hello'),
    ),
    either(
        'a length of nothing and chunks',
        '9112 6.1',
        post('Content-Length: 0\r\nTransfer-Encoding: chunked\r\n', HELLO),
        body('hello'),
    ),
    either(
        'a bad length and chunks',
        '9112 6.1',
        post('Content-Length: -1\r\nTransfer-Encoding: chunked\r\n', HELLO),
        body('hello'),
    ),
].map((theCase) => ({ ...theCase, closes: true }));

const inOldVersion = [
    either(
        'in HTTP/1.0',
        '9112 6.1',
        `POST /x HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n${HELLO}`,
        body('hello'),
        { closes: true },
    ),
    either(
        'in HTTP/1.0 with keep-alive',
        '9112 6.1',
        `POST /x HTTP/1.0\r\n${HOST}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n${HELLO}`,
        body('hello'),
        { closes: true },
    ),
    either(
        'in HTTP/1.0 with a length',
        '9112 6.1',
        `POST /x HTTP/1.0\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        (request) => assert.ok(['', '0\r\n\r\n'].includes(request.text), request.text),
        { closes: true },
    ),
];

/** Not chunked, or not only: 400 or 501 (RFC 9112 6.1, 6.3 rule 4). */
const otherCodings = [
    'gzip',
    'identity',
    'gzip, chunked',
    'identity, chunked',
    'chunked, gzip',
    'chunked, identity',
    'chunked, chunked',
    'xchunked',
    'chunkedx',
    'x-chunked',
    'chunke',
    'chun ked',
    'chunked;q=1',
    'chunked;',
    '"chunked"',
    "'chunked'",
    '[chunked]',
    'chunked chunked',
    'chunked\x0b',
    '\x0bchunked',
    '\x0cchunked',
    'chunked\0',
    '\0chunked',
    'chunked\x80',
    '\xa0chunked',
    'chunked\r\n gzip',
    'c\xadhunked',
    'cow',
    ',',
    '',
].map((coding) =>
    refused(
        `Transfer-Encoding: ${JSON.stringify(coding)}`,
        '9112 6.1',
        post(`Transfer-Encoding: ${coding}\r\n`, HELLO),
    ),
);

const twoFields = [
    ['chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'],
    ['chunked and identity', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n'],
    ['identity and chunked', 'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n'],
    ['gzip and chunked', 'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n'],
    ['chunked and cow', 'Transfer-Encoding: chunked\r\nTransfer-encoding: cow\r\n'],
].map(([name, lines]) => refused(`two fields: ${name}`, '9112 6.1', post(lines, HELLO)));

/** Hidden from one of two readers, with a length for that one: no second request may appear. */
const obfuscated = [
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n'],
    ['a tab before the colon', 'Transfer-Encoding\t: chunked\r\n'],
    ['a space before the name', ' Transfer-Encoding: chunked\r\n'],
    ['a fold before the value', 'Transfer-Encoding:\r\n chunked\r\n'],
    ['a fold before the colon', 'Transfer-Encoding\r\n : chunked\r\n'],
    ['a bare LF before it', 'X-A: a\nTransfer-Encoding: chunked\r\n'],
    ['a bare CR before it', 'X-A: a\rTransfer-Encoding: chunked\r\n'],
    ['a bare LF before the colon', 'Transfer-Encoding\n: chunked\r\n'],
    ['a NUL in the name', 'Transfer\0-Encoding: chunked\r\n'],
    ['a byte of 0xff behind the name', 'Transfer-Encoding\xff: chunked\r\n'],
    ['a vertical tab behind the colon', 'Transfer-Encoding:\x0bchunked\r\n'],
    ['xchunked', 'Transfer-Encoding: xchunked\r\n'],
    ['quotes', 'Transfer-Encoding: "chunked"\r\n'],
    ['identity, chunked', 'Transfer-Encoding: identity, chunked\r\n'],
    ['nothing', 'Transfer-Encoding:\r\n'],
    ['no colon', 'Transfer-Encoding chunked\r\n'],
].map(([name, lines]) =>
    either(`with a length: ${name}`, '9112 11.2', both(lines), (request) =>
        assert.ok(['', HIDDEN].includes(request.text), request.text),
    ),
);

const unfinished = [
    refused(
        'chunks without an end',
        '9112 8',
        post('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n'),
        true,
        {
            end: true,
        },
    ),
    refused('no chunk at all', '9112 8', post('Transfer-Encoding: chunked\r\n', ''), true, {
        end: true,
    }),
];

export default {
    title: 'Transfer-Encoding',
    cases: [
        ...good,
        ...methods,
        ...unusual,
        ...withLength,
        ...inOldVersion,
        ...otherCodings,
        ...twoFields,
        ...obfuscated,
        ...unfinished,
    ],
};
