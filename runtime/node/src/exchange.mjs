// exchange.mjs - one request that is a call, and its answer on the way to the caller.
// Promise: the author's thread is told of bytes that the socket has taken, and so never has more than a window of them
// here; a stream that fails ends in a cut connection, so that nobody takes it for whole; of the values that say how far
// a call is one waits at most, and none follows the answer's head.
// Not here: the queue (server.mjs).
import { phraseOf, problemOf } from './problem.mjs';
import { wantsEvents } from './triage.mjs';

const WRITE_TIMEOUT_MS = 300_000; // a proxy before us has a closer look at slow callers
const PROGRESS_EVERY_MS = 500;
const CREDIT = 16 * 1024; // bytes that are told at once
const SHORT_BODY = 64 * 1024; // is read here; a longer one would keep others waiting

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class Exchange {
    number;
    slot;
    takenAt;
    status = 0;
    body;
    form; // in place of a body
    held = 0;
    isGone = false;
    #request;
    #response;
    #home;
    #callee;
    #credit = 0;
    #unsent = 0; // pieces
    #isWriting = false; // something is on its way, or will be when the answers before it are
    #progress; // the newest value that has not gone out
    #pace; // a timer
    #isUnread = false; // the caller has not taken the last value

    constructor(request, response, runId, name, callee, home) {
        this.#request = request;
        this.#response = response;
        this.#home = home;
        this.#callee = callee;
        this.runId = runId;
        this.name = name;
        response.on('close', this.#onClose);
        if (!response.socket) this.#awaitTurn();
        response.on('error', () => {}); // 'close' follows
    }

    /** The answer to an earlier request of the connection is not over: Node tells nobody who waits so that it has closed. */
    #awaitTurn() {
        const { socket } = this.#request;
        socket.setMaxListeners(0).once('close', this.#onClose);
        this.#response.once('socket', () => {
            socket.off('close', this.#onClose);
            if (this.#isWriting) this.#watchWriting();
        });
    }

    #onClose = () => {
        clearTimeout(this.#pace);
        if (this.isGone || this.#response.writableFinished) return;
        this.isGone = true;
        this.#home.onGone(this);
    };

    get socket() {
        return this.#request.socket;
    }

    destroy() {
        this.#response.destroy();
    }

    /** It was refused: whoever refused it answers. */
    abandon() {
        this.isGone = true;
        this.#response.off('close', this.#onClose);
    }

    /** The call, for the author's thread. */
    handOver() {
        const { headers, rawHeaders } = this.#request;
        let { body } = this;
        const transfer = [];
        this.body = undefined;
        if (this.form) body = this.form.parts;
        else if (body.length <= SHORT_BODY) {
            try {
                body = strict.decode(body);
            } catch {
                body = new Uint8Array(body); // the other side says what is wrong
            }
        } else {
            if (body.byteLength !== body.buffer.byteLength) body = new Uint8Array(body);
            transfer.push(body.buffer);
        }
        const attempt = /^[1-9][0-9]{0,8}$/.test(headers['x-run-attempt'] ?? '') ? Number(headers['x-run-attempt']) : 1;
        const deadline = /^[1-9][0-9]{0,9}$/.test(headers['x-run-deadline'] ?? '')
            ? Number(headers['x-run-deadline'])
            : 0;
        const message = [this.number, this.slot, this.#callee, this.runId, attempt, deadline];
        message.push(wantsEvents(headers.accept), rawHeaders.join('\n'), body);
        return { message, transfer };
    }

    // ---- what the author's thread says; the names of the messages ----

    /** A whole answer, and the end of the call. */
    answer(status, type, body) {
        this.#flushProgress();
        this.status = status;
        if (!this.isGone) {
            const isEmpty = status === 204;
            const head = this.#head();
            if (!isEmpty) {
                if (body.length > 0) head['Content-Type'] = type;
                head['Content-Length'] = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
            }
            this.#watchWriting();
            this.#response.writeHead(status, phraseOf(status), head);
            this.#response.end(isEmpty ? undefined : body);
        }
        this.#home.release(this);
    }

    /** problem+json, in place of an answer; in a stream an event and the cut. */
    problem(status, detail) {
        const problem = problemOf(status, detail, this.runId);
        if (!this.#response.headersSent) {
            this.answer(status, 'application/problem+json', problem);
            return;
        }
        this.status = status;
        if (!this.isGone) this.#cut(this.isEvents ? `event: error\ndata: ${problem}\n\n` : undefined);
        this.#home.release(this);
    }

    /** The head of a stream: of events, or of the bytes of a body whose length nobody knows. */
    begin(isEvents, status, fields) {
        this.#flushProgress();
        this.isEvents = isEvents;
        this.status = status;
        if (this.isGone) return;
        const head = this.#head();
        if (isEvents) {
            head['Cache-Control'] = 'no-cache';
            head['X-Accel-Buffering'] = 'no';
            fields = [['Content-Type', 'text/event-stream; charset=utf-8']];
        }
        for (const [name, value] of fields) {
            if (name === 'cache-control') delete head['Cache-Control']; // the author knows better
            head[name] = value;
        }
        this.#response.writeHead(status, phraseOf(status), head);
        this.#response.flushHeaders();
    }

    /** A part of it. */
    piece(bytes) {
        if (this.isGone) return;
        const n = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;
        this.#unsent++;
        this.#watchWriting();
        this.#response.write(bytes, (error) => {
            this.#watchWriting(--this.#unsent === 0);
            if (!error) this.#giveBack(n);
        });
    }

    /** Its end, and that of the call. */
    end() {
        if (!this.isGone) this.#response.end();
        this.#home.release(this);
    }

    /** Nobody waits any more. */
    done() {
        this.#home.release(this);
    }

    /** How far it is: the newest value goes out at once, the next ones twice a second. */
    progress(line) {
        if (this.isGone || this.#response.headersSent || this.#request.httpVersion === '1.0') return;
        this.#progress = line;
        if (this.#pace === undefined) this.#sendProgress();
    }

    // ---- inside ----

    #head() {
        const head = { 'Cache-Control': 'no-store', 'X-Request-Id': this.runId };
        if (this.#home.isStopping()) head.Connection = 'close';
        return head;
    }

    /** The host stops: the answer says that its connection ends, or is followed by the end. */
    closesAfter() {
        const { socket } = this.#response;
        if (!this.#response.headersSent) this.#response.shouldKeepAlive = false;
        else this.#response.once('finish', () => socket?.destroySoon()); // its head said nothing of it
    }

    /** While something is on its way the caller has to take of it; where nobody listens for a time-out, Node closes. */
    #watchWriting(isOver = false) {
        this.#isWriting = !isOver;
        this.#response.socket?.setTimeout(isOver ? 0 : WRITE_TIMEOUT_MS);
    }

    #giveBack(n) {
        this.#credit += n;
        if (this.#credit < CREDIT) return;
        this.#home.post(['room', this.number, this.#credit]);
        this.#credit = 0;
    }

    #cut(last) {
        const { socket } = this.#response;
        if (last !== undefined) this.#response.write(last, () => socket?.destroySoon());
        else socket?.destroySoon();
    }

    #flushProgress() {
        clearTimeout(this.#pace);
        this.#pace = undefined;
        this.#writeProgress();
    }

    #sendProgress() {
        this.#pace = setTimeout(() => {
            this.#pace = undefined;
            if (this.#progress !== undefined) this.#sendProgress();
        }, PROGRESS_EVERY_MS);
        if (!this.#isUnread) this.#writeProgress();
    }

    /** An interim response (RFC 8297) with a field of our own, which no API of Node's writes. */
    #writeProgress() {
        const { socket } = this.#response;
        if (this.#progress === undefined || !socket || this.isGone || this.#response.headersSent) return;
        this.#isUnread = true;
        socket.write(
            `HTTP/1.1 103 Early Hints\r\nX-Run-Progress: ${this.#progress}\r\n\r\n`,
            'latin1',
            () => (this.#isUnread = false),
        );
        this.#progress = undefined;
    }
}
