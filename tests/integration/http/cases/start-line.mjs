// start-line.mjs - request lines, versions, methods, and what comes before them (RFC 9112 2, 3).
import { HOST, either, forwarded, refused } from '../lib/case.mjs';

/** A whole request that begins with this line. */
const begin = (line) => `${line}\r\n${HOST}\r\n`;
const x = { method: 'GET', target: '/x', body: '' };

/** What is refused may also be waited for: the caller's FIN shows that no more comes. */
const noRequest = (name, rfc, bytes) => refused(name, rfc, bytes, true, { end: true });

const spacing = [
    forwarded('a plain request', '9112 3', begin('GET /x HTTP/1.1'), x),
    either('two spaces before the target', '9112 3', begin('GET  /x HTTP/1.1'), x),
    either('two spaces before the version', '9112 3', begin('GET /x  HTTP/1.1'), x),
    either('a tab before the target', '9112 3', begin('GET\t/x HTTP/1.1'), x),
    either('a tab before the version', '9112 3', begin('GET /x\tHTTP/1.1'), x),
    either('a vertical tab as a space', '9112 3', begin('GET\x0b/x HTTP/1.1'), x),
    either('a form feed as a space', '9112 3', begin('GET /x\x0cHTTP/1.1'), x),
    either('a bare CR as a space', '9112 2.2', begin('GET\r/x HTTP/1.1'), x),
    either('a space at the end', '9112 3', begin('GET /x HTTP/1.1 '), x),
    either('a tab at the end', '9112 3', begin('GET /x HTTP/1.1\t'), x),
    either('a space at the beginning', '9112 3', begin(' GET /x HTTP/1.1'), x),
    either('two CRs at the end', '9112 2.2', begin('GET /x HTTP/1.1\r'), x),
    refused('a space in the target', '9112 3.2', begin('GET /x y HTTP/1.1')),
    refused('a space and a second version', '9112 3.2', begin('GET /x HTTP/1.1 HTTP/1.1')),
    refused('no target', '9112 3', begin('GET HTTP/1.1')),
    refused('an empty target', '9112 3', begin('GET  HTTP/1.1')),
    refused('a bare CR for its CRLF', '9112 2.2', `GET /x HTTP/1.1\r${HOST}\r\n`),
    either('a bare LF for its CRLF', '9112 2.2', `GET /x HTTP/1.1\n${HOST}\r\n`, x),
    either('bare LFs everywhere', '9112 2.2', 'GET /x HTTP/1.1\nHost: a.test\n\n', x),
    either('a bare LF as the empty line', '9112 2.2', `GET /x HTTP/1.1\r\n${HOST}\n`, x),
    refused('CRs everywhere', '9112 2.2', 'GET /x HTTP/1.1\rHost: a.test\r\r', true, { end: true }),
];

const before = [
    forwarded('an empty line before it', '9112 2.2', `\r\n${begin('GET /x HTTP/1.1')}`, x),
    either('four empty lines', '9112 2.2', '\r\n'.repeat(4) + begin('GET /x HTTP/1.1'), x),
    either('a bare LF before it', '9112 2.2', `\n${begin('GET /x HTTP/1.1')}`, x),
    either('a bare CR before it', '9112 2.2', `\r${begin('GET /x HTTP/1.1')}`, x),
    either('CR CR LF before it', '9112 2.2', `\r\r\n${begin('GET /x HTTP/1.1')}`, x),
    either('a line of spaces', '9112 2.2', `  \r\n${begin('GET /x HTTP/1.1')}`, x),
    either('2,000 empty lines', '9112 2.2', '\r\n'.repeat(2000) + begin('GET /x HTTP/1.1'), x),
    either('a NUL before it', '9112 3', `\0${begin('GET /x HTTP/1.1')}`, x),
    either('a byte order mark', '9112 2.2', `\xef\xbb\xbf${begin('GET /x HTTP/1.1')}`, x),
    either(
        'a field line that begins with a space',
        '9112 2.2',
        `GET /x HTTP/1.1\r\n Host: evil.test\r\n${HOST}\r\n`,
        { ...x, fields: { host: 'a.test' } },
    ),
    either(
        'a field line that begins with a tab',
        '9112 2.2',
        `GET /x HTTP/1.1\r\n\tX-Evil: 1\r\n${HOST}\r\n`,
        { ...x, fields: { 'x-evil': null } },
    ),
    either(
        'a line of spaces before the fields',
        '9112 2.2',
        `GET /x HTTP/1.1\r\n \r\n${HOST}\r\n`,
        x,
    ),
];

const versions = [
    forwarded('HTTP/1.0', '9112 2.3', begin('GET /x HTTP/1.0'), x),
    either('HTTP/1.2 is read as 1.1', '9110 2.5', begin('GET /x HTTP/1.2'), x),
    either('HTTP/1.9 is read as 1.1', '9110 2.5', begin('GET /x HTTP/1.9'), x),
    either('HTTP/2.0', '9110 15.6.6', begin('GET /x HTTP/2.0'), x),
    either('HTTP/3.0', '9110 15.6.6', begin('GET /x HTTP/3.0'), x),
    either('HTTP/0.9 with a version', '9110 15.6.6', begin('GET /x HTTP/0.9'), x),
    either('HTTP/1.10', '9112 2.3', begin('GET /x HTTP/1.10'), x),
    either('HTTP/1.01', '9112 2.3', begin('GET /x HTTP/1.01'), x),
    either('HTTP/01.1', '9112 2.3', begin('GET /x HTTP/01.1'), x),
    ...[
        'http/1.1',
        'Http/1.1',
        'HTTP/1',
        'HTTP/1.',
        'HTTP/.1',
        'HTTP/11.1',
        'HTTP/1.1.1',
        'HTTP/+1.1',
        'HTTP/1,1',
        'HTTP/1_1',
        'HTTP/1.x',
        'HTTP/ 1.1',
        'HTTP /1.1',
        'HTTP1.1',
        'HTTPS/1.1',
        'HTP/1.1',
        'ICE/1.0',
        'RTSP/1.0',
        'HTTP/1.1\0',
        '/1.1',
    ].map((v) => refused(`version ${JSON.stringify(v)}`, '9112 2.3', begin(`GET /x ${v}`))),
];

const others = [
    noRequest('HTTP/0.9', '9112 2.3', 'GET /x\r\n'),
    noRequest('HTTP/0.9 with fields', '9112 3', begin('GET /x')),
    noRequest('a method alone', '9112 3', begin('GET')),
    noRequest('the preface of HTTP/2', '9113 3.4', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    noRequest('TLS', 'another protocol', '\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00\r\n\r\n'),
    noRequest('SSH', 'another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'),
    noRequest('SOCKS', 'another protocol', '\x05\x01\x00'),
    noRequest(
        'the PROXY protocol',
        'another protocol',
        `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n\r\n`,
    ),
    noRequest('SMTP', 'another protocol', 'EHLO a.test\r\nMAIL FROM:<a@a.test>\r\n\r\n'),
    noRequest('a status line', '9112 2.1', `HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`),
    noRequest('NULs', 'garbage', '\0'.repeat(64)),
    noRequest('bytes above 0x7f', 'garbage', '\xff\xfe\xfd\xfc\r\n\r\n'),
    noRequest('nothing but empty lines', '9112 2.2', '\r\n\r\n'),
    noRequest('nothing', '9112 2.1', ''),
];

const methods = [
    ...['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'M-SEARCH', 'QUERY'].map((m) =>
        forwarded(`${m}`, '9110 9.1', begin(`${m} /x HTTP/1.1`), { ...x, method: m }),
    ),
    forwarded(
        'HEAD',
        '9110 9.3.2',
        begin('HEAD /x HTTP/1.1'),
        { ...x, method: 'HEAD' },
        {
            method: 'HEAD',
        },
    ),
    ...['get', 'Get', "!#$%&'*+-.^_`|~09", 'G'.repeat(30), 'GETX', 'BREW'].map((m) =>
        either(`method ${m}`, '9110 9.1: case-sensitive', begin(`${m} /x HTTP/1.1`), {
            ...x,
            method: m,
        }),
    ),
    either('a method of 20,000 letters', '9112 3', begin(`${'G'.repeat(20_000)} /x HTTP/1.1`), {
        method: 'G'.repeat(20_000),
    }),
    ...['G@T', 'G(E)T', '"GET"', 'GET:', 'GET,', 'G\0T', 'G\x7fT', 'G\xc4T', 'G/T', 'G{T}'].map(
        (m) =>
            refused(`method ${JSON.stringify(m)}`, '9110 9.1: a token', begin(`${m} /x HTTP/1.1`)),
    ),
    refused('CONNECT', '9110 9.3.6', 'CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n'),
    refused('CONNECT to a path', '9112 3.2.3', begin('CONNECT /x HTTP/1.1')),
    refused('CONNECT without a port', '9112 3.2.3', begin('CONNECT a.test HTTP/1.1')),
    either(
        'TRACE goes without what could be a secret, or not at all',
        '9110 9.3.8',
        `TRACE /x HTTP/1.1\r\n${HOST}\r\n`,
        { method: 'TRACE' },
    ),
];

export default {
    title: 'request lines',
    cases: [...spacing, ...before, ...versions, ...others, ...methods],
};
