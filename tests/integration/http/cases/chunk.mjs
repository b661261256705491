// chunk.mjs - chunks of requests: sizes, extensions, line ends, and where the body ends (RFC 9112 7.1).
import { SMUGGLED, chunked, either, forwarded, refused } from '../lib/case.mjs';

const END = '0\r\n\r\n';
const hello = (line) => chunked(`${line}\r\nhello\r\n${END}`);
const means = (body) => ({ body, fields: { 'content-length': /^(\d+)?$/ }, trailers: {} });

const good = [
    ['one chunk', `5\r\nhello\r\n${END}`, 'hello'],
    ['none', END, ''],
    ['three chunks', `1\r\nh\r\n3\r\nell\r\n1\r\no\r\n${END}`, 'hello'],
    ['a size in upper-case hex', `A\r\n0123456789\r\n${END}`, '0123456789'],
    ['a size in lower-case hex', `a\r\n0123456789\r\n${END}`, '0123456789'],
    ['leading zeros', `0005\r\nhello\r\n${END}`, 'hello'],
    ['a last chunk of zeros', '5\r\nhello\r\n000\r\n\r\n', 'hello'],
    ['data that looks like framing', `7\r\n\r\n0\r\n\r\n\r\n${END}`, '\r\n0\r\n\r\n'],
    ['data that is bytes', `4\r\n\0\xff\r\n\r\n${END}`, '\0\xff\r\n'],
    ['500 chunks', `1\r\nx\r\n`.repeat(500) + END, 'x'.repeat(500)],
    ['a chunk of 100,000 bytes', `186a0\r\n${'x'.repeat(100_000)}\r\n${END}`, 'x'.repeat(100_000)],
    ['a request inside', `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n${END}`, SMUGGLED],
].map(([name, bytes, body]) => forwarded(name, '9112 7.1', chunked(bytes), means(body)));

/** RFC 9112 7.1.1: ignored; and no reader may see another line in them. */
const extensions = [
    ['a name', '5;a'],
    ['a value', '5;a=b'],
    ['two', '5;a=b;c'],
    ['a quoted value', '5;a="b c"'],
    ['a quoted semicolon', '5;a=";"'],
    ['a quoted quote', '5;a="\\""'],
    ['a quoted CR LF as text', '5;a="\\r\\n"'],
    ['a space before it', '5 ;a=b'],
    ['spaces everywhere', '5 ; a = b'],
].map(([name, line]) =>
    forwarded(`an extension: ${name}`, '9112 7.1.1', hello(line), means('hello')),
);

const unusualExtensions = [
    ['of nothing', '5;'],
    ['two of nothing', '5;;'],
    ['a value without a name', '5;=b'],
    ['a name without a value', '5;a='],
    ['a value of separators', '5;a=b/c@d'],
    ['a byte above 0x7f', '5;a=\xe4'],
    ['10,000 bytes', `5;${'a'.repeat(10_000)}`],
    ['a hundred of them', `5${';a=b'.repeat(100)}`],
].map(([name, line]) => either(`an extension ${name}`, '9112 7.1.1', hello(line), means('hello')));

const lastChunk = [
    forwarded(
        'an extension of the last chunk',
        '9112 7.1.1',
        chunked('5\r\nhello\r\n0;a=b\r\n\r\n'),
        {
            body: 'hello',
        },
    ),
    either('a space behind the last size', '9112 7.1', chunked('5\r\nhello\r\n0 \r\n\r\n'), {
        body: 'hello',
    }),
    either('100 zeros before a size', '9112 7.1', hello(`${'0'.repeat(100)}5`), means('hello')),
    either('a space behind a size', '9112 7.1', hello('5 '), means('hello')),
    either('a tab behind a size', '9112 7.1', hello('5\t'), means('hello')),
];

/** The line has an end that all agree on, and a size before the rubbish: framed anew, it may pass. */
const rubbish = [
    ['a second number', '5 5'],
    ['a word', '5 hello'],
    ['an h', '5h'],
    ['a comma', '5,5'],
    ['a colon', '5:a'],
    ['a NUL', '5\0'],
    ['a vertical tab', '5\x0b'],
    ['a byte of 0x85', '5\x85'],
    ['an extension with a NUL', '5;a=\0'],
    ['an extension with a control', '5;a=\x01'],
    ['an extension with a DEL', '5;a=\x7f'],
    ['an extension with a quote that does not end', '5;a="b'],
].map(([name, line]) => either(`behind a size: ${name}`, '9112 7.1', hello(line), means('hello')));

/** None of these has a size: the app may see a beginning, never a whole request. */
const badSizes = [
    ['a word', 'zz'],
    ['nothing', ''],
    ['a plus sign', '+5'],
    ['a minus sign', '-5'],
    ['0x', '0x5'],
    ['0x0', '0x0'],
    ['a space before it', ' 5'],
    ['a tab before it', '\t5'],
    ['a fraction', '5.0'],
    ['an underscore', '0_5'],
    ['quotes', '"5"'],
    ['a full-width digit', '\xef\xbc\x95'],
    ['2^64 + 5', '10000000000000005'],
    ['2^64 - 1', 'ffffffffffffffff'],
    ['2^63', '8000000000000000'],
    ['2^32 + 5 and a short body', '100000005'],
    ['an extension alone', ';a=b'],
].map(([name, line]) => refused(`a size: ${name}`, '9112 7.1', hello(line), true, { end: true }));

/** Not the line end of chunks, but one that leaves no doubt: framed anew, it may pass. */
const sloppyLineEnds = [
    ['a bare LF behind a size', `5\nhello\r\n${END}`],
    ['a bare LF behind data', `5\r\nhello\n${END}`],
    ['a bare LF behind the last size', '5\r\nhello\r\n0\n\r\n'],
    ['a bare LF as the last line', '5\r\nhello\r\n0\r\n\n'],
    ['bare LFs everywhere', '5\nhello\n0\n\n'],
    ['two CRs behind a size', `5\r\r\nhello\r\n${END}`],
    ['a request for the last line', `5\r\nhello\r\n0\r\n${SMUGGLED}`],
].map(([name, bytes]) => either(name, '9112 7.1', chunked(bytes), means('hello'), { end: true }));

const badLineEnds = [
    ['a bare CR behind a size', `5\rhello\r\n${END}`],
    ['LF CR behind a size', `5\n\rhello\r\n${END}`],
    ['a bare CR behind data', `5\r\nhello\r${END}`],
    ['nothing behind data', `5\r\nhello${END}`],
    ['two other bytes behind data', `5\r\nhelloXX${END}`],
    ['a byte too many', `5\r\nhello!\r\n${END}`],
    ['a byte too few', `5\r\nhell\r\n${END}`],
    ['two line ends behind data', `5\r\nhello\r\n\r\n${END}`],
    ['a bare CR as the last line', '5\r\nhello\r\n0\r\n\r'],
    ['a NUL as the last line', '5\r\nhello\r\n0\r\n\0\r\n'],
].map(([name, bytes]) => refused(name, '9112 7.1', chunked(bytes), true, { end: true }));

/** Two readers end the line at different bytes, and see other chunks from there on. */
const badExtensions = [
    ['a bare LF', '5;\nhello\r\n'],
    ['a bare LF in a value', '5;a=b\nc\r\nhello\r\n'],
    ['a bare CR', '5;a\rb\r\nhello\r\n'],
    ['a bare LF in quotes', '5;a="\n"\r\nhello\r\n'],
    ['CR LF in quotes', '5;a="\r\n"\r\nhello\r\n'],
    ['no end', `5;${'a'.repeat(300_000)}`],
].map(([name, line]) =>
    refused(`a bad extension: ${name}`, '9112 7.1.1', chunked(line + END), true, { end: true }),
);

/** A line that one reader ends at LF and another at CR LF, and a request behind each of the two ends. */
const hidden = `2;\nxx\r\n${(SMUGGLED.length + 5).toString(16)}\r\n0\r\n\r\n${SMUGGLED}\r\n${END}`;

const ends = [
    refused('a hidden line in an extension', '9112 7.1.1', chunked(hidden), true, { end: true }),
    refused('no last chunk', '9112 8', chunked('5\r\nhello\r\n'), true, { end: true }),
    refused('no line behind the last chunk', '9112 8', chunked('5\r\nhello\r\n0\r\n'), true, {
        end: true,
    }),
    refused('an end inside data', '9112 8', chunked('5\r\nhel'), true, { end: true }),
    refused('an end inside a size', '9112 8', chunked('5'), true, { end: true }),
    refused('an end inside the line end', '9112 8', chunked('5\r\nhello\r'), true, { end: true }),
];

export default {
    title: 'chunks of requests',
    cases: [
        ...good,
        ...extensions,
        ...unusualExtensions,
        ...lastChunk,
        ...rubbish,
        ...badSizes,
        ...sloppyLineEnds,
        ...badLineEnds,
        ...badExtensions,
        ...ends,
    ],
};
