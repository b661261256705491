// Server-sent events reach the caller one by one the moment they are sent, with a heartbeat only between events.
import assert from 'node:assert/strict';
import { EventSource } from 'eventsource';
import { fetch as undiciFetch } from 'undici';
import { test } from './lib/case.mjs';
import { RUN, UUID_V7, shared, stage } from './lib/stage.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { EventReader } from './lib/events.mjs';
import { request } from './lib/raw.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const SSE = { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked' };
const STREAM = { Accept: 'text/event-stream', 'Content-Type': 'application/json' };

/** A call whose body pieces are read one at a time. */
async function openStream(client, path = RUN) {
    await client.send(request('POST', path, STREAM, '{}'));
    const head = await client.responseHead();
    const pieces = client.pieces(head);
    const next = async () => (await pieces.next()).value?.toString();
    return { head, next };
}

test('a stream has the contract’s status and fields', async (t) => {
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(200, SSE);
            await x.chunk('data: 1\n\n');
            await x.lastChunk();
        },
    });
    const { head } = await openStream(await connect());
    assert.equal(head.status, 200);
    assert.equal(head.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(head.get('cache-control'), 'no-cache');
    assert.equal(head.get('transfer-encoding'), 'chunked');
    assert.equal(head.get('x-accel-buffering'), 'no');
    assert.match(head.get('x-request-id'), UUID_V7);
});

test('fields that the app set itself stay as they are', async (t) => {
    const own = {
        'Content-Type': 'text/event-stream;charset=UTF-8',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'yes',
    };
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(200, { ...own, 'Transfer-Encoding': 'chunked' });
            await x.lastChunk();
        },
    });
    const { head } = await openStream(await connect());
    for (const [name, value] of Object.entries(own)) assert.equal(head.get(name), value);
});

test('each event arrives before the next one is sent', async (t) => {
    const gates = Array.from({ length: 5 }, gate);
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(200, SSE);
            for (const [i, { promise }] of gates.entries()) {
                await promise;
                await x.chunk(`data: ${i}\n\n`);
            }
            await x.lastChunk();
        },
    });
    const { next } = await openStream(await connect());
    for (const [i, { open }] of gates.entries()) {
        open();
        assert.equal(await next(), `data: ${i}\n\n`);
    }
    assert.equal(await next(), undefined);
});

test('the head arrives before the first event', async (t) => {
    const first = gate();
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(200, SSE);
            await first.promise;
            await x.chunk('data: 1\n\n');
            await x.lastChunk();
        },
    });
    const { head, next } = await openStream(await connect());
    assert.equal(head.status, 200);
    first.open();
    assert.equal(await next(), 'data: 1\n\n');
});

test('chunks of the app are neither joined nor cut', async (t) => {
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(200, SSE);
            for (let i = 0; i < 50; i++) void x.chunk(`data: ${i} ${'x'.repeat(i * 20)}\n\n`);
            await x.lastChunk();
        },
    });
    const { next } = await openStream(await connect());
    for (let i = 0; i < 50; i++) {
        assert.equal(await next(), `data: ${i} ${'x'.repeat(i * 20)}\n\n`);
    }
});

test('a comment line keeps a silent stream alive, off with 0', async (t) => {
    const more = gate();
    const app = async (x) => {
        await x.respond(200, SSE);
        await x.chunk('data: 1\n\n');
        await more.promise;
        await x.chunk('data: 2\n\n');
        await x.lastChunk();
    };
    const { connect } = await stage(t, { app, env: { HOOKLINE_SSE_HEARTBEAT: '50ms' } });
    const { next } = await openStream(await connect());
    assert.equal(await next(), 'data: 1\n\n');
    for (let i = 0; i < 3; i++) assert.match(await next(), /^: keep-alive\n\n?$/);
    more.open();
    let last;
    while (/^: keep-alive/.test((last = await next())));
    assert.equal(last, 'data: 2\n\n');
});

test('before the first event too, but only after the head', async (t) => {
    const more = gate();
    const { connect } = await stage(t, {
        env: { HOOKLINE_SSE_HEARTBEAT: '50ms' },
        app: async (x) => {
            await x.respond(200, SSE);
            await more.promise;
            await x.lastChunk();
        },
    });
    const { next } = await openStream(await connect());
    assert.match(await next(), /^: keep-alive/);
    more.open();
});

test('a byte order mark behind a heartbeat is taken away: it would be the name of a field', async (t) => {
    for (const [first, second] of [['\xef\xbb\xbfdata: 1\n\n'], ['\xef\xbb\xbf', 'data: 1\n\n'], ['data: 1\n\n']]) {
        const [more, rest] = [gate(), gate()];
        const { connect } = await stage(t, {
            env: { HOOKLINE_SSE_HEARTBEAT: '50ms' },
            app: async (x) => {
                await x.respond(200, SSE);
                await more.promise;
                await x.chunk(Buffer.from(first, 'latin1'));
                await rest.promise;
                if (second) await x.chunk(second);
                await x.lastChunk();
            },
        });
        const { next } = await openStream(await connect());
        const reader = new EventReader();
        reader.feed(await next());
        assert.equal(reader.comments.length, 1);
        more.open();
        if (!second) while (!reader.events.length) reader.feed(await next());
        rest.open();
        while (!reader.events.length) reader.feed(await next());
        assert.deepEqual(reader.events, [{ type: 'message', data: '1', id: '' }]);
    }
});

test('no heartbeat inside an event', async (t) => {
    for (const parts of [
        ['data: half', ' and half\n\n'],
        ['data: 1\n', '\n'],
        ['data: 1\r\n\r', '\ndata: 2\n\n'],
        ['event: x\ndata', ': y\n\n'],
    ]) {
        const more = gate();
        const { connect } = await stage(t, {
            env: { HOOKLINE_SSE_HEARTBEAT: '40ms' },
            app: async (x) => {
                await x.respond(200, SSE);
                await x.chunk('data: 0\n\n');
                await x.chunk(parts[0]);
                await more.promise;
                await x.chunk(parts[1]);
                await x.lastChunk();
            },
        });
        const { next } = await openStream(await connect());
        assert.equal(await next(), 'data: 0\n\n');
        assert.equal(await next(), parts[0]);
        await sleep(200); // long enough for several heartbeats, none of which may come
        more.open();
        assert.equal(await next(), parts[1]);
    }
});

test('no heartbeat in a stream with Content-Length or Content-Encoding', async (t) => {
    for (const extra of [
        { 'Content-Length': 18 },
        { 'Content-Encoding': 'br', 'Transfer-Encoding': 'chunked' },
    ]) {
        const more = gate();
        const { connect } = await stage(t, {
            env: { HOOKLINE_SSE_HEARTBEAT: '40ms' },
            app: async (x) => {
                const write = (text) => ('Content-Length' in extra ? x.raw(text) : x.chunk(text));
                await x.respond(200, { 'Content-Type': 'text/event-stream', ...extra });
                await write('data: 1\n\n');
                await more.promise;
                await write('data: 2\n\n');
                if (!('Content-Length' in extra)) await x.lastChunk();
            },
        });
        const { next } = await openStream(await connect());
        assert.equal(await next(), 'data: 1\n\n');
        await sleep(200);
        more.open();
        assert.equal(await next(), 'data: 2\n\n');
    }
});

test('other content types get no heartbeat and no fields', async (t) => {
    const more = gate();
    const { connect } = await stage(t, {
        env: { HOOKLINE_SSE_HEARTBEAT: '40ms' },
        app: async (x) => {
            await x.respond(200, {
                'Content-Type': 'application/x-ndjson',
                'Transfer-Encoding': 'chunked',
            });
            await x.chunk('{}\n');
            await more.promise;
            await x.chunk('[]\n');
            await x.lastChunk();
        },
    });
    const { head, next } = await openStream(await connect());
    assert.equal(head.has('cache-control'), false);
    assert.equal(head.has('x-accel-buffering'), false);
    assert.equal(await next(), '{}\n');
    await sleep(200);
    more.open();
    assert.equal(await next(), '[]\n');
});

test('the webhook of a stream carries it whole and without heartbeats', async (t) => {
    const more = gate();
    const { connect, receiver } = await stage(t, {
        env: { HOOKLINE_SSE_HEARTBEAT: '40ms' },
        app: async (x) => {
            await x.respond(200, SSE);
            await x.chunk('data: {"n":1}\n\n');
            await more.promise;
            await x.chunk('data: {"n":2}\n\n');
            await x.lastChunk();
        },
    });
    const hook = encodeURIComponent(receiver.url());
    const { head, next } = await openStream(await connect(), `${RUN}?webhookEndpoint=${hook}`);
    await next();
    assert.match(await next(), /^: keep-alive/);
    assert.equal(receiver.requests.length, 0, 'the webhook waits for the end');
    more.open();
    const envelope = await receiver.envelope();
    assert.equal(envelope.response, 'data: {"n":1}\n\ndata: {"n":2}\n\n');
    assert.equal(envelope.encoding, 'text');
    assert.equal(envelope.run_id, head.get('x-request-id'));
    assert.match(envelope.content_type, /^text\/event-stream/);
});

test('a stream that breaks is broken for the caller too, not ended', async (t) => {
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(200, SSE);
            await x.chunk('data: 1\n\n');
            await until('the caller has it', () => client.socket.bytesRead > 0);
            x.reset();
        },
    });
    const client = await connect();
    const { next } = await openStream(client);
    assert.equal(await next(), 'data: 1\n\n');
    await assert.rejects(next());
});

test('a browser’s EventSource gets the events', async (t) => {
    const { sidecar } = await shared(t, {
        app: async (x) => {
            await x.respond(200, SSE);
            for (let i = 0; i < 3; i++) await x.chunk(`id: ${i}\ndata: {"n":${i}}\n\n`);
            await x.gone;
        },
    });
    const source = new EventSource(`${sidecar.url}/v4/p/a/events`, { fetch: undiciFetch });
    atEnd(t, () => source.close());
    const events = [];
    source.onmessage = (event) => events.push([event.lastEventId, JSON.parse(event.data).n]);
    await until('three events', () => events.length === 3);
    assert.deepEqual(events, [
        ['0', 0],
        ['1', 1],
        ['2', 2],
    ]);
});

test('a caller that leaves a stream ends the app’s work', async (t) => {
    let isGone = false;
    const { connect } = await shared(t, {
        app: async (x) => {
            await x.respond(200, SSE);
            await x.chunk('data: 1\n\n');
            await x.gone;
            isGone = true;
        },
    });
    const client = await connect();
    const { next } = await openStream(client);
    await next();
    client.close();
    await until('the app’s connection is closed', () => isGone);
});
