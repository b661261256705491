// raw.mjs - a client that sends bytes just as they are given and reads what comes back strictly.
import net from 'node:net';
import { once } from 'node:events';
import { ByteReader, bodyPieces, readResponseHead } from './http1.mjs';
import { atEnd } from './cleanup.mjs';
import { write } from './until.mjs';

export class RawClient {
    /** `silence`: see ByteReader. */
    constructor(socket, silence) {
        this.socket = socket;
        this.reader = new ByteReader(socket, silence);
    }

    send(bytes) {
        return write(this.socket, typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    }

    /** The same bytes, `size` at a time, each piece in a segment of its own. */
    async sendInPieces(bytes, size = 1) {
        const data = Buffer.from(bytes, 'latin1');
        for (let at = 0; at < data.length; at += size) {
            await this.send(data.subarray(at, at + size));
            await new Promise((resolve) => setImmediate(resolve));
        }
    }

    /** The head of the final response; interim ones are collected on `head.interim`. */
    async responseHead(method = 'GET') {
        const interim = [];
        for (;;) {
            const head = await readResponseHead(this.reader, method);
            if (head.status >= 200 || head.status === 101) return Object.assign(head, { interim });
            interim.push(head);
        }
    }

    /** The body's pieces as they come. */
    pieces(head) {
        return bodyPieces(this.reader, head);
    }

    /** A whole response: a head with `chunks`, `body`, `text`. */
    async response(method = 'GET') {
        const head = await this.responseHead(method);
        head.chunks = [];
        for await (const piece of this.pieces(head)) head.chunks.push(piece);
        head.body = Buffer.concat(head.chunks);
        head.text = head.body.toString();
        return head;
    }

    /** True when the peer closes without another byte. */
    async isClosed() {
        return (await this.reader.some()) === null;
    }

    /** FIN: nothing more comes from us. */
    end() {
        this.socket.end();
    }

    reset() {
        this.socket.resetAndDestroy();
    }

    close() {
        this.socket.destroy();
    }
}

/**
 * A connection that ends with the test. The listener has a port, as a sidecar has, or the path of a socket. `isLazy`:
 * nothing is read before somebody waits for it.
 */
export async function connect(t, { port, path }, { silence, isLazy = false } = {}) {
    const where = path ? { path } : { port, host: '127.0.0.1', noDelay: true };
    const socket = net.connect({ ...where, allowHalfOpen: true });
    if (isLazy) socket.pause(); // later would be too late: it would read on until its buffer is full
    socket.on('error', () => {}); // the reader reports it to whoever waits
    await once(socket, 'connect');
    const client = new RawClient(socket, silence);
    atEnd(t, () => client.close());
    return client;
}

/** A request's bytes. Host is there unless `fields` has one; with a body, Content-Length too. */
export function request(method, target, fields = {}, body) {
    const all = { Host: 'hookline.test', ...fields };
    const isFramed = Object.keys(all).some((n) => /^(content-length|transfer-encoding)$/i.test(n));
    const bytes = Buffer.from(body ?? '');
    if (body !== undefined && !isFramed) all['Content-Length'] = bytes.length;
    const lines = Object.entries(all).flatMap(([name, value]) =>
        [value].flat().map((v) => `${name}: ${v}\r\n`),
    );
    const head = `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
    return Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
}

/** One chunk, or the last one with its trailers. */
export function chunk(data) {
    const bytes = Buffer.from(data);
    return Buffer.concat([
        Buffer.from(`${bytes.length.toString(16)}\r\n`),
        bytes,
        Buffer.from('\r\n'),
    ]);
}
