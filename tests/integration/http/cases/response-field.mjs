// response-field.mjs - what a proxy takes off an answer and what it adds: hop-by-hop fields, Date, Via (RFC 9110 6.6.1, 7.6).
import assert from 'node:assert/strict';
import { HOST, get, lie, passed } from '../lib/case.mjs';

const ok = (lines) => `HTTP/1.1 200 OK\r\n${lines}Content-Length: 2\r\n\r\nok`;
const is = (fields) => ({ status: 200, body: 'ok', fields });

const nominated = [
    ['a field', 'Connection: x-hop\r\nX-Hop: 1\r\n'],
    ['a field before it', 'X-Hop: 1\r\nConnection: x-hop\r\n'],
    ['in other letters', 'Connection: X-HOP\r\nx-hop: 1\r\n'],
    ['several lines of a field', 'X-Hop: 1\r\nConnection: x-hop\r\nX-Hop: 2\r\n'],
    ['beside keep-alive', 'Connection: keep-alive, x-hop\r\nX-Hop: 1\r\n'],
    ['with tabs', 'Connection:\tkeep-alive\t,\tx-hop\t\r\nX-Hop: 1\r\n'],
    ['among empty elements', 'Connection: ,, x-hop ,,\r\nX-Hop: 1\r\n'],
    ['in a second Connection', 'Connection: keep-alive\r\nConnection: x-hop\r\nX-Hop: 1\r\n'],
    ['in the first Connection', 'Connection: x-hop\r\nConnection: keep-alive\r\nX-Hop: 1\r\n'],
    ['beside close', 'Connection: close, x-hop\r\nX-Hop: 1\r\n'],
].map(([name, lines]) =>
    passed(`nominated: ${name}`, '9110 7.6.1', ok(lines), (response) => {
        assert.equal(response.text, 'ok');
        assert.deepEqual(response.all('x-hop'), []);
        assert.ok(!response.list('connection').includes('x-hop'), 'still nominated');
    }),
);

const always = [
    passed(
        'Keep-Alive goes no further',
        '9110 7.6.1',
        ok('Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n'),
        (response) => assert.ok(!response.all('keep-alive').includes('timeout=5')),
    ),
    passed(
        'Proxy-Connection goes no further',
        '9110 7.6.1',
        ok('Proxy-Connection: keep-alive\r\n'),
        is({ 'proxy-connection': null }),
    ),
    passed(
        'Upgrade goes no further',
        '9110 7.8',
        ok('Connection: Upgrade\r\nUpgrade: h2c\r\n'),
        (response) => {
            assert.ok(!response.list('upgrade').includes('h2c'));
        },
    ),
    passed(
        'Upgrade without Connection',
        '9110 7.8',
        ok('Upgrade: h2,h2c\r\n'),
        is({ upgrade: null }),
    ),
    passed(
        'the app’s Connection: close is not the caller’s',
        '9110 7.6.1',
        ok('Connection: close\r\n'),
        is({}),
        {
            then: 'close',
        },
    ),
    lie('Connection is not a list of names', '9110 7.6.1', ok('Connection: x hop\r\n'), (response) =>
        assert.ok(!response.all('connection').includes('x hop')),
    ),
    lie('nominated: Content-Length', '9110 7.6.1', ok('Connection: content-length\r\n'), is({}), {
        then: 'close',
    }),
    lie(
        'nominated: Transfer-Encoding',
        '9110 7.6.1',
        'HTTP/1.1 200 OK\r\nConnection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
        is({}),
    ),
];

/** RFC 9110 5.6.7: how a recipient with a clock writes the time, at most a minute off. */
const DATE =
    /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/;
function isDated(response) {
    const [date, ...more] = response.all('date');
    assert.deepEqual(more, [], 'Date twice');
    assert.match(date ?? '', DATE);
    assert.equal(new Date(date).toUTCString(), date);
    assert.ok(Math.abs(Date.now() - Date.parse(date)) < 60_000, `${date} is not the time`);
}
const OLD = 'Sun, 06 Nov 1994 08:49:37 GMT';

const date = [
    ['200', ok('')],
    ['404', ok('').replace('200 OK', '404 Not Found')],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['304', 'HTTP/1.1 304 Not Modified\r\n\r\n'],
    ['301', ok('Location: /a\r\n').replace('200 OK', '301 Moved')],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    ['an app of HTTP/1.0', ok('').replace('1.1', '1.0')],
    ['a Date that Connection nominates', ok(`Connection: date\r\nDate: ${OLD}\r\n`)],
].map(([name, app]) => passed(`Date is added: ${name}`, '9110 6.6.1', app, isDated));

const moreDates = [
    passed('Date is added: no framing', '9110 6.6.1', 'HTTP/1.1 200 OK\r\n\r\nok', isDated, {
        then: 'close',
    }),
    passed('Date is added: HEAD', '9110 6.6.1', ok('').slice(0, -2), isDated, {
        send: get().replace('GET', 'HEAD'),
        method: 'HEAD',
    }),
    passed('Date is added: an HTTP/1.0 caller', '9110 6.6.1', ok(''), isDated, {
        send: `GET /x HTTP/1.0\r\n${HOST}\r\n`,
    }),
    passed('the app’s Date stays', '9110 6.6.1', ok(`Date: ${OLD}\r\n`), is({ date: OLD })),
    passed('the app’s dATE stays', '9110 6.6.1', ok(`dATE: ${OLD}\r\n`), is({ date: OLD })),
    lie('an empty Date', '9110 6.6.1', ok('Date:\r\n'), (response) =>
        assert.ok(response.all('date').length <= 1),
    ),
];

const via = [
    passed('Via of the app stays', '9110 7.6.3', ok('Via: 1.1 inner\r\n'), (response) =>
        assert.match(response.all('via').join(', '), /^1\.1 inner(, 1\.1 \S+)?$/),
    ),
    passed(
        'Via, if any, says what came',
        '9110 7.6.3',
        ok('').replace('1.1', '1.0'),
        (response) => {
            for (const value of response.list('via')) assert.match(value, /^1\.0 \S/);
        },
    ),
];

/** RFC 9110 7.7: the content and what describes it are the app's. */
const untouched = [
    passed(
        'coded content',
        '9110 7.7',
        ok('Content-Encoding: gzip\r\nCache-Control: no-transform\r\n'),
        is({
            'content-encoding': 'gzip',
            'cache-control': 'no-transform',
        }),
    ),
    passed('a part', '9110 14', ok('Content-Range: bytes 0-1/4\r\n').replace('200', '206'), {
        status: 206,
        fields: { 'content-range': 'bytes 0-1/4' },
    }),
    passed(
        'WWW-Authenticate',
        '9110 11.6.1',
        ok('WWW-Authenticate: Basic realm="a"\r\n').replace('200', '401'),
        {
            status: 401,
            fields: { 'www-authenticate': 'Basic realm="a"' },
        },
    ),
    passed('Server', '9110 10.2.4', ok('Server: app/1\r\n'), is({ server: /^app\/1$|^\S+$/ })),
];

export default {
    title: 'fields of answers',
    cases: [...nominated, ...always, ...date, ...moreDates, ...via, ...untouched],
};
