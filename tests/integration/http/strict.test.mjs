// The judge of the other tests: what the strict reader takes, what it refuses, and what it waits for.
import assert from 'node:assert/strict';
import { test } from '../lib/runner.mjs';
import { Incomplete, Malformed, parseRequest, parseResponse } from './lib/strict.mjs';

const bytes = (text) => Buffer.from(text, 'latin1');
const request = (text) => parseRequest(bytes(text));
const response = (text, method, closed) => parseResponse(bytes(text), method, closed);
const get = (lines) => `GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n`;
const post = (lines, body) => `POST / HTTP/1.1\r\nHost: a\r\n${lines}\r\n${body}`;
const chunked = (body) => post('Transfer-Encoding: chunked\r\n', body);

test('a request means its method, target, fields and body', () => {
    const message = request(post('X-A: \t1 2 \r\nx-a:\r\nContent-Length: 5\r\n', 'a\r\n\0b'));
    assert.equal(message.method, 'POST');
    assert.equal(message.target, '/');
    assert.deepEqual(message.all('X-a'), ['1 2', '']);
    assert.equal(message.text, 'a\r\n\0b');
});

test('chunks mean their data, and trailers stand apart', () => {
    const message = request(chunked('1\r\na\r\n2;x="y;z"\r\nbc\r\n0\r\nX-Sum: 1\r\n\r\n'));
    assert.equal(message.text, 'abc');
    assert.deepEqual(message.trailers, [['X-Sum', '1']]);
    assert.deepEqual(message.all('x-sum'), []);
});

test('every target form that may go to an app is taken', () => {
    for (const line of ['GET /', 'GET /a?b', 'OPTIONS *', 'GET http://a/b', 'GET HTTP://A']) {
        request(`${line} HTTP/1.1\r\nHost: a\r\n\r\n`);
    }
});

test('a body ends as method, status and framing say', () => {
    assert.equal(response('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab').text, 'ab');
    assert.equal(response('HTTP/1.1 200 OK\r\n\r\nab', 'GET', 'fin').text, 'ab');
    assert.equal(response('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n', 'HEAD').text, '');
    assert.equal(response('HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n').text, '');
    assert.equal(response('HTTP/1.1 204 \r\n\r\n').status, 204);
    assert.throws(() => response('HTTP/1.1 200 OK\r\n\r\nab', 'GET', 'reset'), Incomplete);
    assert.throws(() => response('HTTP/1.1 200 OK\r\n\r\nab', 'GET', null), Incomplete);
});

const MALFORMED = [
    'GET  / HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET / HTTP/1.1 \r\nHost: a\r\n\r\n',
    'GET / HTTP/1.2\r\nHost: a\r\n\r\n',
    'GET / http/1.1\r\nHost: a\r\n\r\n',
    'GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n',
    'G@T / HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET * HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET a HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n',
    '\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET / HTTP/1.1\nHost: a\n\n',
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a,b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a:x\r\n\r\n',
    get('X-A : 1\r\n'),
    get('X-A: 1\r\n 2\r\n'),
    get('X-A: 1\0\r\n'),
    get('X-A: 1\r2\r\n'),
    get('X-A: 1\nX-B: 2\r\n'),
    get('X-A: \x7f\r\n'),
    get('X-A\r\n'),
    get(': 1\r\n'),
    get('Connection: a b\r\n'),
    get('Upgrade: websocket\r\n'),
    get('TE: trailers\r\n'),
    get('HTTP2-Settings: AAA\r\n'),
    post('Content-Length: 1\r\nContent-Length: 1\r\n', 'a'),
    post('Content-Length: 1, 1\r\n', 'a'),
    post('Content-Length: +1\r\n', 'a'),
    post('Content-Length: 9223372036854775808\r\n', 'a'),
    post('Content-Length: 1\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'),
    post('Content-Length: 1\r\n', 'ab'),
    `${get('')}GET`,
    'POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    chunked('1\r\nab\r\n0\r\n\r\n'),
    chunked('1 \r\na\r\n0\r\n\r\n'),
    chunked('1\na\r\n0\r\n\r\n'),
    chunked('1\r\na\n0\r\n\r\n'),
    chunked('0x1\r\na\r\n0\r\n\r\n'),
    chunked('1;a="b\r\na\r\n0\r\n\r\n'),
    chunked('1;a\nb\r\na\r\n0\r\n\r\n'),
    chunked('10000000000000001\r\na\r\n0\r\n\r\n'),
    chunked('0\r\nContent-Length: 1\r\n\r\n'),
    chunked('0\r\nX-A\r\n\r\n'),
    chunked('0\r\n\r\n\r\n'),
];

test('what is not a request is refused', () => {
    for (const text of MALFORMED) assert.throws(() => request(text), Malformed, text);
});

test('what is not a response is refused', () => {
    for (const text of [
        'HTTP/1.1 200\r\n\r\n',
        'HTTP/1.1  200 OK\r\n\r\n',
        'HTTP/2.0 200 OK\r\n\r\n',
        'HTTP/1.1 600 No\r\n\r\n',
        'HTTP/1.1 200 O\0K\r\n\r\n',
        'ICY 200 OK\r\n\r\n',
        'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n',
        'HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n',
        'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab',
        'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ]) {
        assert.throws(() => response(text), Malformed, text);
    }
});

test('each beginning of a good message is incomplete, and nothing else', () => {
    for (const text of [
        post('X-A: 1\r\nContent-Length: 3\r\n', 'abc'),
        chunked('3;a=b\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n'),
    ]) {
        for (let n = 0; n < text.length; n++) {
            assert.throws(
                () => request(text.slice(0, n)),
                Incomplete,
                JSON.stringify(text.slice(0, n)),
            );
        }
    }
});
