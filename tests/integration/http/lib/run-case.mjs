// run-case.mjs - runs one case against one proxy: sends, observes both sides, and gives the verdict.
// Throws when the outcome is none of those that the case allows; what the proxy sends must always pass
// the strict reader; and afterwards the proxy answers, on the same connection too if it kept that.
import assert from 'node:assert/strict';
import { Caller } from './caller.mjs';
import { allowed, get, matches } from './case.mjs';
import { OWN, echo } from './origin.mjs';

/** How bytes arrive: all at once, or each in a segment of its own. */
export const DELIVERIES = ['whole', 'byte by byte'];

let serial = 0;

/** `stage`: `{ port, origin }`, the proxy's port and the app behind it. */
export async function runCase(stage, theCase, delivery) {
    const callers = [];
    const isEach = delivery === 'byte by byte';
    const tools = {
        ...stage,
        connect: async () => {
            callers.push(await Caller.connect(stage.port, isEach));
            return callers.at(-1);
        },
        send: (caller, bytes) => (isEach ? caller.sendEach(bytes) : caller.send(bytes)),
        write: (exchange, bytes) => (isEach ? exchange.writeEach(bytes) : exchange.write(bytes)),
        stays: (caller) => checkStays(caller),
    };
    stage.origin.isEach = isEach;
    stage.origin.begin(scriptOf(theCase, tools));
    try {
        const seen = theCase.run ? await theCase.run(tools) : await observe(theCase, tools);
        await checkAlive(stage.port);
        if (stage.origin.faults.length) throw stage.origin.faults[0];
        if (!theCase.run) judge(theCase, stage.origin, seen);
    } catch (error) {
        throw new Error(report(theCase, delivery, stage.origin, callers, error));
    } finally {
        for (const caller of callers) caller.close();
    }
}

/** What the app does: the case's script, or its bytes once the request is there. */
function scriptOf({ app, then }, { write }) {
    if (app === undefined) return echo;
    if (typeof app === 'function') return app;
    return async (exchange) => {
        await exchange.whole;
        await write(exchange, app);
        if (then === 'close') exchange.end();
        if (then === 'reset') exchange.reset();
    };
}

async function observe(theCase, { origin, connect, send }) {
    const { send: bytes = get(), method = 'GET', end = false, app } = theCase;
    const caller = await connect();
    await send(caller, bytes);
    if (end) caller.end();
    const seen = await caller.response(method);
    if (app) await settle(origin);
    if (!end && seen.message) seen.isKept = await checkStays(caller, mustEnd(bytes, seen.message));
    else if (!end) await caller.isClosed();
    seen.closed = caller.closed;
    if (seen.message) assert.equal(caller.bytes.length, 0, 'bytes after the answer');
    return seen;
}

/** What an app sends behind its answer must have arrived before another call can come to harm by it. */
async function settle(origin) {
    await origin.settled();
    await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Whether the connection ends after this response (RFC 9112 9.3). */
function mustEnd(request, response) {
    const options = response.list('connection');
    const isOld = /^[^\n]* HTTP\/1\.0\r\n/.test(request);
    return (
        options.includes('close') ||
        response.endsConnection ||
        (isOld && !options.includes('keep-alive'))
    );
}

/** A connection that does not end must give the next request its own answer. False: it ended. */
async function checkStays(caller, isToEnd = false) {
    if (isToEnd) {
        assert.ok(await caller.isClosed(), 'a connection stays open that was to be closed');
        return false;
    }
    const target = `${OWN}${serial++}`;
    await caller.sendAtOnce(get('', target));
    const { message, head } = await caller.response();
    if (!message && !head && caller.bytes.length === 0) return false; // it may close at any time
    assert.equal(message?.text, target, 'the next answer on the connection');
    return true;
}

async function checkAlive(port) {
    const caller = await Caller.connect(port);
    try {
        const target = `${OWN}${serial++}`;
        await caller.send(get('', target));
        const { message } = await caller.response();
        assert.equal(message?.text, target, 'the answer to a good request afterwards');
    } finally {
        caller.close();
    }
}

function judge(theCase, origin, seen) {
    const reasons = [];
    for (const [outcome, expected] of Object.entries(allowed(theCase))) {
        try {
            OUTCOMES[outcome](expected, theCase, origin, seen);
            return;
        } catch (error) {
            reasons.push(`not ${outcome}: ${error.message.split('\n')[0]}`);
        }
    }
    throw new Error(reasons.join('\n'));
}

const isNothing = ({ message, head }) => !message && !head;

const OUTCOMES = {
    whole(check, { means, end, closes }, { requests, exchanges }, seen) {
        assert.equal(exchanges.length, 1, 'requests at the app');
        assert.ok(requests[0], 'the whole request at the app');
        // Where the connection ends at once, the answer may be lost.
        if (means && (end || closes) && isNothing(seen)) return void matches(requests[0], means);
        assert.ok(seen.message, 'a whole answer');
        check(requests[0], seen.message, seen.interim);
        if (closes) assert.ok(!seen.isKept, 'the connection must end');
    },
    refused(statuses, _, { requests }, seen) {
        assert.equal(requests.length, 0, 'requests at the app');
        if (isNothing(seen)) return;
        const { status } = seen.message ?? seen.head;
        assert.ok(
            statuses === true ? status >= 400 : [statuses].flat().includes(status),
            `${status}`,
        );
    },
    own(check, _, { exchanges }, { message }) {
        assert.equal(exchanges.length, 0, 'requests at the app');
        assert.ok(message, 'a whole answer');
        check(message);
    },
    badGateway(_, __, ___, seen) {
        if (isNothing(seen)) return;
        assert.ok(seen.message, 'a whole answer');
        assert.ok(
            seen.message.status >= 500 && seen.message.status <= 504,
            `${seen.message.status}`,
        );
    },
    broken(_, __, ___, { message, head, closed }) {
        assert.equal(message, null, 'an answer without an end');
        assert.ok(head, 'a beginning of an answer');
        if (!head.framing) assert.equal(closed, 'reset');
    },
};

/** What a person needs to see why. */
function report({ name, rfc }, delivery, { seen, exchanges }, callers, error) {
    const cut = (bytes) => JSON.stringify(bytes.toString('latin1').slice(0, 1500));
    return [
        `${name} [${rfc}], ${delivery}: ${error.message}`,
        `  at the app (${exchanges.length}): ${cut(Buffer.concat(seen))}`,
        ...callers.map((c) => `  at the caller: ${cut(c.all)}${c.closed ? `, ${c.closed}` : ''}`),
    ].join('\n');
}
