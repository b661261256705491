// host.mjs - runs the functions: takes calls from the server's thread and answers them.
// Promise: of each call exactly one answer; nothing is emitted ahead of a slow caller but a window; a generator is closed
// when its caller has gone.
// Not here: sockets and the queue (server.mjs).
import { BadBody, membersOf, textOf } from './json.mjs';
import { Context, Reply, current, enter } from './context.mjs';
import * as log from './log.mjs';
import { membersOfForm } from './upload.mjs';
import { NotJson, bytesOf, nameOf, toJson } from './value.mjs';

const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';
const WINDOW = 64 * 1024; // bytes that a call has on their way
const PIECE = 256 * 1024; // of a long body
const TURN = 32; // values of a generator that never waits, and then others have their turn

const isIterator = (value) => typeof value.next === 'function' && typeof value[Symbol.iterator] === 'function';

export class Host {
    #port;
    #endpoints;
    #settings;
    #gone; // Int32Array, by slot: whether the caller has gone
    #calls = new Map();

    constructor(port, endpoints, settings, gone) {
        this.#port = port;
        this.#endpoints = endpoints;
        this.#settings = settings;
        this.#gone = gone;
    }

    /** What a message of the server's thread brings: calls, or news of one. */
    take([kind, ...rest]) {
        if (kind === 'calls') {
            for (const call of rest) this.#serve(...call);
        } else {
            const [number, ...news] = rest;
            this.#calls.get(number)?.[kind](...news);
        }
    }

    #serve(number, slot, callee, runId, attempt, deadline, wantsEvents, fields, body) {
        const endpoint = this.#endpoints[callee];
        const call = new Call(number, endpoint.name, this.#settings, wantsEvents, {
            post: (message) => this.#port.postMessage(message),
            isGone: () => Atomics.load(this.#gone, slot) === 1,
            forget: () => this.#calls.delete(number),
        });
        this.#calls.set(number, call);
        call.context = new Context(
            runId,
            attempt,
            deadline,
            fields,
            () => call.isGone,
            (line) => call.progress(line),
        );
        call.context.call = call;
        enter(call.context, () => call.serve(endpoint, body));
    }
}

class Call {
    context;
    #number;
    #name;
    #settings;
    #wantsEvents;
    #home;
    #begin = performance.now();
    #isOver = false;
    #wasGone = false;
    #unsent = 0;
    #source; // of what is streamed
    #hasBegun = false; // the head of a stream of events
    #wake; // of a function that waits for room, or for the caller to go
    #values; // JSON texts, for callers that asked for no stream
    #collected = 0; // bytes

    constructor(number, name, settings, wantsEvents, home) {
        this.#number = number;
        this.#name = name;
        this.#settings = settings;
        this.#wantsEvents = wantsEvents;
        this.#home = home;
    }

    get isGone() {
        return this.#isOver ? this.#wasGone : this.#home.isGone();
    }

    // ---- news of the server's thread ----

    gone() {
        this.context.cancel();
        this.#source?.cancel();
        this.#wake?.();
    }

    room(n) {
        this.#unsent -= n;
        if (this.#unsent <= WINDOW) this.#wake?.();
    }

    // ---- the function ----

    serve(endpoint, body) {
        try {
            const members = Array.isArray(body)
                ? membersOfForm(body, endpoint.takes, endpoint.name)
                : membersOf(typeof body === 'string' ? body : textOf(body), endpoint.name);
            const wrong = endpoint.check?.(members);
            if (wrong !== undefined) throw new BadBody(422, wrong);
            const { run } = endpoint;
            const result = run(members, this.context);
            if (typeof result?.then === 'function') this.#await(result);
            else this.#answer(result);
        } catch (error) {
            this.fail(error);
        }
    }

    async #await(promise, status = 200, type = undefined) {
        try {
            const result = await promise;
            if (!this.#isOver) this.#answer(result, status, type);
        } catch (error) {
            this.fail(error);
        }
    }

    #answer(result, status = 200, type = undefined) {
        if (result instanceof Reply) {
            this.#answer(result.value, result.status, result.type);
            return;
        }
        const kind = typeof result;
        if (result === null || kind !== 'object') {
            if (kind === 'string' && type !== undefined)
                this.#sendBytes(status, type, Buffer.from(result)).catch((error) => this.fail(error));
            else this.#answerJson(status, result);
            return;
        }
        const work = this.#longAnswer(result, status, type);
        if (work) work.catch((error) => this.fail(error));
        else this.#answerJson(status, result);
    }

    /** Of what takes its time: bytes, a Response, what yields. Undefined: it is a value. */
    #longAnswer(result, status, type) {
        if (result instanceof Uint8Array || result instanceof ArrayBuffer || result instanceof DataView)
            return this.#sendBytes(status, type, bytesOf(result));
        if (result instanceof Response) return this.#sendResponse(result);
        if (result instanceof Blob)
            return result
                .arrayBuffer()
                .then((body) => this.#sendBytes(status, type ?? result.type, new Uint8Array(body)));
        if (typeof result[Symbol.asyncIterator] === 'function' || isIterator(result))
            return this.#stream(new Source(result), status, type);
        if (typeof result.then === 'function') return this.#await(result, status, type);
        return undefined;
    }

    #answerJson(status, value) {
        this.#answerText(status, toJson(value));
    }

    #answerText(status, json) {
        let text = json;
        if (this.#settings.envelope && status < 400) {
            const ms = Math.floor(performance.now() - this.#begin);
            text = `{"run_id":"${this.context.runId}","run_time_ms":${ms},"result":${json}}`;
        }
        this.#over('answer', status, JSON_TYPE, text);
    }

    async #sendBytes(status, type, bytes) {
        if (!isType(type || BYTES_TYPE)) throw new TypeError(`the content type ${JSON.stringify(type)} cannot be sent`);
        if (bytes.length <= PIECE || status === 204) {
            this.#over('answer', status, type || BYTES_TYPE, bytes.slice()); // these, and no more of what they lie in
            return;
        }
        this.#post('begin', false, status, [
            ['Content-Type', type || BYTES_TYPE],
            ['Content-Length', bytes.length],
        ]);
        this.#over((await this.#sendAll(bytes)) ? 'end' : 'done');
    }

    async #sendResponse(response) {
        if (response.status < 200) throw new TypeError(`a Response of status ${response.status} is no answer`);
        const fields = fieldsOf(response);
        if (response.body) {
            await this.#sendBody(new Source(response.body), response.status, fields, undefined);
            return;
        }
        const rest = fields.filter(([name]) => name !== 'content-length');
        const hasLength = response.status !== 204 && response.status !== 304; // RFC 9110 8.6
        this.#post('begin', false, response.status, hasLength ? [...rest, ['Content-Length', 0]] : rest);
        this.#over('end');
    }

    /** A body whose length only its author may know; `step`: what was taken from the source already. */
    async #sendBody(source, status, fields, step) {
        const [, said] = fields.find(([name]) => name === 'content-length') ?? [];
        const sayWrong = (than) => {
            throw new RangeError(`the Response's Content-Length is ${said}, and its body is ${than} than that`);
        };
        let sent = 0;
        this.#post('begin', false, status, fields);
        this.#source = source;
        try {
            for (step ??= await source.next(); !step.done; step = await source.next()) {
                const bytes = typeof step.value === 'string' ? Buffer.from(step.value) : bytesOf(step.value);
                if (!bytes) throw new TypeError(`a stream of bytes gave a ${nameOf(step.value)}`);
                sent += bytes.length;
                if (sent > said) sayWrong('longer'); // what is too much would be taken for the next answer
                if (!(await this.#sendAll(bytes))) break;
            }
        } finally {
            await source.close();
        }
        if (sent < said && !this.isGone) sayWrong('shorter');
        this.#over(this.isGone ? 'done' : 'end');
    }

    /** False: the caller has gone. */
    async #sendAll(bytes) {
        for (let at = 0; at < bytes.length; at += PIECE) {
            if (!(await this.#room())) return false;
            this.#send(bytes.slice(at, at + PIECE));
        }
        return true;
    }

    // ---- values one by one ----

    async #stream(source, status, type) {
        if (status !== 200) throw new RangeError("a generator's values go out with status 200, and no other");
        this.#source = source;
        try {
            let step = await source.next();
            if (!step.done && (type !== undefined || (source.isStream && bytesOf(step.value)))) {
                await this.#sendBody(source, 200, [['Content-Type', type ?? BYTES_TYPE]], step);
                return;
            }
            for (let count = 1; !step.done && (await this.#emit(step.value)); step = await source.next(), count++)
                if (count % TURN === 0) await new Promise((resolve) => setImmediate(resolve));
        } finally {
            await source.close();
        }
        if (this.isGone) this.#over('done');
        else this.#endValues();
    }

    /** False: the caller has gone. */
    async #emit(value) {
        if (this.isGone) return false;
        if (this.#wantsEvents) {
            const text =
                typeof value === 'string' ? (value.toWellFormed?.() ?? Buffer.from(value).toString()) : toJson(value);
            this.#beginEvents();
            this.#send(`data: ${text.replace(LINE_END, '\ndata: ')}\n\n`);
            return this.#unsent <= WINDOW || this.#room();
        }
        const json = toJson(value);
        this.#collected += Buffer.byteLength(json) + 1;
        if (this.#collected + 1 > this.#settings.maxBody)
            throw new TooLong("The function's values together are longer than HOOKLINE_FUNCTION_MAX_BODY allows.");
        (this.#values ??= []).push(json);
        return true;
    }

    #beginEvents() {
        if (this.#hasBegun) return;
        this.#hasBegun = true;
        this.#post('begin', true, 200, []);
    }

    #endValues() {
        if (this.#wantsEvents) {
            this.#beginEvents();
            this.#over('end');
        } else this.#answerText(200, `[${this.#values ?? ''}]`);
    }

    // ---- the way to the server's thread ----

    /** True as soon as there is room for more on the way to the caller; false: he has gone. */
    async #room() {
        while (this.#unsent > WINDOW && !this.isGone && !this.#isOver)
            await new Promise((resolve) => (this.#wake = resolve));
        return !this.isGone && !this.#isOver;
    }

    #send(bytes) {
        this.#unsent += typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;
        this.#post('piece', bytes);
    }

    #post(kind, ...rest) {
        this.#home.post([kind, this.#number, ...rest]);
    }

    progress(line) {
        if (!this.#isOver) this.#post('progress', line);
    }

    /** The call's last message. */
    #over(kind, ...rest) {
        if (this.#isOver) return;
        this.#wasGone = this.isGone;
        this.#isOver = true;
        this.context.isOver = true;
        log.finishLines(this.context);
        this.#post(kind, ...rest);
        this.#home.forget();
        this.#wake?.();
    }

    // ---- errors ----

    /** What was thrown becomes the call's answer; once it is answered, a line of the log. */
    fail(error) {
        const name = this.#name;
        if (error instanceof BadBody) {
            this.#over('problem', error.status, error.message);
        } else if (error instanceof TooLong) {
            this.#over('problem', 500, error.message);
        } else if (error instanceof NotJson) {
            const detail = `${name}() gave a value that is not JSON: ${error.message}`;
            log.write('error', detail, {}, this.context.runId);
            this.#over('problem', 500, detail);
        } else if (this.isGone && (this.#isOver || isAbort(error))) {
            this.#over('done');
        } else {
            const text = textOfError(error);
            log.writeError(`${name}() threw ${kindOfError(error)}`, error, { error: text }, this.context.runId);
            this.#over('problem', 500, text);
        }
    }
}

/** The values together are longer than is allowed. */
class TooLong extends Error {}

const LINE_END = /\r\n|\r|\n/g;

/** An iterator, or async iterator, that is closed once. */
class Source {
    #iterator;
    #from;
    #isDone = false;

    constructor(from) {
        this.#from = from;
        this.#iterator = from[Symbol.asyncIterator]?.() ?? from[Symbol.iterator]();
        /** Whether what it gives may be a body's bytes. */
        this.isStream = from instanceof ReadableStream || typeof from.pipe === 'function';
    }

    async next() {
        try {
            const step = await this.#iterator.next();
            this.#isDone ||= step.done;
            return step;
        } catch (error) {
            this.#isDone = true;
            throw error;
        }
    }

    /** Its finally has run when this has. */
    async close() {
        if (this.#isDone) return;
        this.#isDone = true;
        await this.#iterator.return?.();
    }

    /** The caller has gone while it was waited for. A generator that waits is closed when it goes on. */
    cancel() {
        if (typeof this.#from.destroy === 'function') this.#from.destroy();
        else if (this.#from[Symbol.asyncIterator]) this.close().catch(() => {});
    }
}

const isAbort = (error) => error?.name === 'AbortError' || error?.code === 'ABORT_ERR';

/** What can stand as a field's value. */
const isType = (type) => type.length <= 256 && /^[\t\x20-\x7e]+$/.test(type);

// What belongs to one connection, or is this host's own to say; and of what fetch() has decoded already, how it was coded.
const HOP = new Set(
    'connection keep-alive proxy-connection te trailer transfer-encoding upgrade date x-request-id'.split(' '),
);
const CODED = new Set(['content-encoding', 'content-length']);
const isNoLength = (name, value) => name === 'content-length' && !/^[0-9]{1,15}$/.test(value);

function fieldsOf(response) {
    const isFetched = response.url !== '';
    const fields = [];
    for (const [name, value] of response.headers)
        if (!HOP.has(name) && name !== 'set-cookie' && !(isFetched && CODED.has(name)) && !isNoLength(name, value))
            fields.push([name, value]);
    const cookies = response.headers.getSetCookie?.() ?? [];
    if (cookies.length > 0) fields.push(['set-cookie', cookies]);
    return fields;
}

export function kindOfError(error) {
    try {
        if (error == null) return String(error);
        return error instanceof Error ? `${error.name}` : `a ${nameOf(error)}`;
    } catch {
        return 'an error that cannot be shown';
    }
}

export function textOfError(error) {
    try {
        return error instanceof Error
            ? `${error.name}${error.message ? `: ${error.message}` : ''}`
            : `The function threw ${kindOfError(error)}${error == null ? '' : `: ${String(error)}`}`;
    } catch {
        return 'The function threw an error that cannot be shown.';
    }
}

/** What nobody caught, of the call that is being served: its answer, where it has none yet. True: it was one's. */
export function failCurrent(error) {
    const call = current()?.call;
    call?.fail(error);
    return call !== undefined;
}
