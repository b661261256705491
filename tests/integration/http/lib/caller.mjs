// caller.mjs - a connection to the proxy: sends bytes as they are, keeps what comes back and how the
// connection ended, and reads responses with the strict reader.
import net from 'node:net';
import { once } from 'node:events';
import { LONGEST_EACH, inPieces } from './pieces.mjs';
import { Incomplete, readResponse } from './strict.mjs';

export class Caller {
    #woken = () => {};
    bytes = Buffer.alloc(0); // what came and has not been read
    all = Buffer.alloc(0); // what came
    closed = null; // 'fin' or 'reset'

    /** `isEach`: what is sent goes byte by byte, but for what is longer than any head here. */
    constructor(socket, isEach) {
        this.socket = socket;
        this.isEach = isEach;
        socket.on('data', (piece) => {
            this.all = Buffer.concat([this.all, piece]);
            this.#note(Buffer.concat([this.bytes, piece]), this.closed);
        });
        socket.on('end', () => this.#note(this.bytes, this.closed ?? 'fin'));
        socket.on('error', () => this.#note(this.bytes, this.closed ?? 'reset'));
        socket.on('close', () => this.#note(this.bytes, this.closed ?? 'fin'));
    }

    static async connect(port, isEach = false) {
        const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
        const caller = new Caller(socket, isEach);
        await once(socket, 'connect');
        return caller;
    }

    #note(bytes, closed) {
        this.bytes = bytes;
        this.closed = closed;
        this.#woken();
    }

    /** Resolves when something has changed; false: nothing did in `ms`. */
    async #change(ms) {
        let timer;
        const isChanged = await new Promise((resolve) => {
            this.#woken = () => resolve(true);
            timer = setTimeout(() => resolve(false), ms);
        });
        clearTimeout(timer);
        return isChanged;
    }

    send(bytes) {
        return this.isEach && bytes.length <= LONGEST_EACH
            ? this.sendEach(bytes)
            : this.sendAtOnce(bytes);
    }

    sendAtOnce(bytes) {
        return new Promise((resolve) => {
            if (this.socket.destroyed || this.socket.writableEnded) resolve();
            else this.socket.write(Buffer.from(bytes, 'latin1'), () => resolve());
        });
    }

    /** The same bytes, one at a time. */
    sendEach(bytes) {
        return inPieces(
            bytes,
            (piece) => this.sendAtOnce(piece),
            () => this.closed,
        );
    }

    /** FIN. */
    end() {
        this.socket.end();
    }

    close() {
        this.socket.destroy();
    }

    /** The next `n` bytes, or those that came before the end. */
    async take(n, ms = 5000) {
        while (this.bytes.length < n && !this.closed) if (!(await this.#change(ms))) break;
        const taken = this.bytes.subarray(0, n);
        this.bytes = this.bytes.subarray(n);
        return taken.toString('latin1');
    }

    /** The bytes up to and including `mark`, or those that came before the end. */
    async until(mark, ms = 5000) {
        while (!this.bytes.includes(mark) && !this.closed) if (!(await this.#change(ms))) break;
        const at = this.bytes.indexOf(mark);
        return this.take(at < 0 ? this.bytes.length : at + mark.length);
    }

    /** Waits until the proxy has closed; false: it has not. */
    async isClosed(ms = 5000) {
        while (!this.closed) if (!(await this.#change(ms))) return false;
        return true;
    }

    /**
     * The next response and the interim ones before it: `{ message, interim }`. `message` is null when
     * the connection ended before its last byte: then `head` is what its head said, if that came.
     * Throws Malformed, and an Error when nothing comes.
     */
    async response(method = 'GET', ms = 5000) {
        const interim = [];
        for (;;) {
            try {
                const { message, end } = readResponse(this.bytes, method, this.closed);
                this.bytes = this.bytes.subarray(end);
                if (message.endsConnection && (await this.#wasReset())) {
                    return { message: null, interim, head: message };
                }
                if (message.status >= 200 || message.status === 101) return { message, interim };
                interim.push(message);
            } catch (error) {
                if (!(error instanceof Incomplete)) throw error;
                if (this.closed) return { message: null, interim, head: this.#head() };
                if (!(await this.#change(ms))) throw new Error(`no answer in ${ms} ms`);
            }
        }
    }

    /**
     * Whether the end was a reset. libuv says that it was an end when bytes and a reset come together;
     * a write then fails, which it does not behind a FIN alone.
     */
    async #wasReset() {
        if (this.closed === 'fin' && !this.socket.writableEnded && !this.socket.destroyed) {
            const error = await new Promise((resolve) => this.socket.write('\n', resolve));
            if (error) this.closed = 'reset';
        }
        return this.closed === 'reset';
    }

    #head() {
        try {
            const end = this.bytes.indexOf('\r\n\r\n') + 4;
            return end < 4 ? null : readResponse(this.bytes.subarray(0, end), 'HEAD').message;
        } catch {
            return null;
        }
    }
}
