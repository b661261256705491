// link.mjs - a cable between hookline and a server on TCP, which a test can cut, block and slow down. Both ends are on
// this machine: the kernel answers keepalives and acknowledges bytes whatever happens here; postgres.mjs has a real cable.
import { once } from 'node:events';
import net from 'node:net';
import { atEnd } from './cleanup.mjs';
import { freePort } from './sidecar.mjs';

/** Bytes of a direction that are on their way; beyond them its source has to wait. */
const IN_FLIGHT = 1 << 20;

/** A link to `target`, a URL, that ends with the test. `url` is the target's, by way of this link. */
export async function link(t, target) {
    const made = new Link(new URL(target), await freePort());
    atEnd(t, () => made.cut());
    await made.heal();
    return made;
}

class Link {
    #target;
    #server;
    #connections = new Set();
    #blocked = { requests: false, answers: false };
    #delay = 0;

    /** Connections since the beginning. */
    accepted = 0;

    constructor(target, port) {
        this.#target = { host: target.hostname, port: Number(target.port) };
        this.port = port;
        const url = new URL(target);
        url.host = `127.0.0.1:${port}`;
        this.url = url.href;
    }

    /** Connections that are open at one end at least. */
    get open() {
        return this.#connections.size;
    }

    /** Both ends of every connection are reset, what was on its way is lost, and new ones are refused. */
    async cut() {
        const closed = this.#server?.listening && once(this.#server, 'close');
        this.#server?.close();
        for (const connection of this.#connections) connection.reset();
        await closed;
    }

    /**
     * Nothing comes through, ends of connections neither, and nobody is told; a new connection finds a
     * server that says nothing. Only in one `direction`: 'requests' or 'answers'. What was sent comes when
     * it is healed, as TCP repeats it.
     */
    blackHole(direction = 'both') {
        for (const name of Object.keys(this.#blocked))
            this.#blocked[name] = direction === 'both' || direction === name;
        this.#flow();
    }

    /**
     * Of every connection one end has gone, and `believer`, 'server' or 'client', is not told: what it sends arrives
     * nowhere. New connections are as ever. When it is healed it learns that the connection has been reset.
     */
    halfOpen(believer) {
        for (const connection of this.#connections) connection.halve(believer);
    }

    /** What a client sends arrives so many milliseconds later, in order. */
    delay(ms) {
        this.#delay = ms;
    }

    /** As at the beginning. */
    async heal() {
        this.#delay = 0;
        for (const connection of this.#connections) connection.forgetHalf();
        this.blackHole('none');
        if (this.#server?.listening) return;
        const options = { allowHalfOpen: true, pauseOnConnect: true };
        this.#server = net.createServer(options, (client) => this.#accept(client));
        this.#server.listen(this.port, '127.0.0.1');
        await once(this.#server, 'listening');
    }

    #accept(client) {
        this.accepted++;
        const connection = new Connection(client, this.#target, () => this.#delay);
        this.#connections.add(connection);
        connection.onClosed = () => this.#connections.delete(connection);
        this.#flow();
    }

    #flow() {
        for (const connection of this.#connections) connection.flow(this.#blocked);
    }
}

/** A client's socket and the one to the server, which is made when the first request may pass. */
class Connection {
    #half = null;

    constructor(client, target, delay) {
        this.target = target;
        this.client = client;
        this.server = new net.Socket({ allowHalfOpen: true });
        this.requests = new Direction(client, this.server, delay);
        this.answers = new Direction(this.server, client, () => 0);
        for (const socket of [client, this.server]) {
            socket.setNoDelay(true);
            socket.on('close', () => this.#close());
        }
    }

    flow(blocked) {
        if (this.#half) return;
        if (!blocked.requests && !this.isBegun) {
            this.isBegun = true;
            this.server.connect(this.target);
        }
        this.requests.block(blocked.requests);
        this.answers.block(blocked.answers);
    }

    halve(believer) {
        this.#half = this[believer];
        this.requests.block(true);
        this.answers.block(true);
        (believer === 'server' ? this.client : this.server).resetAndDestroy();
    }

    forgetHalf() {
        if (this.#half) this.reset();
    }

    reset() {
        this.client.resetAndDestroy();
        this.server.resetAndDestroy();
    }

    #close() {
        if (this.client.destroyed && (this.server.destroyed || !this.isBegun)) this.onClosed();
    }
}

/** Bytes from one socket to the other, then how they ended. */
class Direction {
    #queue = [];
    #bytes = 0;
    #isBlocked = true;
    #timer;

    constructor(from, to, delay) {
        this.from = from;
        this.to = to;
        this.delay = delay;
        from.pause();
        from.on('data', (bytes) => this.#add(bytes.length, () => to.write(bytes)));
        from.on('end', () => this.#add(0, () => to.end()));
        from.on('error', () => this.#add(0, () => to.resetAndDestroy()));
        to.on('drain', () => this.#pass());
    }

    block(isBlocked) {
        this.#isBlocked = isBlocked;
        this.#pass();
    }

    #add(size, deliver) {
        this.#queue.push({ due: performance.now() + this.delay(), size, deliver });
        this.#bytes += size;
        this.#pass();
    }

    #pass() {
        clearTimeout(this.#timer);
        while (this.#queue.length && !this.#isBlocked && !this.to.writableNeedDrain) {
            const wait = this.#queue[0].due - performance.now();
            if (wait > 0) {
                this.#timer = setTimeout(() => this.#pass(), Math.ceil(wait));
                break;
            }
            const { size, deliver } = this.#queue.shift();
            this.#bytes -= size;
            deliver();
        }
        if (this.#isBlocked || this.#bytes > IN_FLIGHT) this.from.pause();
        else this.from.resume();
    }
}
