// load.mjs - as many calls in each second as said, whether they are answered or not, on kept connections; where the machine
// gives less, as many as keep 300 inside. One call in a hundred takes 1 to 3 s, the others 5 ms. By plain sockets: node:http
// would take most of a processor.
//
//   node load.mjs PORT RATE      until SIGTERM, and then until all are answered; prints what came of them, as JSON
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const TICK_MS = 5;
const INSIDE_MAX = 300;
const HEAD = /^HTTP\/1\.1 (\d{3}) [^]*?\r\n\r\n/;
const LENGTH = /\r\ncontent-length: (\d+)\r\n/i;

class Load {
    calls = 0;
    answered = 0;
    failed = [];
    ms = [];
    #idle = [];
    #inside = 0;
    #isOver = false;

    constructor(port, rate) {
        Object.assign(this, { port, rate });
        this.ended = this.#play();
    }

    async #play() {
        const began = performance.now();
        let due = 0;
        for (let last = began, now; !this.#isOver; last = now) {
            await sleep(TICK_MS);
            now = performance.now();
            due = Math.min(due + ((now - last) * this.rate) / 1000, INSIDE_MAX - this.#inside);
            for (; due >= 1; due--) this.#call(this.calls++);
        }
        this.took = (performance.now() - began) / 1000;
        while (this.#inside > 0) await sleep(TICK_MS);
        for (const socket of this.#idle) socket.destroy();
    }

    stop() {
        this.#isOver = true;
        return this.ended;
    }

    #call(n) {
        const ms = n % 100 === 0 ? 1000 + ((n / 100) % 20) * 100 : 5;
        const socket = this.#idle.pop() ?? this.#connect();
        const body = `{"ms":${ms}}`;
        socket.call = { ms, body, began: performance.now(), text: '' };
        this.#inside++;
        socket.write(`POST /v4/p/words/run HTTP/1.1\r\nHost: words\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    }

    #connect() {
        const socket = net.connect(this.port, '127.0.0.1').setNoDelay().setEncoding('latin1');
        let error = 'closed';
        socket.on('data', (piece) => this.#take(socket, piece));
        socket.on('error', ({ message }) => (error = message));
        socket.on('close', () => {
            if (socket.call) this.#fail(socket, error);
            else this.#idle = this.#idle.filter((one) => one !== socket);
        });
        return socket;
    }

    #take(socket, piece) {
        const { call } = socket;
        if (!call) return;
        call.text += piece;
        const head = HEAD.exec(call.text);
        if (!head) return;
        const body = call.text.slice(head[0].length);
        const length = Number(LENGTH.exec(head[0])?.[1] ?? NaN);
        if (body.length < length) return;
        if (head[1] !== '200' || body !== call.body) {
            this.#fail(socket, call.text);
            socket.destroy();
            return;
        }
        socket.call = null;
        this.#inside--;
        this.answered++;
        this.ms.push(performance.now() - call.began - call.ms);
        this.#idle.push(socket);
    }

    #fail(socket, why) {
        const { ms, began } = socket.call;
        socket.call = null;
        this.#inside--;
        this.failed.push({ at: new Date().toISOString(), ms, after: Math.round(performance.now() - began), why: why.slice(0, 300) });
    }

    /** Ms beyond the app's own. */
    at(part) {
        const sorted = Float64Array.from(this.ms).sort();
        return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
    }
}

const load = new Load(...process.argv.slice(2).map(Number));
process.once('SIGTERM', async () => {
    await load.stop();
    const { calls, answered, failed, took } = load;
    console.log(JSON.stringify({ calls, answered, took, p50: load.at(0.5), p99: load.at(0.99), failed: failed.length, first: failed.slice(0, 20) }));
});
