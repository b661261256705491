// strict.mjs - HTTP/1.1 messages read as RFC 9110 and 9112 write them, and what they mean. It is the
// judge of what a proxy sends: written from the RFCs alone, sharing nothing with the proxy or with the
// readers of the other tests. A message passes in one way only, or not at all; where an RFC lets a
// sender choose between spellings that readers take differently, none of them passes.

/** The bytes are not a message, and no bytes after them could make them one. */
export class Malformed extends Error {}
/** Nothing is wrong with the bytes, but the message has not ended. */
export class Incomplete extends Error {}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const TEXT = '[\\x21-\\x7e\\x80-\\xff]';
const VALUE = `(?:${TEXT}(?:[\\t\\x20-\\x7e\\x80-\\xff]*${TEXT})?)?`;
const FIELD_LINE = new RegExp(`^(${TOKEN}):[\\t ]*(${VALUE})[\\t ]*$`);
// RFC 3986 allows less in a path, but browsers send these bytes, and none of them ends a target.
const TARGET = '[\\x21\\x22\\x24-\\x7e]';
const REQUEST_LINE = new RegExp(`^(${TOKEN}) (${TARGET}+) HTTP/1\\.([01])$`);
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2}) ([\t\x20-\x7e\x80-\xff]*)$/;
const REG_NAME = "[A-Za-z0-9._~!$&'()*+;=%-]*"; // without ',': it would read as a list of hosts
const IP_LITERAL = '\\[[0-9A-Fa-f:.]+(?:%25[A-Za-z0-9._~-]+)?\\]';
const AUTHORITY = `(?:${REG_NAME}|${IP_LITERAL})(?::[0-9]*)?`;
const HOST = new RegExp(`^${AUTHORITY}$`);
const ABSOLUTE = new RegExp(`^https?://(${AUTHORITY})(?:[/?]|$)`, 'i');
const QUOTED =
    '"(?:[\\t \\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t \\x21-\\x7e\\x80-\\xff])*"';
const EXTENSION = `[\\t ]*;[\\t ]*${TOKEN}(?:[\\t ]*=[\\t ]*(?:${TOKEN}|${QUOTED}))?`;
const CHUNK_LINE = new RegExp(`^([0-9A-Fa-f]{1,15})(?:${EXTENSION})*$`);

/** What a recipient would act on as if it had stood in the head (RFC 9110 6.5.1). */
const NEVER_IN_TRAILERS = new Set(
    (
        'authorization cache-control connection content-encoding content-length content-range ' +
        'content-type cookie expect host keep-alive max-forwards proxy-authorization ' +
        'proxy-connection range set-cookie te trailer transfer-encoding upgrade'
    ).split(' '),
);

/** What every reader can count (64 bits with a sign). */
const LONGEST = (1n << 63n) - 1n;

function fail(what, text) {
    throw new Malformed(text === undefined ? what : `${what}: ${JSON.stringify(text)}`);
}

/** Walks over bytes; every step throws Incomplete where they end. */
class Cursor {
    constructor(bytes, at = 0) {
        this.bytes = bytes;
        this.at = at;
    }

    /** The next line without its CRLF, which is the only line end there is (RFC 9112 2.2). */
    line() {
        const lf = this.bytes.indexOf(10, this.at);
        const end = lf < 0 ? this.bytes.length : lf;
        const text = this.bytes.toString('latin1', this.at, end);
        const cr = text.indexOf('\r');
        if (cr >= 0 && cr < text.length - 1) fail('a bare CR', text);
        if (lf < 0) throw new Incomplete(`ends inside the line ${JSON.stringify(text)}`);
        if (cr < 0) fail('a bare LF', text);
        this.at = lf + 1;
        return text.slice(0, -1);
    }

    take(n) {
        if (this.bytes.length - this.at < n) throw new Incomplete('ends inside the body');
        this.at += n;
        return this.bytes.subarray(this.at - n, this.at);
    }

    rest() {
        return this.take(this.bytes.length - this.at);
    }
}

/** A message and what it means. `fields` and `trailers`: [name, value] as they stood, in order. */
export class Message {
    body = Buffer.alloc(0);
    trailers = [];

    constructor(start, fields) {
        Object.assign(this, start);
        this.fields = fields;
    }

    /** All values of that name, in order. */
    all(name) {
        return valuesOf(this.fields, name);
    }

    /** The elements of the lists under that name, in lower case. */
    list(name) {
        return elements(this.all(name));
    }

    get text() {
        return this.body.toString('latin1');
    }
}

export function valuesOf(fields, name) {
    const wanted = name.toLowerCase();
    return fields.filter(([n]) => n.toLowerCase() === wanted).map(([, value]) => value);
}

function elements(values) {
    return values
        .join(',')
        .split(',')
        .map((element) => element.trim().toLowerCase())
        .filter((element) => element !== '');
}

function readFields(cursor) {
    const fields = [];
    for (let line; (line = cursor.line()) !== '';) {
        const match = FIELD_LINE.exec(line) ?? fail('not a field line', line);
        fields.push([match[1], match[2]]);
    }
    return fields;
}

/** Connection lists names, and what is for one connection only is listed there (RFC 9110 7.6.1, 7.8, 10.1.4). */
function checkConnection(message) {
    const options = message.list('connection');
    const token = new RegExp(`^${TOKEN}$`);
    for (const option of options) if (!token.test(option)) fail('a connection option', option);
    for (const name of ['upgrade', 'te', 'http2-settings'])
        if (message.all(name).length && !options.includes(name)) fail(`${name} without Connection`);
}

/** What the head says about the body; null: nothing. */
function framingOf(message) {
    const codings = message.all('transfer-encoding');
    const lengths = message.all('content-length');
    if (codings.length + lengths.length > 1) fail('more than one framing field');
    if (codings.length) {
        if (message.minor === 0) fail('Transfer-Encoding in HTTP/1.0');
        if (codings[0].toLowerCase() !== 'chunked') fail('a transfer coding', codings[0]);
        return { isChunked: true };
    }
    if (!lengths.length) return null;
    if (!/^[0-9]+$/.test(lengths[0]) || BigInt(lengths[0]) > LONGEST) fail('a length', lengths[0]);
    return { length: Number(lengths[0]) };
}

function readChunked(cursor, message) {
    const pieces = [];
    for (;;) {
        const line = cursor.line();
        const match = CHUNK_LINE.exec(line) ?? fail('not a chunk size', line);
        const size = parseInt(match[1], 16);
        if (size === 0) break;
        pieces.push(cursor.take(size));
        const end = cursor.take(2).toString('latin1');
        if (end !== '\r\n') fail('after a chunk', end);
    }
    message.trailers = readFields(cursor);
    for (const [name] of message.trailers)
        if (NEVER_IN_TRAILERS.has(name.toLowerCase())) fail('a trailer field', name);
    message.body = Buffer.concat(pieces);
}

/** The head of the request that begins at the cursor. */
function readRequestHead(cursor) {
    const line = cursor.line();
    const match = REQUEST_LINE.exec(line) ?? fail('not a request line', line);
    const [, method, target, minor] = match;
    const message = new Message({ method, target, minor: Number(minor) }, readFields(cursor));
    const hosts = message.all('host');
    if (hosts.length !== 1) fail(`${hosts.length} Host fields`);
    if (!HOST.test(hosts[0])) fail('a host', hosts[0]);
    checkTarget(message, hosts[0]);
    checkConnection(message);
    message.framing = framingOf(message);
    return message;
}

/** RFC 9112 3.2, as to an origin server; an absolute form that says what Host says harms nobody. */
function checkTarget({ method, target }, host) {
    if (target.startsWith('/')) return;
    if (target === '*' && method === 'OPTIONS') return;
    const [, authority] = ABSOLUTE.exec(target) ?? fail('a target', target);
    if (authority.toLowerCase() !== host.toLowerCase()) fail('a target that is not Host’s', target);
}

/** Reads the request at `at`: `{ message, end }`. `onHead(message)` is told of it before its body. */
export function readRequest(bytes, at = 0, onHead) {
    const cursor = new Cursor(bytes, at);
    const message = readRequestHead(cursor);
    onHead?.(message);
    if (message.framing?.isChunked) readChunked(cursor, message);
    else message.body = cursor.take(message.framing?.length ?? 0);
    return { message, end: cursor.at };
}

/** Exactly one request, and nothing after it. */
export function parseRequest(bytes) {
    const { message, end } = readRequest(bytes);
    if (end < bytes.length) fail('bytes after the message', bytes.toString('latin1', end));
    return message;
}

function hasNoBody(message, method) {
    return (
        message.status < 200 ||
        message.status === 204 ||
        message.status === 304 ||
        method === 'HEAD'
    );
}

/**
 * Reads the response at `at` to a request with `method`: `{ message, end }`. `closed`: how the stream
 * ended after these bytes ('fin', 'reset', or null when it did not); it ends a body without framing.
 */
export function readResponse(bytes, method, closed = null, at = 0) {
    const cursor = new Cursor(bytes, at);
    const line = cursor.line();
    const match = STATUS_LINE.exec(line) ?? fail('not a status line', line);
    const [, minor, status, reason] = match;
    const start = { minor: Number(minor), status: Number(status), reason };
    const message = new Message(start, readFields(cursor));
    checkConnection(message);
    const framing = (message.framing = framingOf(message));
    if (framing && (message.status < 200 || message.status === 204))
        fail(`framing fields in a ${message.status}`);
    if (hasNoBody(message, method)) return { message, end: cursor.at };
    if (framing?.isChunked) readChunked(cursor, message);
    else if (framing) message.body = cursor.take(framing.length);
    else readToEnd(cursor, message, closed);
    return { message, end: cursor.at };
}

function readToEnd(cursor, message, closed) {
    if (closed !== 'fin') throw new Incomplete('a body that the end of the connection ends');
    message.body = cursor.rest();
    message.endsConnection = true;
}

/** Exactly one response, and nothing after it. */
export function parseResponse(bytes, method = 'GET', closed = 'fin') {
    const { message, end } = readResponse(bytes, method, closed);
    if (end < bytes.length) fail('bytes after the message', bytes.toString('latin1', end));
    return message;
}
