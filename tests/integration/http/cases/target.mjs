// target.mjs - request targets: the four forms of RFC 9112 3.2, and bytes that belong in none.
import assert from 'node:assert/strict';
import { HOST, either, forwarded, refused } from '../lib/case.mjs';
import { valuesOf } from '../lib/strict.mjs';

const at = (target, method = 'GET', fields = HOST) =>
    `${method} ${target} HTTP/1.1\r\n${fields}\r\n`;

/** A proxy leaves path and query alone (RFC 9110 7.7). */
const unchanged = [
    '/',
    '/a/b/c',
    '/a?b=c&d=e',
    '/a?',
    '/?',
    '/a?b?c/d',
    '/%41%2f%2F',
    '/a%20b',
    '/%0d%0aX-Evil:%201',
    '/a//b',
    '/a/../b',
    '/a/./b/..',
    '/a;b=c;d',
    "/-._~!$&'()*+,;=:@",
    '/http://b.test/c',
    '/A/b',
    '/a?b=%00',
    '/*',
    `/${'a'.repeat(6000)}`,
].map((target) =>
    forwarded(`path and query of ${target.slice(0, 24)}`, '9110 7.7', at(target), { target }),
);

/** Not allowed by RFC 3986, but sent: they go on as they are, or not. */
const doubtful = [
    '/%2e%2e/%2E%2E/a',
    '/../a',
    '/%zz',
    '/%',
    '/a%0',
    '/%00',
    '/a"b',
    '/a<b>',
    '/a\\b',
    '/a\\..\\b',
    '/a^b',
    '/a`b',
    '/a{b}',
    '/a|b',
    '/a[b]',
    '//b.test/c',
    '///',
    `/${'a'.repeat(60_000)}`,
].map((target) =>
    either(`${target.slice(0, 24)} is not rewritten`, '9110 7.7', at(target), { target }),
);

const bytes = [
    ['a NUL', '/a\0b'],
    ['a control', '/a\x01b'],
    ['an escape', '/a\x1bb'],
    ['a DEL', '/a\x7fb'],
    ['a tab', '/a\tb'],
    ['a bare CR', '/a\rb'],
    ['a bare LF', '/a\nb'],
    ['a byte of 0x80', '/a\x80b'],
    ['UTF-8', '/\xc3\xa4'],
    ['a no-break space', '/a\xa0b'],
    ['a fragment', '/a#b'],
    ['a fragment behind a query', '/a?b#c'],
    ['a fragment alone', '#'],
].map(([name, target]) => refused(`${name} in the target`, '9112 3.2', at(target)));

const forms = [
    ['a path without a slash', 'a/b'],
    ['a dot path', './a'],
    ['a query alone', '?a=b'],
    ['a backslash path', '\\a'],
    ['a percent-encoded slash', '%2fa'],
    ['a host', 'b.test'],
    ['an authority', 'b.test:80'],
    ['an asterisk', '*'],
    ['two slashes lost', 'http:b.test/a'],
    ['one slash lost', 'http:/b.test/a'],
    ['no host', 'http:///a'],
    ['no host but a port', 'http://:80/a'],
    ['nothing but a scheme', 'http://'],
    ['another scheme', 'ftp://b.test/a'],
    ['a file', 'file:///etc/passwd'],
    ['a script', 'javascript:alert(1)'],
    ['a bad port', 'http://b.test:x/a'],
    ['an open bracket', 'http://[::1/a'],
    ['an address that is none', 'http://[::g]/a'],
    ['a backslash in the host', 'http://b.test\\@c.test/a'],
    ['a space in the host', 'http://b .test/a'],
    ['two ports', 'http://b.test:80:80/a'],
].map(([name, target]) => refused(`${name}: ${target}`, '9112 3.2', at(target)));

const asteriskForm = [
    forwarded('OPTIONS *', '9112 3.2.4', at('*', 'OPTIONS'), { method: 'OPTIONS', target: '*' }),
    refused('OPTIONS **', '9112 3.2.4', at('**', 'OPTIONS')),
    refused('OPTIONS *?a', '9112 3.2.4', at('*?a', 'OPTIONS')),
    refused('POST *', '9112 3.2.4', at('*', 'POST')),
];

/** In origin form or, with the same authority as Host (strict.mjs sees to that), in absolute form. */
const means =
    (host, path) =>
    ({ method, target, ...request }) => {
        const [, isAbsolute, rest] = /^(https?:\/\/[^/?]*)?(.*)$/i.exec(target);
        const origin = rest.startsWith('?') ? `/${rest}` : rest;
        const empty = method === 'OPTIONS' ? '*' : '/';
        assert.equal(isAbsolute ? origin || empty : origin, path);
        assert.equal(valuesOf(request.fields, 'host').join().toLowerCase(), host);
    };

const absolute = [
    forwarded(
        'its authority is Host’s',
        '9112 3.2.2',
        at('http://a.test/x'),
        means('a.test', '/x'),
    ),
    either('its authority wins', '9112 3.2.2', at('http://b.test/x'), means('b.test', '/x')),
    either('with a port', '9112 3.2.2', at('http://b.test:8080/x'), means('b.test:8080', '/x')),
    either('in capitals', '9110 4.2.3', at('HTTP://B.TEST/x'), means('b.test', '/x')),
    either('without a path', '9112 3.2.1', at('http://a.test'), means('a.test', '/')),
    either('with a query and no path', '9112 3.2.1', at('http://a.test?y'), means('a.test', '/?y')),
    either('of https', '9112 3.2.2', at('https://a.test/x'), means('a.test', '/x')),
    either(
        'of an address',
        '9112 3.2.2',
        at('http://[2001:db8::1]/x'),
        means('[2001:db8::1]', '/x'),
    ),
    either(
        'OPTIONS without a path is OPTIONS *',
        '9112 3.2.4',
        at('http://a.test', 'OPTIONS'),
        means('a.test', '*'),
    ),
    either(
        'OPTIONS with a path',
        '9112 3.2.4',
        at('http://a.test/', 'OPTIONS'),
        means('a.test', '/'),
    ),
    either('userinfo', '9110 4.2.4', at('http://user@a.test/x'), means('a.test', '/x')),
    either('a password', '9110 4.2.4', at('http://u:p@a.test/x'), means('a.test', '/x')),
    either('an at sign in the path', '9112 3.2.2', at('http://a.test/@b'), means('a.test', '/@b')),
    refused('without Host', '9112 3.2', at('http://a.test/x', 'GET', ''), [400]),
    refused('with two Hosts', '9112 3.2', at('http://a.test/x', 'GET', HOST + HOST)),
    refused('with a bad Host', '9112 3.2', at('http://a.test/x', 'GET', 'Host: a b\r\n')),
    either(
        'in HTTP/1.0 without Host',
        '9112 3.2.2',
        'GET http://b.test/x HTTP/1.0\r\n\r\n',
        means('b.test', '/x'),
    ),
    either(
        'twice',
        '9112 3.2.2',
        at('http://a.test/http://b.test/'),
        means('a.test', '/http://b.test/'),
    ),
].map((theCase) => ({ ...theCase, name: `an absolute target: ${theCase.name}` }));

export default {
    title: 'request targets',
    cases: [...unchanged, ...doubtful, ...bytes, ...forms, ...asteriskForm, ...absolute],
};
