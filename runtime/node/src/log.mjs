// log.mjs - the log: one line for each record, as JSON or (on a terminal) as text.
// What goes there: the host's own lines, and what the author's code prints. Each line that belongs to a call carries its
// run_id. What was printed cannot forge a line or drive a terminal: control characters are escaped as hookline does it.
import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { Sink } from './sink.mjs';

const LEVELS = { debug: 0, info: 1, warn: 2, error: 3 };
const END_MS = 1000;
const LINE_MAX = 64 * 1024; // a longer line of output is cut into several, another text is cut off
const OWN_FRAME = /node:internal|node:async_hooks|Worker\.emit \(node:events/;
const HERE = new URL('..', import.meta.url).href;
const HERE_PATH = fileURLToPath(HERE);

// C0, DEL, C1, line and paragraph separators, what turns the reading direction, halves of surrogate pairs.
const UNSAFE = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;
const SHORT = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const WORD = /^[!-<>-[\]-~]+$/;

let least = LEVELS.info;
let isJson = true;
let sink;
let current = () => undefined;

const escape = (c) => SHORT[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
const cut = (text) => (text.length <= LINE_MAX ? text : `${text.slice(0, LINE_MAX - 1)}\u2026`);

/** From here on lines are written. `serving()` gives the context of the call that is being served, if there is one. */
export function start({ logLevel, logFormat }, owner, thread, serving) {
    least = LEVELS[logLevel];
    isJson = logFormat === 'json';
    current = serving;
    sink = new Sink(owner, thread, (lines) =>
        lineOf('warn', 'the log was not read: lines were dropped', { lines }, undefined),
    );
}

/** One line, if it is of that level's worth. */
export function write(level, message, fields = {}, runId = current()?.runId) {
    if (LEVELS[level] >= least) sink.put(lineOf(level, message, fields, runId));
}

/** An error and its stack, without the frames that are the host's own. */
export function writeError(message, error, fields = {}, runId = current()?.runId) {
    const traceback = cut(stackOf(error));
    if (isJson) {
        write('error', message, { ...fields, traceback }, runId);
    } else {
        const text = traceback.replace(UNSAFE, (c) => (c === '\n' ? c : escape(c)));
        sink.put(`${lineOf('error', message, fields, runId)}${text}\n`);
    }
}

/** A frame of this host, or of what lies between it and the author's code. */
const isOwn = (line) =>
    /^\s+at /.test(line) && (line.includes(HERE) || line.includes(HERE_PATH) || OWN_FRAME.test(line));

/** As Node prints it, with the errors behind it. */
export function stackOf(error) {
    let text = '';
    try {
        for (let one = error, depth = 0; (one !== undefined || depth === 0) && depth < 5; one = one?.cause, depth++) {
            const said = one instanceof Error ? String(one.stack ?? one) : `thrown: ${inspect(one)}`;
            text += `${depth ? '\nCaused by: ' : ''}${said}`;
            for (const each of one instanceof AggregateError ? one.errors.slice(0, 5) : [])
                text += `\nOne of: ${each?.stack ?? inspect(each)}`;
        }
    } catch {
        text = '(it cannot be shown)';
    }
    return text
        .split('\n')
        .filter((line) => !isOwn(line))
        .join('\n');
}

/** Returns when what was logged is written, or nobody reads it. */
export function finish(ms = END_MS) {
    sink?.finish(ms);
}

function lineOf(level, message, fields, runId) {
    const time = new Date().toISOString();
    return isJson ? jsonLine(time, level, message, fields, runId) : textLine(time, level, message, fields, runId);
}

function jsonLine(time, level, message, fields, runId) {
    const record = { time, level, msg: cut(message) };
    if (runId) record.run_id = runId;
    for (const [name, value] of Object.entries(fields)) record[name] = typeof value === 'string' ? cut(value) : value;
    return `${JSON.stringify(record).replace(UNSAFE, escape)}\n`;
}

function textLine(time, level, message, fields, runId) {
    const parts = [time, level.toUpperCase(), cut(message).replace(UNSAFE, escape)];
    const pairs = Object.entries(fields);
    if (runId) pairs.push(['run_id', runId]);
    for (const [name, value] of pairs) {
        const text = cut(String(value));
        parts.push(`${name}=${WORD.test(text) ? text : JSON.stringify(text).replace(UNSAFE, escape)}`);
    }
    return `${parts.join(' ')}\n`;
}

/** What was printed has no level: it is logged whatever HOOKLINE_LOG_LEVEL is, as any app's output. */
function writeOutput(stream, text, runId) {
    sink.put(lineOf('info', text.endsWith('\r') ? text.slice(0, -1) : text, { stream }, runId));
}

/** What stands in for process.stdout and process.stderr: each line of output becomes one of the log. */
class Output extends Writable {
    #name;
    #rest = { decoder: new StringDecoder('utf8'), text: '' }; // an unfinished line outside of calls
    isTTY = false;

    constructor(name, fd) {
        super({ decodeStrings: false, highWaterMark: 2 ** 30 });
        this.#name = name;
        this.fd = fd;
    }

    _write(chunk, encoding, done) {
        const serving = current();
        const rest = serving
            ? (serving.unfinished[this.#name] ??= { decoder: new StringDecoder('utf8'), text: '' })
            : this.#rest;
        const text = typeof chunk === 'string' ? chunk : rest.decoder.write(chunk);
        const lines = (rest.text + text).split('\n');
        let last = lines.pop();
        for (; last.length > LINE_MAX; last = last.slice(LINE_MAX)) lines.push(last.slice(0, LINE_MAX));
        rest.text = last;
        for (const line of lines) writeOutput(this.#name, line, serving?.runId);
        done();
    }
}

/** What the author's code prints goes to the log from here on. */
export function takeOutput() {
    for (const [name, fd] of Object.entries({ stdout: 1, stderr: 2 })) {
        const output = new Output(name, fd);
        Object.defineProperty(process, name, { get: () => output, configurable: true, enumerable: true });
    }
}

/** The call is over: what it printed without a line's end is a line now. */
export function finishLines(context) {
    for (const [name, rest] of Object.entries(context.unfinished))
        if (rest.text) writeOutput(name, rest.text, context.runId);
    context.unfinished = {};
}
