// sink.mjs - where the log's lines go: the standard error, from both of the host's threads.
// Promise: a line is written whole, in its order, and nobody ever waits: what the reader of a pipe does not take is kept
// up to a bound and tried again, what is beyond that is dropped and counted.
import fs from 'node:fs';

const STDERR = 2;
const MOST_KEPT = 1024 * 1024; // bytes
const RETRY_MS = 20;

/** An own description of the standard error, so that not waiting is our business alone. A socket has none. */
function openNonBlocking() {
    try {
        if (!fs.fstatSync(STDERR).isFIFO()) return STDERR;
        return fs.openSync('/proc/self/fd/2', fs.constants.O_WRONLY | fs.constants.O_NONBLOCK);
    } catch {
        return STDERR;
    }
}

export class Sink {
    #fd = openNonBlocking();
    #owner; // of the line that is partly written: 0, or a thread's number
    #thread;
    #kept = []; // Buffers
    #size = 0;
    #dropped = 0;
    #timer;
    #tellDropped;

    /** `owner`: an Int32Array that the threads share; `tellDropped(count)` gives the line that says so. */
    constructor(owner, thread, tellDropped) {
        this.#owner = owner;
        this.#thread = thread;
        this.#tellDropped = tellDropped;
    }

    put(line) {
        if (this.#size > MOST_KEPT) this.#dropped++;
        else this.#keep(this.#sayDropped() + line);
        this.#pump();
    }

    /** What can be written within `ms`, at the process's end. */
    finish(ms) {
        const end = Date.now() + ms;
        const never = new Int32Array(new SharedArrayBuffer(4));
        while (!this.#pump() && Date.now() < end) Atomics.wait(never, 0, 0, RETRY_MS);
    }

    #keep(line) {
        const bytes = Buffer.from(line);
        this.#kept.push(bytes);
        this.#size += bytes.length;
    }

    /** The line that says how many were dropped since the last one did. */
    #sayDropped() {
        const count = this.#dropped;
        this.#dropped = 0;
        return count > 0 ? this.#tellDropped(count) : '';
    }

    /** Whether all is written. */
    #pump() {
        const before = Atomics.compareExchange(this.#owner, 0, 0, this.#thread);
        if (before === 0 || before === this.#thread) {
            while (this.#kept.length > 0 && this.#writeFirst());
            if (this.#kept.length === 0 && this.#dropped > 0) {
                this.#keep(this.#sayDropped());
                this.#writeFirst();
            }
            // In the middle of a line nobody else may write.
            if (this.#kept.length === 0 || !this.#kept[0].isPartial) Atomics.store(this.#owner, 0, 0);
        }
        if (this.#kept.length === 0) return true;
        this.#timer ??= setTimeout(() => {
            this.#timer = undefined;
            this.#pump();
        }, RETRY_MS).unref();
        return false;
    }

    /** False: not now. */
    #writeFirst() {
        const bytes = this.#kept[0];
        let n;
        try {
            n = fs.writeSync(this.#fd, bytes);
        } catch (error) {
            if (error.code === 'EAGAIN') return false;
            n = bytes.length; // nobody reads it any more
        }
        this.#size -= n;
        if (n === bytes.length) {
            this.#kept.shift();
            return true;
        }
        const rest = bytes.subarray(n);
        rest.isPartial = true;
        this.#kept[0] = rest;
        return false;
    }
}
