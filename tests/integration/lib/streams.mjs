// streams.mjs - the beginning of a test of kept streams: a stage whose app's streams the test writes itself, piece by piece.
import assert from 'node:assert/strict';
import { Follower, SSE, followerOf } from './events.mjs';
import { connect, request } from './raw.mjs';
import { control } from './rest.mjs';
import { RUN, shared, stage } from './stage.mjs';
import { gate, until } from './until.mjs';

export const STORES = { memory: { HOOKLINE_STORE: 'memory' }, sqlite: {} };
export const KEEP_ALL = { HOOKLINE_STREAM_KEEP: 'all', HOOKLINE_SSE_HEARTBEAT: '0' };
export const runPath = (id) => `/v2/projects/p/apps/a/runs/${id}`;

const bytes = (text) => Buffer.from(text, 'latin1');

/** One call inside the app. */
class Inside {
    isGone = false;
    #over = gate();

    constructor(exchange) {
        this.exchange = exchange;
        this.over = this.#over.promise;
        exchange.gone.then(() => (this.isGone = true));
    }

    get id() {
        return this.exchange.id;
    }

    /** The head of an event stream. */
    begin(fields = {}, status = 200) {
        return this.exchange.respond(status, { ...SSE, ...fields });
    }

    /** A byte string, in a chunk of its own. */
    send(text) {
        return this.exchange.chunk(bytes(text));
    }

    async end() {
        await this.exchange.lastChunk();
        this.#over.open();
    }

    /** Another answer, whole. */
    async answer(...args) {
        await this.exchange.send(...args);
        this.#over.open();
    }

    reset() {
        this.exchange.reset();
        this.#over.open();
    }
}

/** An app that answers as the test says. */
export class Script {
    calls = [];

    app = async (exchange) => {
        await exchange.body();
        const inside = new Inside(exchange);
        this.calls.push(inside);
        await Promise.race([inside.over, exchange.gone]);
    };

    /** The call that came as the nth, counted from 0. */
    call(n = 0) {
        return until(`call ${n} is inside the app`, () => this.calls[n]);
    }
}

/** As stage(), with a Script for an app unless there is another, and what tests of streams need. */
export const streamStage = (t, options) => begin(stage, t, options);

/** The same, as shared(). */
export const sharedStreams = (t, options) => begin(shared, t, options);

async function begin(kind, t, { env = {}, ...options } = {}) {
    const script = new Script();
    const all = await kind(t, { app: script.app, env: { ...KEEP_ALL, ...env }, ...options });
    const ask = control({ dataDir: env.HOOKLINE_DATA_DIR ?? all.sidecar.dataDir });
    return {
        ...all,
        script,
        ask,
        /** `follow(id, options)`: see Follower.open. */
        follow: followerOf(t, all.sidecar),
        show: async (id) => (await ask('GET', runPath(id))).json(),
        /** Waits for a run's end and answers its record. */
        ended: (id) =>
            until('it has ended', async () => {
                const record = (await ask('GET', runPath(id))).json();
                return ['success', 'failure', 'cancelled'].includes(record.state) && record;
            }),
        /** An asynchronous run's id. */
        begin: async (query = {}, rest = {}) => {
            const answer = await all.call(RUN, { query: { async: 'true', ...query }, body: '{}', ...rest });
            assert.equal(answer.status, 202, answer.text);
            return answer.id;
        },
        /** A synchronous call whose stream the test reads: a Follower, with `id` once `answered()` is. */
        callStream: (options) => callStream(t, all.sidecar, options),
    };
}

/** A call whose answer is read like a follower's. `answered()` waits for its head. */
export async function callStream(t, sidecar, { path = RUN, method = 'POST', fields = {}, body = '{}' } = {}) {
    const client = await connect(t, sidecar);
    const caller = new Follower(client);
    await client.send(request(method, path, { Accept: 'text/event-stream', ...fields }, body));
    caller.answered = async () => {
        caller.head = await client.responseHead(method);
        caller.status = caller.head.status;
        caller.id = caller.head.get('x-request-id');
        caller.pieces = client.pieces(caller.head);
        return caller;
    };
    return caller;
}

/** `n` events, and what a client gets of them. */
export const events = (from, to) => {
    let text = '';
    for (let i = from; i <= to; i++) text += `data: ${i}\n\n`;
    return text;
};
export const withIds = (from, to) => {
    let text = '';
    for (let i = from; i <= to; i++) text += `data: ${i}\nid: ${i}\n\n`;
    return text;
};
