// A kept stream that is cut after any of its bytes goes on elsewhere, and no event of it is lost.
import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';
import { atEnd } from './lib/cleanup.mjs';
import { test } from './lib/case.mjs';
import { EventReader, Follower, SSE, eventsPath, numbered, parse, placeAfter } from './lib/events.mjs';
import { generator, seed } from './lib/random.mjs';
import { RawClient, request } from './lib/raw.mjs';
import { EVENTS, RECORDING } from './lib/recording.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const LIMIT = { limit: 300_000 };
const AT_ONCE = 48;
const STORES = { memory: { HOOKLINE_STORE: 'memory' }, sqlite: {} };
const SETTINGS = { HOOKLINE_STREAM_KEEP: 'all', HOOKLINE_SSE_HEARTBEAT: '0', HOOKLINE_LOG_LEVEL: 'warn' };

/** The recording as it goes out, and what a client makes of all of it. */
const WHOLE = numbered(RECORDING);
const ALL = parse(WHOLE.text).events;

/** The bytes that the app must have sent for `at` bytes to be out. */
function sentFor(at) {
    let sent = at;
    for (const [from, to] of WHOLE.added) {
        if (at <= from) break;
        sent -= Math.min(at, to) - from;
        if (at <= to) sent++; // the line goes out with the first byte of the empty one behind it
    }
    return sent;
}

const tails = new Map();

/** What a client makes of the stream from there on. */
function eventsFrom(at) {
    if (!tails.has(at)) tails.set(at, parse(WHOLE.text.slice(at)).events);
    return tails.get(at);
}

/** As deepEqual says it; of lists that are equal, as nearly all are, their texts are. */
function assertSame(events, expected, told) {
    if (JSON.stringify(events) !== JSON.stringify(expected)) assert.deepEqual(events, expected, told);
}

/** Connections that a test has opened and not closed: thousands come and go. */
function wires(t, sidecar) {
    const open = new Set();
    atEnd(t, () => open.forEach((client) => client.close()));
    return async () => {
        const socket = net.connect({ port: sidecar.port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
        socket.on('error', () => {}); // the reader reports it to whoever waits
        await once(socket, 'connect');
        const client = new RawClient(socket);
        open.add(client);
        socket.once('close', () => open.delete(client));
        return client;
    };
}

/** `work(i)` for 0 to n - 1, AT_ONCE of them at a time. */
async function each(n, work) {
    let next = 0;
    const one = async () => {
        while (next < n) await work(next++);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
}

/** The first `n` bytes of a stream, as a client has them who is cut then. */
async function cutAfter(n, follower) {
    while (follower.text.length < n) assert.notEqual(await follower.piece(), undefined, 'the stream ended too early');
    const had = new EventReader().feed(follower.text.slice(0, n));
    follower.close();
    return had;
}

/** What a follower gets who goes on after what was had: each event of the rest, and no other. */
async function assertGoesOn(follower, had, told) {
    const place = placeAfter(WHOLE, had.lastEventId);
    const expected = eventsFrom(place.at);
    if (follower.status === 204) {
        assert.ok(place.isOver, `${told}: there was more`);
        assert.equal(follower.state, 'success', told);
    } else {
        assert.equal(follower.status, 200, told);
        await follower.rest();
    }
    const got = follower.reader.events;
    assert.ok(got.length + had.events.length >= ALL.length, `${told}: ${ALL.length - got.length - had.events.length} events were lost`);
    assertSame(had.events, ALL.slice(0, had.events.length), told);
    assertSame(got, expected, told);
}

/** An app that waits, after as many bytes as the call's field says, until it may send the rest. */
function halting() {
    const doors = new Map(); // by the call's field X-Call
    const app = async (x) => {
        await x.body();
        const at = Number(x.get('x-at'));
        await x.respond(200, SSE);
        if (at > 0) await x.chunk(Buffer.from(RECORDING.slice(0, at), 'latin1'));
        await doors.get(x.get('x-call')).promise;
        if (at < RECORDING.length) await x.chunk(Buffer.from(RECORDING.slice(at), 'latin1'));
        await x.lastChunk();
    };
    const call = (name, at) => {
        const door = gate();
        doors.set(String(name), door);
        return { door, bytes: request('POST', RUN, { Accept: 'text/event-stream', 'X-Call': name, 'X-At': at }, '{}') };
    };
    return { app, call };
}

/** A stream on the caller's own connection. */
async function callOn(client, bytes) {
    const caller = new Follower(client);
    await client.send(bytes);
    caller.head = await client.responseHead('POST');
    assert.equal(caller.head.status, 200);
    assert.equal(caller.head.has('x-run-kept'), false);
    caller.pieces = client.pieces(caller.head);
    return { caller, id: caller.head.get('x-request-id') };
}

const follow = async (open, id, lastEventId) => Follower.open(await open(), eventsPath(id), { lastEventId });

for (const [name, store] of Object.entries(STORES)) {
    const env = { ...SETTINGS, ...store };

    test(`a caller who is cut after any byte loses no event when he follows: ${name}`, LIMIT, async (t) => {
        const { app, call } = halting();
        const { sidecar } = await stage(t, { app, env });
        const open = wires(t, sidecar);
        await each(WHOLE.text.length + 1, async (n) => {
            const { door, bytes } = call(n, sentFor(n));
            const { caller, id } = await callOn(await open(), bytes);
            const had = await cutAfter(n, caller);
            if (n % 2) door.open(); // the run may have ended when he is back
            const follower = await follow(open, id, had.lastEventId);
            door.open();

            await assertGoesOn(follower, had, `cut after ${n} bytes, last id ${JSON.stringify(had.lastEventId)}`);
            follower.close();
        });
    });

    test(`a follower of a running run who is cut after any byte loses no event: ${name}`, LIMIT, async (t) => {
        const { app, call } = halting();
        const { sidecar } = await stage(t, { app, env });
        const open = wires(t, sidecar);
        const { door, bytes } = call('one', RECORDING.length);
        const { caller, id } = await callOn(await open(), bytes);
        await until('all of it is there', async () => {
            await caller.piece();
            return caller.text.length === WHOLE.text.length;
        });
        assert.equal(caller.text, WHOLE.text);
        await each(WHOLE.text.length + 1, async (n) => {
            const had = await cutAfter(n, await follow(open, id, ''));
            const follower = await follow(open, id, had.lastEventId);
            const place = placeAfter(WHOLE, had.lastEventId);
            const told = `cut after ${n} bytes, last id ${JSON.stringify(had.lastEventId)}`;
            assert.equal(follower.status, 200, told);
            assert.equal(follower.state, 'running', told);
            while (follower.text.length < WHOLE.text.length - place.at) await follower.piece();
            assert.equal(follower.text, WHOLE.text.slice(place.at), told);
            assertSame(had.events, ALL.slice(0, had.events.length), told);
            follower.close();
        });
        door.open();
    });

    test(`a follower of an ended run who is cut after any byte loses no event: ${name}`, LIMIT, async (t) => {
        const { app, call } = halting();
        const { sidecar } = await stage(t, { app, env });
        const open = wires(t, sidecar);
        const { door, bytes } = call('one', RECORDING.length);
        door.open();
        const { caller, id } = await callOn(await open(), bytes);
        assert.equal(await caller.rest(), WHOLE.text);
        await until('it has ended', async () => (await follow(open, id, '')).state === 'success');
        await each(WHOLE.text.length + 1, async (n) => {
            const had = await cutAfter(n, await follow(open, id, ''));
            const follower = await follow(open, id, had.lastEventId);
            const told = `cut after ${n} bytes, last id ${JSON.stringify(had.lastEventId)}`;
            await assertGoesOn(follower, had, told);
            const place = placeAfter(WHOLE, had.lastEventId);
            assert.equal(follower.status, place.isOver ? 204 : 200, told);
            if (!place.isOver) assert.equal(follower.text, WHOLE.text.slice(place.at), told);
            follower.close();
        });
    });

    test(`clients who are cut again and again put together what the app sent: ${name}`, LIMIT, async (t) => {
        t.diagnostic(`HOOKLINE_TEST_SEED=${seed}`);
        const random = generator(seed);
        const { sidecar } = await stage(t, {
            env: { ...env, HOOKLINE_SSE_HEARTBEAT: '10ms' },
            app: async (x) => {
                await x.body();
                await x.respond(200, SSE);
                for (let at = 0, next; at < RECORDING.length; at = next) {
                    next = Math.min(RECORDING.length, at + 3 + Math.floor(random() * 40)); // its mark comes whole
                    await x.chunk(Buffer.from(RECORDING.slice(at, next), 'latin1'));
                    await sleep(random() * 8);
                }
                await x.lastChunk();
            },
        });
        const open = wires(t, sidecar);
        let cuts = 0;
        const client = async () => {
            const { caller, id } = await callOn(await open(), request('POST', RUN, {}, '{}'));
            let had = 0; // events, without those that were repeated
            for (let follower = caller, last = ''; follower.status !== 204; cuts++) {
                const { at } = placeAfter(WHOLE, last);
                const rest = eventsFrom(at);
                const cut = new EventReader(last);
                let left = 1 + Math.floor(random() * 240);
                for (let piece; left > 0 && (piece = await follower.piece()) !== undefined; left -= piece.length)
                    cut.feed(piece.slice(0, left));
                follower.close();
                assertSame(cut.events, rest.slice(0, cut.events.length), `after ${JSON.stringify(last)}`);
                assert.ok(ALL.length - rest.length <= had, `${ALL.length - rest.length - had} events were lost`);
                had = Math.max(had, ALL.length - rest.length + cut.events.length);
                last = cut.lastEventId;
                follower = await follow(open, id, last);
            }
            assert.equal(had, EVENTS);
        };
        await Promise.all(Array.from({ length: 16 }, client));
        t.diagnostic(`${cuts} cuts`);
    });
}
