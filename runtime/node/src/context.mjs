// context.mjs - what a function can learn about the call that it serves.
import { AsyncLocalStorage } from 'node:async_hooks';
import package_ from '../index.cjs';
import { NotJson, toJson } from './value.mjs';

const PROGRESS_MAX = 1024;
const storage = new AsyncLocalStorage();
const shared = globalThis[Symbol.for('hookline-functions')];
shared.current = () => storage.getStore();

export const { Reply } = shared;
export const { context } = package_;
export const current = () => storage.getStore();
/** Runs `serve(context)` as the call that is being served, and what it starts as well. */
export const enter = (context, serve) => storage.run(context, serve, context);

/** One call, as context() tells of it. It stays readable after the call. */
export class Context {
    unfinished = {}; // what was printed without a line's end, by stream
    isOver = false;
    #isGone; // () => boolean
    #tell;
    #fields;
    #headers;
    #deadline;
    #abort;

    /** `fields`: names and values, each on a line; `deadline`: seconds since 1970, or 0. */
    constructor(runId, attempt, deadline, fields, isGone, tell) {
        this.runId = runId;
        this.attempt = attempt;
        this.#deadline = deadline;
        this.#fields = fields;
        this.#isGone = isGone;
        this.#tell = tell;
    }

    get deadline() {
        return this.#deadline ? new Date(this.#deadline * 1000) : undefined;
    }

    get headers() {
        return (this.#headers ??= headersOf(this.#fields));
    }

    get isCancelled() {
        return this.#isGone();
    }

    get signal() {
        if (!this.#abort) {
            this.#abort = new AbortController();
            if (this.#isGone()) this.#abort.abort();
        }
        return this.#abort.signal;
    }

    /** The caller has gone. */
    cancel() {
        this.#abort?.abort();
    }

    /** Bound, so that `{ progress }` can be taken out of it. */
    get progress() {
        return (value) => {
            const line = lineOf(value);
            if (!this.isOver) this.#tell(line);
        };
    }
}

function headersOf(fields) {
    const headers = Object.create(null);
    const parts = fields.split('\n');
    for (let i = 0; i + 1 < parts.length; i += 2) {
        const name = parts[i].toLowerCase();
        headers[name] = headers[name] === undefined ? parts[i + 1] : `${headers[name]}, ${parts[i + 1]}`;
    }
    return Object.freeze(headers);
}

/** The value as JSON in ASCII: it becomes a header field. */
function lineOf(value) {
    const line = jsonOf(value).replace(/[\x7f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
    if (line.length > PROGRESS_MAX)
        throw new RangeError(`progress(): the value has ${line.length} bytes as JSON, and ${PROGRESS_MAX} are allowed`);
    return line;
}

function jsonOf(value) {
    try {
        if (value === undefined) throw new NotJson('undefined');
        return toJson(value);
    } catch (error) {
        throw error instanceof NotJson ? new TypeError(`progress(): JSON has no form for ${error.message}`) : error;
    }
}
