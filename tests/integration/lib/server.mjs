// server.mjs - a scriptable HTTP/1.1 server with control over every byte, for the app behind hookline
// and for the receivers of its webhooks. It records each request exactly; what comes in must be
// strictly valid HTTP, or the test that started the server fails.
import net from 'node:net';
import { once } from 'node:events';
import { ByteReader, PeerGone, bodyPieces, readRequestHead } from './http1.mjs';
import { atEnd } from './cleanup.mjs';
import { write } from './until.mjs';

/** One request and the handles for its answer. */
export class Exchange {
    #socket;
    #reader;
    #body;
    #isBegun = false; // its body is read by somebody
    isRaw = false; // the handler took the connection: no HTTP follows on it
    isCut = false; // the peer went away before the exchange was over

    constructor(head, socket, reader, connection) {
        this.head = head;
        this.method = head.method;
        this.target = head.target;
        this.at = Date.now();
        this.connection = connection;
        this.chunks = [];
        this.gone = reader.gone;
        this.#socket = socket;
        this.#reader = reader;
    }

    get(name) {
        return this.head.get(name);
    }

    get id() {
        return this.get('x-request-id');
    }

    get path() {
        return this.target.split('?')[0];
    }

    /** The body's pieces as they arrive (once). */
    async *pieces() {
        this.#isBegun = true;
        for await (const piece of bodyPieces(this.#reader, this.head)) {
            this.chunks.push(piece);
            yield piece;
        }
        this.bytes = Buffer.concat(this.chunks);
    }

    /** The whole body; any number of times. */
    body() {
        this.#body ??= (async () => {
            if (!this.#isBegun) for await (const _ of this.pieces()) continue;
            return this.bytes;
        })();
        return this.#body;
    }

    /** Bytes, just as they are; resolves when the socket wants more. */
    raw(bytes) {
        return write(this.#socket, bytes);
    }

    /** A head with these fields and no others: framing is the script's business. */
    respond(status, fields = {}, reason = 'Scripted') {
        const lines = Object.entries(fields).flatMap(([name, value]) =>
            [value].flat().map((v) => `${name}: ${v}\r\n`),
        );
        return this.raw(
            Buffer.from(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n`, 'latin1'),
        );
    }

    /** A complete answer with Content-Length. */
    async send(status, fields = {}, body = '') {
        const bytes = Buffer.from(body);
        await this.respond(status, { ...fields, 'Content-Length': bytes.length });
        await this.raw(bytes);
    }

    json(value, status = 200) {
        return this.send(status, { 'Content-Type': 'application/json' }, JSON.stringify(value));
    }

    chunk(data) {
        const bytes = Buffer.from(data);
        const size = bytes.length.toString(16);
        return this.raw(Buffer.concat([Buffer.from(`${size}\r\n`), bytes, Buffer.from('\r\n')]));
    }

    lastChunk(trailers = {}) {
        const lines = Object.entries(trailers).map(([name, value]) => `${name}: ${value}\r\n`);
        return this.raw(`0\r\n${lines.join('')}\r\n`);
    }

    /** FIN after what was written; what still comes is dropped. */
    end() {
        this.isRaw = true;
        this.#reader.release();
        this.#socket.on('error', () => {}).resume();
        this.#socket.end();
    }

    /** RST. */
    reset() {
        this.isRaw = true;
        this.#socket.resetAndDestroy();
    }

    /** The connection itself, for what is no HTTP (tunnels): `{ socket, reader }`. */
    take() {
        this.isRaw = true;
        return { socket: this.#socket, reader: this.#reader };
    }
}

export class Server {
    /** Every request, in order of arrival. */
    requests = [];
    /** What came in and was no HTTP. */
    faults = [];
    connections = 0;
    #sockets = new Set();
    #net = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
        this.#serve(socket),
    );

    /** `handler(exchange)` answers; an unread body is read after it. */
    constructor(handler) {
        this.handler = handler;
    }

    /** `where`: a port (0: any free one) or the path of a unix socket; `host`: the port's address. */
    async listen(where = 0, host = '127.0.0.1') {
        this.where = where;
        if (typeof where === 'string') this.#net.listen(where);
        else this.#net.listen(where, host);
        await once(this.#net, 'listening');
        this.port = this.#net.address().port;
        return this;
    }

    get url() {
        return typeof this.where === 'string'
            ? `unix:${this.where}`
            : `http://127.0.0.1:${this.port}`;
    }

    /** The calls that each run id made: what "at most once" is about. */
    callsById() {
        return countById(this.requests);
    }

    /** From here on `handler` answers; what comes is in the `requests` of what this returns. */
    begin(handler) {
        this.handler = handler;
        this.requests = [];
        const { url, requests } = this;
        return { url, requests, callsById: () => countById(requests) };
    }

    get openConnections() {
        return this.#sockets.size;
    }

    async close() {
        for (const socket of this.#sockets) socket.destroy();
        await new Promise((resolve) => this.#net.close(resolve)); // its path goes with it, and may be another's since
    }

    async #serve(socket) {
        const connection = this.connections++;
        const reader = new ByteReader(socket, 0);
        this.#sockets.add(socket);
        socket.on('close', () => this.#sockets.delete(socket));
        try {
            while (await this.#exchange(socket, reader, connection));
        } catch (error) {
            if (!(error instanceof PeerGone)) this.faults.push(error);
            socket.destroy();
        }
    }

    /** False when nothing follows on the connection. */
    async #exchange(socket, reader, connection) {
        const head = await readRequestHead(reader);
        if (!head) {
            socket.end();
            return false;
        }
        const exchange = new Exchange(head, socket, reader, connection);
        this.requests.push(exchange);
        try {
            await this.handler(exchange);
            if (exchange.isRaw || socket.destroyed) return false;
            await exchange.body();
        } catch (error) {
            exchange.isCut = error instanceof PeerGone;
            throw error;
        }
        if (/\bclose\b/i.test(head.get('connection') ?? '')) socket.end();
        return true;
    }
}

function countById(requests) {
    const calls = new Map();
    for (const { id } of requests) calls.set(id, (calls.get(id) ?? 0) + 1);
    return calls;
}

/** Starts a server that ends with the test, and fails it if what it got was no HTTP. */
export async function startServer(t, handler, where, host) {
    const server = await new Server(handler).listen(where, host);
    atEnd(t, async () => {
        await server.close();
        if (server.faults.length) throw server.faults[0];
    });
    return server;
}
