// host.mjs - Host: there once, valid, and replaced only by an absolute target's (RFC 9112 3.2).
import { either, forwarded, get, refused } from '../lib/case.mjs';

const at = (lines, version = '1.1') => `GET /x HTTP/${version}\r\n${lines}\r\n`;
const host = (value) => at(`Host: ${value}\r\n`);

const good = [
    'a.test',
    'a.test:8080',
    'A.Test',
    'a',
    'a-b.test',
    'xn--bcher-kva.test',
    '192.0.2.1',
    '192.0.2.1:80',
    '[2001:db8::1]',
    '[2001:db8::1]:8080',
].map((value) => forwarded(`Host: ${value}`, '9110 7.2', host(value), { fields: { host: value } }));

/** Allowed by the grammar, and seldom meant well. */
const unusual = [
    '',
    'a.test.',
    'a.test:',
    'a_b.test',
    '*.test',
    'a%41.test',
    'a%00.test',
    "a!$&'()*+;=.test",
    '[::ffff:192.0.2.1]',
    ':80',
    'a.test:65536',
    'a.test:000080',
    'a..test',
    '-a.test',
    '127.1',
    '0x7f.1',
].map((value) =>
    either(`Host: ${value || '(empty)'}`, '9110 7.2', host(value), { fields: { host: value } }),
);

const bad = [
    'a b',
    'a\tb',
    'a,b',
    'a, b',
    'a/b',
    'a.test/',
    'a?b',
    'a#b',
    'a\\b',
    'u@a.test',
    'u:p@a.test',
    'http://a.test',
    'a.test:x',
    'a.test:-1',
    'a.test:80:80',
    'a.test:80 80',
    '[::1',
    '::1',
    '[::1]x',
    '[::1]:x',
    '[::g]',
    '[a.test]',
    '[]',
    'a"b',
    '<a>',
    'a{b}',
    'a|b',
    'a^b',
    'a`b',
    'a\x80b',
    '\xc3\xa4.test',
    'a\0b',
    'a\x01b',
    'a\x7fb',
].map((value) => refused(`Host: ${JSON.stringify(value)}`, '9112 3.2', host(value), [400]));

const number = [
    refused('no Host', '9112 3.2', at('X-A: 1\r\n'), [400]),
    refused('no Host and no field at all', '9112 3.2', at(''), [400]),
    refused('two Hosts', '9112 3.2', at('Host: a.test\r\nHost: b.test\r\n'), [400]),
    refused('the same Host twice', '9112 3.2', at('Host: a.test\r\nHost: a.test\r\n'), [400]),
    refused('Host and hOST', '9112 3.2', at('Host: a.test\r\nhOST: b.test\r\n'), [400]),
    refused('Host and an empty one', '9112 3.2', at('Host: a.test\r\nHost:\r\n'), [400]),
    refused(
        'two, far apart',
        '9112 3.2',
        at(`Host: a\r\n${'X: 1\r\n'.repeat(40)}Host: a\r\n`),
        [400],
    ),
    refused('Host and a spaced one', '9112 5.1', at('Host: a.test\r\nHost : b.test\r\n'), [400]),
    refused('Host and a folded one', '9112 5.2', at('Host: a.test\r\n Host: b.test\r\n'), [400]),
    refused('two Hosts in a fold', '9112 5.2', at('Host:\r\n a.test\r\n b.test\r\n'), [400]),
    forwarded('hOsT', '9110 5.1', at('hOsT: a.test\r\n'), { fields: { host: 'a.test' } }),
    forwarded('Host after others', '9110 7.2', at('X-A: 1\r\nHost: a.test\r\n'), {
        fields: { host: 'a.test', 'x-a': '1' },
    }),
    forwarded('white space around Host', '9112 5.1', at('Host: \t a.test \r\n'), {
        fields: { host: 'a.test' },
    }),
    either('Host_', 'a name that some apps read as Host', get('Host_: evil.test\r\n'), {
        fields: { host: 'a.test' },
    }),
    either('Host is nominated by Connection', '9110 7.6.1', get('Connection: host\r\n'), {
        fields: { host: 'a.test' },
    }),
    forwarded('HTTP/1.0 without Host', '9112 3.2', at('', '1.0'), { target: '/x' }),
    forwarded('HTTP/1.0 with Host', '9112 3.2', at('Host: b.test\r\n', '1.0'), {
        fields: { host: 'b.test' },
    }),
    refused('HTTP/1.0 with two', '9112 3.2', at('Host: a.test\r\nHost: b.test\r\n', '1.0')),
    refused('HTTP/1.0 with a bad one', '9112 3.2', at('Host: a b\r\n', '1.0')),
];

export default { title: 'Host', cases: [...good, ...unusual, ...bad, ...number] };
