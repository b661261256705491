// wire.mjs - a way to PostgreSQL that knows its protocol's messages and breaks a connection off at one of them.
import { once } from 'node:events';
import net from 'node:net';
import { atEnd } from './cleanup.mjs';

const HEAD = 5; // of a message: its type and a length, which counts itself and what follows
const BIND = 'B'.charCodeAt(0);

/** A Wire to the server of `target`, a URL, until the test ends. Nothing on it is encrypted. */
export async function wire(t, target) {
    const made = new Wire(new URL(target));
    await made.listen();
    atEnd(t, () => made.close());
    return made;
}

class Wire {
    #target;
    #server = net.createServer((client) => this.#accept(client));
    #ends = new Set();
    #wanted = null;
    #held = null;

    constructor(target) {
        this.#target = target;
    }

    async listen() {
        this.#server.listen(0, '127.0.0.1');
        await once(this.#server, 'listening');
        const url = new URL(this.#target);
        url.host = `127.0.0.1:${this.#server.address().port}`;
        url.search = 'sslmode=disable&gssencmode=disable';
        this.url = url.href;
    }

    /**
     * The next connection that brings the prepared `statement` ends at the `at`th message after that: 0 is the statement
     * itself, then come the client's and the server's as they pass. That message does not arrive. Resolves then.
     */
    breakAt(statement, at) {
        return new Promise((resolve) => (this.#wanted = { statement, left: at, connection: null, resolve }));
    }

    /**
     * The next connection that brings the prepared `statement` is lost to its client there; what it had sent from that
     * message on is the server's when `deliver` is called, of what this resolves with.
     */
    holdAt(statement) {
        return new Promise((resolve) => (this.#held = { statement, pair: null, messages: [], resolve }));
    }

    /** Every connection ends. */
    cut() {
        for (const socket of this.#ends) socket.resetAndDestroy();
    }

    async close() {
        this.cut();
        this.#server.close();
        await once(this.#server, 'close');
    }

    #accept(client) {
        const server = net.connect({ host: this.#target.hostname, port: Number(this.#target.port) });
        const pair = [client, server];
        for (const socket of pair) {
            this.#ends.add(socket);
            socket.setNoDelay(true);
            socket.on('error', () => {});
            socket.on('close', () => {
                this.#ends.delete(socket);
                if (this.#held?.pair !== pair) for (const other of pair) other.destroy();
            });
        }
        pass(client, server, new Messages(true), (message) => !this.#hold(pair, message) && this.#mayPass(pair, message));
        pass(server, client, new Messages(false), (message) => this.#mayPass(pair, message));
    }

    #hold(pair, message) {
        const held = this.#held;
        if (!held || (held.pair ? held.pair !== pair : statementOf(message) !== held.statement)) return false;
        held.messages.push(message);
        if (held.pair) return true;
        held.pair = pair;
        setImmediate(() => { // what came along is here by then
            pair[0].resetAndDestroy();
            held.resolve({ deliver: () => pair[1].write(Buffer.concat(held.messages)) });
        });
        return true;
    }

    #mayPass(pair, message) {
        const wanted = this.#wanted;
        if (!wanted || (wanted.connection ?? pair) !== pair) return true;
        if (!wanted.connection && statementOf(message) !== wanted.statement) return true;
        wanted.connection = pair;
        if (wanted.left-- > 0) return true;
        this.#wanted = null;
        for (const socket of pair) socket.resetAndDestroy();
        wanted.resolve();
        return false;
    }
}

function pass(from, to, messages, mayPass) {
    from.on('data', (bytes) => {
        for (const message of messages.of(bytes)) {
            if (mayPass(message) && !to.destroyed) to.write(message);
        }
    });
}

/** Bytes as messages; a client's first has no type. */
class Messages {
    #rest = Buffer.alloc(0);

    constructor(isFirst) {
        this.isFirst = isFirst;
    }

    *of(bytes) {
        this.#rest = Buffer.concat([this.#rest, bytes]);
        for (;;) {
            const head = this.isFirst ? HEAD - 1 : HEAD;
            if (this.#rest.length < head) return;
            const length = head - 4 + this.#rest.readUInt32BE(head - 4);
            if (this.#rest.length < length) return;
            this.isFirst = false;
            const message = this.#rest.subarray(0, length);
            this.#rest = this.#rest.subarray(length);
            yield message;
        }
    }
}

/** Of a Bind: behind the name of its portal. */
function statementOf(message) {
    if (message[0] !== BIND) return null;
    const [, name] = message.toString('latin1', HEAD).split('\0', 2);
    return name;
}
