// A slow reader pushes back on the sender, in both directions: memory does not grow with the body.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const MIB = 1 << 20;
const TOTAL = 256 * MIB;
const BOUND = 32 * MIB; // of growth; kernel buffers are not ours
const piece = Buffer.alloc(MIB, 'x');

/** Resolves when `progress()` has not moved for a while. */
async function standstill(progress) {
    for (let last = -1; last !== progress(); ) {
        last = progress();
        await sleep(400);
    }
}

for (const framing of ['Content-Length', 'Transfer-Encoding']) {
    test(`256 MiB for a caller that does not read, by ${framing}: the app is held back`, async (t) => {
        let sent = 0;
        const { connect, sidecar } = await stage(t, {
            env: { HOOKLINE_WORKERS: '1' },
            app: async (x) => {
                const isChunked = framing !== 'Content-Length';
                await x.respond(200, { [framing]: isChunked ? 'chunked' : TOTAL });
                for (; sent < TOTAL; sent += MIB) await (isChunked ? x.chunk(piece) : x.raw(piece));
                if (isChunked) await x.lastChunk();
            },
        });
        const client = await connect();
        const before = await sidecar.rssAnon();
        await client.send(request('POST', RUN, {}, ''));
        const head = await client.responseHead();
        await standstill(() => sent);
        assert.ok(sent < TOTAL / 2, `the app could send ${sent / MIB} MiB`);
        assert.ok((await sidecar.rssAnon()) - before < BOUND, 'while the caller stands still');
        let received = 0;
        let most = 0;
        for await (const bytes of client.pieces(head)) {
            if (received % (32 * MIB) < bytes.length)
                most = Math.max(most, await sidecar.rssAnon());
            received += bytes.length;
        }
        assert.equal(received, TOTAL);
        assert.ok(most - before < BOUND, `RssAnon grew by ${(most - before) / MIB} MiB`);
    });
}

test('256 MiB for an app that does not read: the caller is held back', async (t) => {
    const doors = gate();
    let received = 0;
    const { connect, sidecar } = await stage(t, {
        env: { HOOKLINE_WORKERS: '1' },
        app: async (x) => {
            await doors.promise;
            for await (const bytes of x.pieces()) {
                received += bytes.length;
                x.chunks.length = 0;
            }
            await x.send(200, {}, String(received));
        },
    });
    const client = await connect();
    const before = await sidecar.rssAnon();
    let sent = 0;
    const upload = (async () => {
        await client.send(request('POST', RUN, { 'Content-Length': TOTAL }));
        for (; sent < TOTAL; sent += MIB) await client.send(piece);
    })();
    await standstill(() => sent);
    assert.ok(sent < TOTAL / 2, `the caller could send ${sent / MIB} MiB`);
    assert.ok((await sidecar.rssAnon()) - before < BOUND, 'while the app stands still');
    doors.open();
    await until('half of it is through', () => received > TOTAL / 2);
    assert.ok((await sidecar.rssAnon()) - before < BOUND, 'while it flows');
    await upload;
    assert.equal((await client.response()).text, String(TOTAL));
});

test('a teed or kept response does not grow memory with its size', async (t) => {
    const size = 96 * MIB;
    const { call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_WORKERS: '1', HOOKLINE_MAX_KEPT_RESPONSE: '128MiB' },
        app: async (x) => {
            await x.respond(200, { 'Content-Type': 'text/plain', 'Content-Length': size });
            for (let i = 0; i < size / MIB; i++) await x.raw(piece);
        },
    });
    const before = await sidecar.rssAnon();
    let most = 0;
    const watch = setInterval(async () => (most = Math.max(most, await sidecar.rssAnon())), 20);
    for (const mode of [{}, { async: 'true' }]) {
        const path = `/hook/${mode.async}`;
        await call(RUN, { query: { ...mode, webhookEndpoint: receiver.url(path) } });
        const { bytes } = await receiver.delivered(path, 1);
        assert.ok(bytes.length > size, 'it was delivered whole');
    }
    clearInterval(watch);
    assert.ok(most - before < BOUND, `RssAnon grew by ${(most - before) / MIB} MiB`);
});

test('heartbeats do not pile up for a caller that does not read', { waits: true }, async (t) => {
    const { connect, sidecar } = await stage(t, {
        env: {
            HOOKLINE_WORKERS: '1',
            HOOKLINE_SSE_HEARTBEAT: '10ms',
            HOOKLINE_WRITE_TIMEOUT: '1s',
        },
        app: async (x) => {
            await x.respond(200, {
                'Content-Type': 'text/event-stream',
                'Transfer-Encoding': 'chunked',
            });
            for (let i = 0; i < 64; i++) await x.chunk(piece);
            await x.gone;
        },
    });
    const client = await connect();
    const before = await sidecar.rssAnon();
    await client.send(request('POST', RUN, {}, ''));
    await client.responseHead();
    client.socket.pause();
    const isCutOff = async () => {
        assert.ok((await sidecar.rssAnon()) - before < BOUND);
        return (await sidecar.metric('hookline_connections_open')) === 0;
    };
    await until('the caller is cut off', isCutOff);
});

test('a large transfer does not starve small calls', async (t) => {
    const { call, connect } = await stage(t, {
        env: { HOOKLINE_WORKERS: '1' },
        app: async (x) => {
            if (x.path !== '/large') return x.send(200);
            await x.respond(200, { 'Content-Length': TOTAL });
            for (let i = 0; i < TOTAL / MIB; i++) await x.raw(piece);
        },
    });
    const client = await connect();
    await client.send(request('POST', '/v4/p/a/large', {}, ''));
    const head = await client.responseHead();
    let received = 0;
    const large = (async () => {
        for await (const bytes of client.pieces(head)) received += bytes.length;
    })();
    while (received < TOTAL) {
        const before = received;
        assert.equal((await call()).status, 200);
        assert.ok(received - before < TOTAL / 4, `during a small call ${received - before} bytes came`);
    }
    await large;
});
