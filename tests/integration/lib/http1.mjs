// http1.mjs - reads HTTP/1.1 from a socket and holds it to the grammar: whatever RFC 9112 does not
// allow throws. Both ends of the tests stand on it, the client that checks what hookline answers and
// the app that checks what hookline forwards.
import { PATIENCE } from './until.mjs';

const HELD_MAX = 64 * 1024; // more unread bytes than this and the socket is paused: real back-pressure
const SILENCE_MS = PATIENCE; // a client that waits longer than this for a byte has found a hang

export class PeerGone extends Error {}
export class BadHttp extends Error {}

/** Pulls bytes out of a socket, which it takes over until `release()`. */
export class ByteReader {
    #socket;
    #held = [];
    #size = 0;
    #error = null;
    #waiting = null;
    #listeners;
    #silence;
    ended = false;

    /** `silence`: after how many ms without a byte a wait fails; 0: never. */
    constructor(socket, silence = SILENCE_MS) {
        this.#socket = socket;
        this.#silence = silence;
        this.gone = new Promise((resolve) => {
            this.#listeners = {
                data: (piece) => this.#take(piece),
                end: () => this.#finish(null, resolve),
                close: () => this.#finish(new PeerGone('closed'), resolve),
                error: (error) => this.#finish(new PeerGone(error.code ?? error.message), resolve),
            };
        });
        for (const [name, listener] of Object.entries(this.#listeners)) socket.on(name, listener);
    }

    #take(piece) {
        this.#held.push(piece);
        this.#size += piece.length;
        if (this.#size > HELD_MAX) this.#socket.pause();
        this.#waiting?.();
    }

    #finish(error, resolve) {
        if (!this.ended) this.#error = error;
        this.ended = true;
        resolve();
        this.#waiting?.();
    }

    async #wait() {
        let timer;
        this.#socket.resume();
        await new Promise((resolve, reject) => {
            this.#waiting = resolve;
            if (!this.#silence) return;
            const fail = () => reject(new Error(`nothing arrived within ${this.#silence} ms`));
            timer = setTimeout(fail, this.#silence);
        });
        clearTimeout(timer);
        this.#waiting = null;
    }

    #join() {
        if (this.#held.length > 1) this.#held = [Buffer.concat(this.#held, this.#size)];
        return this.#held[0];
    }

    #cut(n) {
        const all = this.#join();
        this.#held = n < all.length ? [all.subarray(n)] : [];
        this.#size -= n;
        return all.subarray(0, n);
    }

    /** The next bytes, at most `max`; null at a clean end. A reset throws PeerGone. */
    async some(max = Infinity) {
        while (this.#size === 0) {
            if (this.ended && this.#error) throw this.#error;
            if (this.ended) return null;
            await this.#wait();
        }
        return this.#cut(Math.min(max, this.#size));
    }

    async exactly(n) {
        const pieces = [];
        for (let left = n; left > 0; left -= pieces.at(-1).length) {
            const piece = await this.some(left);
            if (!piece) throw new PeerGone(`ended ${left} bytes before the end of the message`);
            pieces.push(piece);
        }
        return Buffer.concat(pieces);
    }

    /** Up to and including `mark`; null when the stream ends before its first byte. */
    async through(mark, limit) {
        for (let from = 0; ; ) {
            const at = this.#size ? this.#join().indexOf(mark, from) : -1;
            if (at >= 0) return this.#cut(at + mark.length);
            if (this.#size > limit)
                throw new BadHttp(`no ${JSON.stringify(mark)} in ${limit} bytes`);
            from = Math.max(0, this.#size - mark.length);
            if (this.ended && this.#size === 0 && !this.#error) return null;
            if (this.ended) throw this.#error ?? new PeerGone('ended inside a line');
            await this.#wait();
        }
    }

    /** Everything up to the end of the stream. */
    async rest() {
        const pieces = [];
        for (let piece; (piece = await this.some()); ) pieces.push(piece);
        return Buffer.concat(pieces);
    }

    /** Gives the socket back; returns the bytes that were read ahead. */
    release() {
        for (const [name, listener] of Object.entries(this.#listeners)) {
            this.#socket.off(name, listener);
        }
        return this.#size ? this.#cut(this.#size) : Buffer.alloc(0);
    }
}

/** A message's head: start line and field lines, byte for byte (as latin1 text). */
export class Head {
    constructor(raw) {
        this.raw = raw;
        const lines = raw.toString('latin1').slice(0, -4).split('\r\n');
        this.startLine = lines.shift();
        this.fields = lines.map(parseFieldLine);
    }

    all(name) {
        const wanted = name.toLowerCase();
        return this.fields.filter(([n]) => n.toLowerCase() === wanted).map(([, value]) => value);
    }

    /** The value of a field that may stand there once at most. */
    get(name) {
        const values = this.all(name);
        if (values.length > 1) throw new BadHttp(`${name} stands there ${values.length} times`);
        return values[0];
    }

    has(name) {
        return this.all(name).length > 0;
    }
}

function parseFieldLine(line) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(line);
    if (!match) throw new BadHttp(`not a field line: ${JSON.stringify(line)}`);
    return [match[1], match[2].replace(/[ \t]+$/, '')];
}

async function readHead(reader) {
    const raw = await reader.through('\r\n\r\n', 1 << 20);
    return raw && new Head(raw);
}

/** Null when the peer closed between messages. */
export async function readRequestHead(reader) {
    const head = await readHead(reader);
    if (!head) return null;
    const line = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP\/1\.1$/.exec(head.startLine);
    if (!line) throw new BadHttp(`not a request line: ${JSON.stringify(head.startLine)}`);
    [, head.method, head.target] = line;
    if (head.all('host').length !== 1) throw new BadHttp('a request needs exactly one Host');
    head.framing = framingOf(head) ?? { kind: 'none' };
    return head;
}

/** `method` is the request's: it decides with the status whether a body follows (RFC 9112 6.3). */
export async function readResponseHead(reader, method = 'GET') {
    const head = await readHead(reader);
    if (!head) throw new PeerGone('closed where a response was due');
    const line = /^HTTP\/1\.1 ([1-5][0-9][0-9]) ([\t\x20-\x7e\x80-\xff]*)$/.exec(head.startLine);
    if (!line) throw new BadHttp(`not a status line: ${JSON.stringify(head.startLine)}`);
    head.status = Number(line[1]);
    head.reason = line[2];
    const declared = framingOf(head);
    if (head.status < 200 || head.status === 204) {
        if (declared) throw new BadHttp(`framing fields in a ${head.status}`);
        head.framing = { kind: 'none' };
    } else if (method === 'HEAD' || head.status === 304) {
        head.framing = { kind: 'none' };
    } else {
        head.framing = declared ?? { kind: 'close' };
    }
    return head;
}

function framingOf(head) {
    const codings = head.all('transfer-encoding');
    const lengths = head.all('content-length');
    if (codings.length + lengths.length > 1) throw new BadHttp('more than one framing field');
    if (codings.length) {
        if (codings[0] !== 'chunked') throw new BadHttp(`Transfer-Encoding: ${codings[0]}`);
        return { kind: 'chunked' };
    }
    if (lengths.length) {
        if (!/^(0|[1-9][0-9]*)$/.test(lengths[0])) {
            throw new BadHttp(`Content-Length: ${lengths[0]}`);
        }
        return { kind: 'length', length: Number(lengths[0]) };
    }
    return null;
}

/** The body's pieces as they come; a chunk is one piece. Trailer lines are put on `head.trailers`. */
export async function* bodyPieces(reader, head) {
    head.trailers = [];
    switch (head.framing.kind) {
        case 'none':
            return;
        case 'length':
            for (let left = head.framing.length; left > 0; ) {
                const piece = await reader.some(left);
                if (!piece) throw new PeerGone(`ended ${left} bytes before Content-Length`);
                left -= piece.length;
                yield piece;
            }
            return;
        case 'chunked':
            yield* chunks(reader, head);
            return;
        case 'close':
            for (let piece; (piece = await reader.some()); ) yield piece;
            return;
    }
}

async function* chunks(reader, head) {
    for (;;) {
        const line = await chunkLine(reader);
        if (!/^[0-9A-Fa-f]+$/.test(line)) throw new BadHttp(`not a chunk size: ${line}`);
        const size = parseInt(line, 16);
        if (size === 0) break;
        const data = await reader.exactly(size);
        if ((await reader.exactly(2)).toString('latin1') !== '\r\n') {
            throw new BadHttp('chunk data is not followed by CRLF');
        }
        yield data;
    }
    for (let line; (line = await chunkLine(reader)) !== ''; ) {
        head.trailers.push(parseFieldLine(line));
    }
}

async function chunkLine(reader) {
    const line = await reader.through('\r\n', 64 * 1024);
    if (!line) throw new PeerGone('ended inside a chunked body');
    return line.toString('latin1').slice(0, -2);
}
