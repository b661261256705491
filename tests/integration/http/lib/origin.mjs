// origin.mjs - the app behind the proxy: keeps every byte, has the strict reader judge them, and
// answers as the present case says.
import net from 'node:net';
import { once } from 'node:events';
import { LONGEST_EACH, inPieces } from './pieces.mjs';
import { Incomplete, Malformed, readRequest } from './strict.mjs';

/** The requests that the suite itself sends around each case. */
export const OWN = '/suite-own/';

/** One request, from its head on, and the handles for its answer. */
class Exchange {
    #socket;
    #resolve;
    message = null; // the whole request, once it is there

    /** `connection`: the number of its connection; `gone`: its end; `nth`: of the case's requests, this one. */
    constructor(head, { socket, number, gone }, nth) {
        Object.assign(this, { head, connection: number, gone, nth });
        this.#socket = socket;
        this.whole = new Promise((resolve) => (this.#resolve = resolve));
    }

    arrive(message) {
        this.message = message;
        this.#resolve(message);
    }

    /** Bytes (latin1), byte by byte where the case is delivered so. */
    write(bytes) {
        const isEach = this.isEach && bytes.length <= LONGEST_EACH;
        return isEach ? this.writeEach(bytes) : this.writeAtOnce(bytes);
    }

    /** Where an end follows at once, which may overtake single bytes: TCP sends only so many unacknowledged. */
    writeAtOnce(bytes) {
        return new Promise((resolve) => {
            if (this.#socket.destroyed) resolve();
            else this.#socket.write(Buffer.from(bytes, 'latin1'), () => resolve());
        });
    }

    /** The same bytes, one at a time. */
    writeEach(bytes) {
        return inPieces(
            bytes,
            (piece) => this.writeAtOnce(piece),
            () => this.#socket.destroyed,
        );
    }

    get isGone() {
        return this.#socket.destroyed;
    }

    end() {
        this.#socket.end();
    }

    reset() {
        this.#socket.resetAndDestroy();
    }

    /** No HTTP any more: what comes goes to `onData(bytes)`, its end to `onEnd()`. */
    take(onData, onEnd) {
        Object.assign(this, { onData, onEnd });
    }
}

/** The answer where a case has no script: the target, so that an answer shows which request it is of. */
export async function echo(exchange) {
    const { method, target } = await exchange.whole;
    const body = method === 'HEAD' ? '' : target;
    await exchange.write(
        `HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-Origin: echo\r\n` +
            `Content-Length: ${target.length}\r\n\r\n${body}`,
    );
}

export class Origin {
    #net = net.createServer({ allowHalfOpen: true, noDelay: true }, (s) => this.#serve(s));
    #sockets = new Set();
    #script = echo;
    connections = 0;
    isEach = false; // answers go byte by byte

    async listen() {
        this.#net.listen(0, '127.0.0.1');
        await once(this.#net, 'listening');
        this.port = this.#net.address().port;
        return this;
    }

    /** Forgets what came, and answers by `script(exchange)` from the next request's head on. */
    begin(script = echo) {
        this.#script = script;
        this.exchanges = []; // in the order of their heads
        this.faults = []; // what came and is no HTTP
        this.seen = []; // all bytes, in pieces
    }

    /** Resolves when every script has sent what it has to send, or can't any more. */
    settled() {
        return Promise.all(
            this.exchanges.map(({ answered, gone }) => Promise.race([answered, gone])),
        );
    }

    /** The requests that came whole. */
    get requests() {
        return this.exchanges.map((exchange) => exchange.message).filter(Boolean);
    }

    async close() {
        for (const socket of this.#sockets) socket.destroy();
        await new Promise((resolve) => this.#net.close(resolve));
    }

    #serve(socket) {
        const state = {
            socket,
            number: this.connections++,
            bytes: Buffer.alloc(0),
            exchange: null,
        };
        state.gone = new Promise((resolve) => socket.once('close', resolve));
        this.#sockets.add(socket);
        socket.on('data', (bytes) => this.#take(state, bytes));
        socket.on('end', () => this.#end(state));
        socket.on('error', () => {});
        socket.on('close', () => this.#sockets.delete(socket));
    }

    /** A peer that has nothing more to say gets the same; a tunnel's script decides for itself. */
    #end({ socket, exchange }) {
        if (exchange?.onEnd) exchange.onEnd();
        else socket.end();
    }

    #take(state, bytes) {
        this.seen.push(bytes);
        if (state.exchange?.onData) return void state.exchange.onData(bytes);
        state.bytes = Buffer.concat([state.bytes, bytes]);
        try {
            while (state.bytes.length) this.#read(state);
        } catch (error) {
            if (error instanceof Incomplete) return;
            if (!(error instanceof Malformed)) throw error;
            this.faults.push(error);
            state.socket.end('HTTP/1.1 400 Malformed\r\nContent-Length: 0\r\n\r\n');
            state.bytes = Buffer.alloc(0);
        }
    }

    /** The request that the bytes begin with; throws when it is not whole. */
    #read(state) {
        const { message, end } = readRequest(state.bytes, 0, (head) => {
            if (!state.exchange || state.exchange.message)
                state.exchange = this.#begin(state, head);
        });
        state.bytes = state.bytes.subarray(end);
        state.exchange.arrive(message);
    }

    #begin(state, head) {
        const isOwn = head.target.startsWith(OWN);
        const exchange = new Exchange(head, state, this.exchanges.length);
        exchange.isEach = this.isEach;
        if (!isOwn) this.exchanges.push(exchange);
        exchange.answered = (isOwn ? echo : this.#script)(exchange);
        return exchange;
    }
}
