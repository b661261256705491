// server.mjs - the HTTP/1.1 server, on a thread of its own: reads whole requests, keeps them in a queue, hands them to
// the author's thread (host.mjs), writes what comes back.
// Promise: the author's code never runs here, so health, the next request's head and the streams of others wait for
// nobody; calls go in first come first served, at most `concurrency` at once; of one whose caller has gone while it
// waited nothing is run.
// Not here: one call's answer (exchange.mjs), what becomes of a request (triage.mjs).
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { Exchange } from './exchange.mjs';
import { BadForm, FormReader, NoRoom } from './form.mjs';
import { runIdOf } from './id.mjs';
import * as log from './log.mjs';
import { REFUSALS, phraseOf, problemOf } from './problem.mjs';
import { Directory, triage } from './triage.mjs';

const MAX_HEAD = 128 * 1024; // twice the proxy's: what it adds must fit
const MAX_DROPPED = 64 * 1024; // of a refused body; a longer one closes the connection
const HEAD_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 60_000; // of silence
const KEEPALIVE_TIMEOUT_MS = 75_000;
const LEAST_MAX_HELD = 256 * 2 ** 20;

const { settings, shared } = workerData;
log.start(settings, shared.logOwner, 2, () => undefined);

const maxHeld = Math.max(settings.maxBody * 4, LEAST_MAX_HELD);
const exchanges = new Map(); // those that are in the queue or inside, by number
const arriving = new Set(); // exchanges whose body is not whole
const sockets = new Set();
let directory;
let server;
let isStopping = false;
let isClosed = false;
let held = 0; // bytes of bodies

// ---- the queue ----

const waiting = new Set(); // in their order
const slots = Array.from({ length: settings.concurrency }, (_, i) => settings.concurrency - 1 - i);
let lastNumber = 0;

/** Calls that came in one turn of the loop go over together: each passage between the threads has its price. */
const calls = [];
let transfers = [];

function handOver() {
    parentPort.postMessage(['calls', ...calls.splice(0)], transfers);
    transfers = [];
}

function dispatch() {
    for (const exchange of waiting) {
        if (slots.length === 0) return;
        waiting.delete(exchange);
        exchange.slot = slots.pop();
        exchange.takenAt = performance.now();
        Atomics.store(shared.gone, exchange.slot, 0);
        const { message, transfer } = exchange.handOver();
        if (calls.push(message) === 1) setImmediate(handOver);
        transfers.push(...transfer);
    }
}

function enqueue(exchange) {
    exchange.number = ++lastNumber;
    exchanges.set(exchange.number, exchange);
    waiting.add(exchange);
    dispatch();
}

/** The author's thread is done with it. */
function release(exchange) {
    exchanges.delete(exchange.number);
    slots.push(exchange.slot);
    drop(exchange);
    log.write(
        'debug',
        'call finished',
        {
            function: exchange.name,
            status: exchange.status,
            duration_ms: Math.round(performance.now() - exchange.takenAt),
        },
        exchange.runId,
    );
    dispatch();
    endIfOver();
}

function drop(exchange) {
    exchange.form?.close();
    held -= exchange.held;
    exchange.held = 0;
}

/** Its caller has closed the connection, or takes nothing any more. */
function onGone(exchange) {
    if (waiting.delete(exchange)) {
        exchanges.delete(exchange.number);
        drop(exchange);
        endIfOver();
    } else if (exchange.slot !== undefined && exchanges.has(exchange.number)) {
        Atomics.store(shared.gone, exchange.slot, 1);
        if (calls.length > 0) handOver(); // of which it may be one
        parentPort.postMessage(['gone', exchange.number]);
    }
}

// ---- requests ----

/** The server's own answer, once a short body has been read, so that the connection lives on. */
function answer(request, response, runId, { refusal, body }) {
    const [status, detail, fields] = refusal ?? [200];
    const text = refusal ? problemOf(status, detail, runId) : body;
    const left = Number(request.headers['content-length'] ?? 0);
    const isShort = request.complete || (request.headers['transfer-encoding'] === undefined && left <= MAX_DROPPED);
    const head = {
        'Content-Type': refusal ? 'application/problem+json' : 'application/json',
        'Cache-Control': 'no-store',
        'X-Request-Id': runId,
        ...fields,
        'Content-Length': Buffer.byteLength(text),
    };
    if (!isShort || request.headers.expect !== undefined || isStopping) head.Connection = 'close';
    const send = () => {
        if (response.headersSent || response.destroyed) return;
        response.writeHead(status, phraseOf(status), head);
        response.end(request.method === 'HEAD' ? undefined : text);
        if (!isShort) setTimeout(() => response.socket?.destroySoon(), 1000).unref();
    };
    if (!isShort || head.Connection || request.readableEnded) send();
    else request.once('end', send);
    request.resume();
}

function onRequest(request, response, expectsContinue = false) {
    const runId = runIdOf(request.headers['x-request-id']);
    const what = triage(directory, isStopping, request);
    const refuse = (refusal) => answer(request, response, runId, { refusal });
    if (what.callee === undefined) {
        answer(request, response, runId, what);
        return;
    }
    const declared = Number(request.headers['content-length'] ?? 0);
    const most = what.isForm ? settings.maxUpload : settings.maxBody;
    if (declared > most) refuse(REFUSALS.tooLarge);
    else if (!what.isForm && held + declared > maxHeld) refuse(REFUSALS.full);
    else {
        if (expectsContinue) response.writeContinue();
        const exchange = new Exchange(request, response, runId, directory.nameOf(what.callee), what.callee, {
            post: (message, transfer) => parentPort.postMessage(message, transfer),
            isStopping: () => isStopping,
            onGone,
            release,
        });
        if (what.isForm)
            readForm(request, exchange, most, refuse).catch((error) => log.writeError('a form failed', error));
        else readBody(request, exchange, most, refuse);
    }
}

/** A body's pieces behind one another: kept one by one, small ones would take a hundred times their length. */
class Pieces {
    #buffer;
    #size = 0;
    #expected;

    constructor(expected) {
        this.#expected = expected;
    }

    add(piece) {
        const size = this.#size + piece.length;
        if (this.#size === 0) this.#buffer = piece; // and most are no more than this one
        else {
            if (size > this.#buffer.length) {
                const larger = Buffer.allocUnsafeSlow(Math.max(size, this.#expected, 2 * this.#size));
                this.#buffer.copy(larger, 0, 0, this.#size);
                this.#buffer = larger;
            }
            piece.copy(this.#buffer, this.#size);
        }
        this.#size = size;
    }

    take() {
        const whole = this.#buffer?.subarray(0, this.#size) ?? Buffer.alloc(0);
        this.#buffer = undefined;
        return whole;
    }
}

/**
 * Calls `onSilence` when no byte of a body has come for so long; each that comes is to `refresh` it. The socket's own
 * time-out is for what is written, perhaps the answer to the request before this one.
 */
function watchBody(request, onSilence) {
    const timer = setTimeout(onSilence, BODY_TIMEOUT_MS);
    request.once('close', () => clearTimeout(timer));
    return timer;
}

/** Keeps the body until it is whole; then the call waits for its turn. */
function readBody(request, exchange, most, refuse) {
    const pieces = new Pieces(Number(request.headers['content-length'] ?? 0));
    let isRefused = false;
    arriving.add(exchange);
    const stop = (refusal) => {
        if (isRefused) return;
        isRefused = true;
        clearTimeout(silence);
        drop(exchange);
        pieces.take();
        exchange.abandon();
        refuse(refusal);
    };
    const isWhole = () => {
        clearTimeout(silence);
        if (isRefused || exchange.isGone) return;
        arriving.delete(exchange);
        exchange.body = pieces.take();
        enqueue(exchange);
    };
    const silence = watchBody(request, () => stop(REFUSALS.bodySlow));
    request.on('data', (chunk) => {
        if (isRefused) return;
        silence.refresh();
        held += chunk.length;
        exchange.held += chunk.length;
        if (exchange.held > most) stop(REFUSALS.tooLarge);
        else if (held > maxHeld) stop(REFUSALS.full);
        else pieces.add(chunk);
    });
    request.on('end', isWhole);
    request.on('error', () => {}); // the caller has gone: 'close' says so
    request.on('close', () => {
        arriving.delete(exchange);
        if (!request.complete) drop(exchange);
    });
}

/** The same of a form, whose files go to the disk as they come: a slow one is felt by its own caller. */
async function readForm(request, exchange, most, refuse) {
    let size = 0;
    let why;
    arriving.add(exchange);
    const silence = watchBody(request, () => request.destroy());
    try {
        exchange.form = new FormReader(request.headers['content-type']);
        for await (const chunk of request.iterator({ destroyOnReturn: false })) {
            size += chunk.length;
            if (size > most) throw REFUSALS.tooLarge;
            await exchange.form.feed(chunk);
            silence.refresh();
        }
        exchange.form.end();
    } catch (error) {
        if (error instanceof BadForm) why = [400, `The request's form cannot be read: ${error.message}.`];
        else if (error instanceof NoRoom) why = REFUSALS.upload;
        else if (Array.isArray(error)) why = error;
        else exchange.abandon(); // the caller has gone
    }
    arriving.delete(exchange);
    clearTimeout(silence);
    if (why !== undefined) {
        exchange.abandon();
        refuse(why);
    }
    if (exchange.isGone) exchange.form?.close();
    else enqueue(exchange);
}

/** What is no HTTP, or comes too slowly. */
function onClientError(error, socket) {
    if (!socket.writable || socket._httpMessage?.headersSent) {
        socket.destroy();
        return;
    }
    const name = { HPE_HEADER_OVERFLOW: 'headTooLarge', ERR_HTTP_REQUEST_TIMEOUT: 'headSlow' }[error.code] ?? 'noHead';
    const [status, detail] = REFUSALS[name];
    const text = problemOf(status, detail);
    socket.end(
        `HTTP/1.1 ${status} ${phraseOf(status)}\r\nContent-Type: application/problem+json\r\nCache-Control: no-store\r\n` +
            `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
}

// ---- start and stop ----

function reasonOf(error) {
    const texts = {
        EADDRINUSE: 'address already in use',
        EACCES: 'permission denied',
        ENOENT: 'no such file or directory',
    };
    return texts[error.code] ?? error.message;
}

/** Removes the socket of a host that was killed; one that somebody listens on stays. */
async function clearSocket(path) {
    const isThere = fs.lstatSync(path, { throwIfNoEntry: false })?.isSocket() ?? false;
    if (!isThere) return;
    const isAnswered = await new Promise((resolve) => {
        const probe = net
            .connect(path, () => resolve(true))
            .on('error', (error) => resolve(error.code !== 'ECONNREFUSED'));
        probe.unref();
        setTimeout(() => probe.destroy(), 2000).unref();
    });
    if (!isAnswered) fs.rmSync(path, { force: true });
}

async function listen(callees) {
    directory = new Directory(callees);
    server = http.createServer({
        maxHeaderSize: MAX_HEAD,
        insecureHTTPParser: false,
        requireHostHeader: false, // triage.mjs says it better
        connectionsCheckingInterval: 1000,
        headersTimeout: HEAD_TIMEOUT_MS,
        requestTimeout: 0,
        keepAliveTimeout: KEEPALIVE_TIMEOUT_MS,
        noDelay: true,
    });
    server.maxHeadersCount = 0;
    server.on('request', (request, response) => onRequest(request, response));
    server.on('checkContinue', (request, response) => onRequest(request, response, true));
    server.on('clientError', onClientError);
    server.on('connection', (socket) => {
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
    });
    const { host, port, socket } = settings;
    if (socket) await clearSocket(socket);
    const where = socket ? { path: socket } : { host, port };
    server.once('error', (error) => {
        const place = socket ?? `${host} port ${port}`;
        const advice = `free it or choose another (${socket ? '--socket' : '--host, --port'})`;
        parentPort.postMessage(['failed', `cannot listen on ${place}: ${reasonOf(error)}; ${advice}`]);
    });
    server.listen({ ...where, backlog: 511 }, () => {
        const address = socket ? `unix:${socket}` : `${host} port ${server.address().port}`;
        parentPort.postMessage(['listening', address]);
    });
}

function stop() {
    isStopping = true;
    log.write('info', 'stopping: no more calls are accepted, running ones may finish', { calls: exchanges.size });
    for (const exchange of exchanges.values()) exchange.closesAfter();
    server.close(() => {
        isClosed = true;
        endIfOver();
    });
    server.closeIdleConnections?.();
    // Of its own time-outs a server that closes keeps none.
    setTimeout(() => {
        const busy = new Set([...exchanges.values(), ...arriving].map(({ socket }) => socket));
        for (const socket of sockets) if (!busy.has(socket)) socket.destroy();
    }, HEAD_TIMEOUT_MS).unref();
}

function endIfOver() {
    if (!isClosed || exchanges.size > 0) return;
    if (settings.socket) fs.rmSync(settings.socket, { force: true });
    parentPort.postMessage(['stopped']);
    isClosed = false;
}

// ---- what the author's thread says ----

let setupTimer;

function endSetup() {
    const limit = `${settings.setupTimeout / 1000} s (HOOKLINE_FUNCTION_SETUP_TIMEOUT)`;
    log.write('error', `setup() has not ended within ${limit}: it keeps its thread busy`);
    log.finish();
    process.kill(process.pid, 'SIGKILL');
}

const messages = {
    listen,
    stop,
    /** A setup() that keeps its thread busy beyond `ms` cannot be ended there; 0: it has ended. */
    watch(ms) {
        clearTimeout(setupTimer);
        if (ms > 0) setupTimer = setTimeout(endSetup, ms);
    },
};

parentPort.on('message', ([kind, ...rest]) => {
    if (Object.hasOwn(messages, kind)) {
        messages[kind](...rest);
        return;
    }
    const [number, ...what] = rest;
    const exchange = exchanges.get(number);
    try {
        exchange?.[kind](...what);
    } catch (error) {
        // a field that cannot be sent: the others' calls go on
        log.writeError('an answer could not be sent', error, {}, exchange.runId);
        exchange.destroy();
        if (exchanges.has(number)) release(exchange);
    }
});
