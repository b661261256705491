// events.mjs - event streams as a client reads them (WHATWG HTML 9.2.6, to the letter), what hookline adds to kept ones
// (contract 14), and a client that follows a run. Streams are handled as byte strings (latin1): a cut may go anywhere.
import { assertCallDescribed } from './openapi.mjs';
import { connect, request } from './raw.mjs';

export const eventsPath = (id) => `/v2/projects/p/apps/a/runs/${id}/events`;
export const SSE = { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked' };

/** A client's parser: pieces in, events out. It begins with the id that the client had when it connected, as browsers do. */
export class EventReader {
    #line = '';
    #isAfterCr = false;
    #isFirst = true;
    #data = '';
    #type = '';
    #id;
    /** `{ type, data, id }` of each event that was dispatched. */
    events = [];
    /** The comments' texts. */
    comments = [];
    retry;

    constructor(lastEventId = '') {
        this.lastEventId = this.#id = lastEventId;
    }

    /** `text`: a string of bytes. */
    feed(text) {
        for (let from = 0; from < text.length; ) {
            if (this.#isAfterCr && text[from] === '\n') from++;
            if (from > 0 || text[from] !== '\n') this.#isAfterCr = false;
            const end = endOfLine(text, from);
            this.#line += text.slice(from, end);
            if (end === text.length) break;
            this.#isAfterCr = text[end] === '\r';
            this.#endLine();
            from = end + 1;
        }
        return this;
    }

    #endLine() {
        let line = this.#line;
        this.#line = '';
        if (this.#isFirst && line.startsWith('\xef\xbb\xbf')) line = line.slice(3);
        this.#isFirst = false;
        if (line === '') return this.#dispatch();
        const colon = line.indexOf(':');
        if (colon === 0) return void this.comments.push(line.slice(1));
        const name = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
        if (name === 'event') this.#type = value;
        else if (name === 'data') this.#data += `${value}\n`;
        else if (name === 'id' && !value.includes('\0')) this.#id = value;
        else if (name === 'retry' && /^[0-9]+$/.test(value)) this.retry = Number(value);
    }

    #dispatch() {
        this.lastEventId = this.#id;
        const [type, data] = [this.#type, this.#data];
        this.#type = this.#data = '';
        if (data === '') return;
        this.events.push({ type: type || 'message', data: data.slice(0, -1), id: this.#id });
    }

    /** True where a client would lose nothing of what it has begun to read. */
    get isBetween() {
        return this.#line === '' && this.#data === '' && this.#type === '' && this.#id === this.lastEventId;
    }
}

function endOfLine(text, from) {
    for (let at = from; at < text.length; at++) {
        const c = text.charCodeAt(at);
        if (c === 10 || c === 13) return at;
    }
    return text.length;
}

/** What a client makes of a whole stream: its events, and after each block the id it would name. */
export function parse(text, lastEventId) {
    return new EventReader(lastEventId).feed(text);
}

/** The lines of a whole stream with their ends, what is unfinished at its end too. */
const linesOf = (text) => text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];

/** The blocks of a stream, each with its empty line; the unfinished rest is the last one. */
function blocksOf(text) {
    const blocks = [[]];
    for (const line of linesOf(text)) {
        blocks.at(-1).push(line);
        if (/^[\r\n]/.test(line)) blocks.push([]);
    }
    return blocks;
}

const valuesOf = (lines, name) =>
    lines
        .filter((line) => /[\r\n]$/.test(line) && new RegExp(`^${name}(?::|[\r\n])`).test(line))
        .map((line) => line.replace(/[\r\n]+$/, '').replace(/^[^:]*(: ?)?/, ''));

/**
 * The app's bytes with the ids that a kept stream has on its way out: `{ text, blocks, added, last }`. `blocks`: of each
 * that has ended, where it ends in the text, the id a client has of it, and whether it is an event. `added`: from where
 * to where each line stands that is not the app's. `before`, `last`: the last ordinal before it and in it.
 */
export function numbered(bytes, before = 0) {
    let [text, n] = ['', before];
    const [blocks, added] = [[], []];
    for (const [i, lines] of blocksOf(bytes).entries()) {
        const named = i === 0 ? [lines[0]?.replace(/^\xef\xbb\xbf/, '') ?? '', ...lines.slice(1)] : lines;
        const isWhole = /^[\r\n]/.test(lines.at(-1) ?? '');
        const own = valuesOf(named, 'id').filter((value) => !value.includes('\0')).at(-1);
        const hasData = valuesOf(named, 'data').length > 0;
        let id = own;
        text += lines.slice(0, isWhole ? -1 : undefined).join('');
        if (isWhole && hasData) {
            n++;
            const line = own ? '' : `id: ${n}${/(\r\n|\r|\n)$/.exec(lines.at(-2))[1]}`;
            if (!own) id = String(n);
            if (!own) added.push([text.length, text.length + line.length]);
            text += line;
        }
        if (isWhole) text += lines.at(-1);
        if (isWhole) blocks.push({ end: text.length, id, isEvent: hasData });
    }
    return { text, blocks, added, last: n };
}

/**
 * Where a follower of that stream begins who names `id`: after the first block that has it. `{ at, isOver }`: the place
 * in the text, and whether no event follows it.
 */
export function placeAfter({ blocks }, id) {
    if (id === '') return { at: 0, isOver: false };
    const found = blocks.findIndex((block) => block.id === id);
    if (found < 0) return null;
    return { at: blocks[found].end, isOver: !blocks.slice(found + 1).some(({ isEvent }) => isEvent) };
}

/** Somebody who follows a run over a connection of his own. */
export class Follower {
    constructor(client, lastEventId) {
        this.client = client;
        this.reader = new EventReader(lastEventId);
        /** All bytes that came, as a byte string. */
        this.text = '';
    }

    async #begin(method, path) {
        this.head = await this.client.responseHead(method);
        this.status = this.head.status;
        const headers = Object.fromEntries(this.head.fields.map(([name, value]) => [name.toLowerCase(), value]));
        assertCallDescribed(method, path, { status: this.status, headers, body: '' });
        this.state = this.head.get('x-run-state');
        this.pieces = this.client.pieces(this.head);
        return this;
    }

    static async open(client, path, { lastEventId = '', headers = {}, token, method = 'GET' } = {}) {
        const follower = new Follower(client, lastEventId);
        await client.send(
            request(method, path, {
                Accept: 'text/event-stream',
                ...(lastEventId !== '' && { 'Last-Event-ID': lastEventId }),
                ...(token && { Authorization: `Bearer ${token}` }),
                ...headers,
            }),
        );
        return follower.#begin(method, path);
    }

    /** The next piece of the stream, as a byte string; undefined at its end. */
    async piece() {
        const { value } = await this.pieces.next();
        if (value === undefined) return undefined;
        const text = value.toString('latin1');
        this.text += text;
        this.reader.feed(text);
        return text;
    }

    /** Reads until `isEnough(reader)`; false when the stream ended before that. */
    async until(isEnough) {
        while (!isEnough(this.reader)) if ((await this.piece()) === undefined) return false;
        return true;
    }

    /** Waits for `n` events in all, and answers them. */
    async events(n) {
        if (!(await this.until(({ events }) => events.length >= n)))
            throw new Error(`the stream ended after ${this.reader.events.length} events, ${n} were waited for`);
        return this.reader.events;
    }

    /** Everything to the end of the stream, as a byte string. */
    async rest() {
        while ((await this.piece()) !== undefined);
        return this.text;
    }

    /** The body of a refusal. */
    async problem() {
        return JSON.parse(await this.rest());
    }

    close() {
        this.client.close();
    }
}

/** `follow(id, options)` on a listener: the run listener's port, or `{ port }`, `{ path }` of another. */
export function followerOf(t, where) {
    return async (id, { query = {}, ...options } = {}) => {
        const search = new URLSearchParams(query).toString();
        const path = eventsPath(id) + (search && `?${search}`);
        return Follower.open(await connect(t, where, options), path, options);
    };
}
