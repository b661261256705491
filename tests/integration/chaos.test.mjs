// Callers, an app and receivers that misbehave at random, all at once: nothing hangs, nothing is left over, every accepted call is reported.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, caller, stage } from './lib/stage.mjs';
import { Receiver } from './lib/receiver.mjs';
import { generator, seed } from './lib/random.mjs';
import { connect as connectTo, chunk, request } from './lib/raw.mjs';
import { sleep, until } from './lib/until.mjs';

const SECONDS = Number(process.env.HOOKLINE_TEST_CHAOS_SECONDS ?? 5);

/** What an app may do with a call; most of it is well-behaved, so that the rest meets traffic. */
const APP = [
    async (x) => x.send(200, {}, await x.body()),
    async (x) => x.json({ path: x.path, size: (await x.body()).length }),
    async (x, random) => {
        await x.respond(200, {
            'Content-Type': 'text/event-stream',
            'Transfer-Encoding': 'chunked',
        });
        for (let i = 0; i < 5; i++) {
            await x.chunk(`data: ${i}\n\n`);
            await sleep(random() * 10);
        }
        await x.lastChunk({ 'X-Sum': '1' });
    },
    async (x) => {
        await x.respond(200, { 'Transfer-Encoding': 'chunked' });
        for (let i = 0; i < 20; i++) await x.chunk(Buffer.alloc(50_000, 'x'));
        await x.lastChunk();
    },
    (x) => x.send(413).then(() => x.end()), // before the request's body
    (x) => x.reset(),
    (x) => x.end(),
    (x) => x.raw('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart').then(() => x.end()),
    (x) =>
        x.raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe').then(() => x.reset()),
    (x) => x.raw('garbage\r\n\r\n').then(() => x.end()),
    async (x, random) => {
        await sleep(random() * 300);
        await x.send(500, {}, 'late');
    },
    async (x) => {
        await x.raw('HTTP/1.1 103 Early\r\n\r\n');
        await x.respond(200, {}); // until close
        await x.raw('all of it');
        x.end();
    },
];

/** How a caller may behave with its connection. */
const CALLERS = [
    async (client, bytes) => {
        await client.send(bytes);
        await client.response();
    },
    async (client, bytes) => {
        await client.send(Buffer.concat([bytes, bytes, bytes]));
        for (let i = 0; i < 3; i++) await client.response();
    },
    async (client, bytes, random) => {
        await client.send(bytes.subarray(0, Math.floor(random() * bytes.length)));
        await sleep(random() * 20);
        client[random() < 0.5 ? 'reset' : 'close']();
    },
    async (client, bytes, random) => {
        await client.send(bytes);
        await sleep(random() * 30);
        client[random() < 0.5 ? 'reset' : 'end']();
    },
    async (client, bytes, random) => {
        await client.send(bytes);
        const pieces = client.pieces(await client.responseHead());
        await pieces.next();
        client.socket.pause();
        await sleep(random() * 50);
        client.reset();
    },
    async (client, bytes) => {
        await client.sendInPieces(bytes.subarray(0, 1000), 7);
        await client.send(bytes.subarray(1000));
        await client.response();
    },
];

function someRequest(random, good, bad) {
    const query = [];
    if (random() < 0.4) query.push(`async=${random() < 0.8}`);
    if (random() < 0.5) {
        const hook = random() < 0.7 ? good : bad;
        query.push(`webhookEndpoint=${encodeURIComponent(hook.url())}`);
    }
    const target = RUN + (query.length ? `?${query.join('&')}` : '');
    const body = Buffer.alloc(Math.floor(random() ** 4 * 400_000), 'b');
    if (random() < 0.5) return request('POST', target, {}, body);
    const head = request('POST', target, { 'Transfer-Encoding': 'chunked' });
    return Buffer.concat([head, body.length ? chunk(body) : body, Buffer.from('0\r\n\r\n')]);
}

test(`${SECONDS} s of misbehaviour`, { limit: 60_000 + SECONDS * 2000 }, async (t) => {
    t.diagnostic(`HOOKLINE_TEST_SEED=${seed}`);
    const random = generator(seed);
    const pick = (list) => list[Math.floor(random() ** 2 * list.length)];
    const context = await stage(t, {
        app: (x) => pick(APP)(x, random),
        env: {
            HOOKLINE_APP_CONCURRENCY: '20',
            HOOKLINE_SSE_HEARTBEAT: '10ms',
            HOOKLINE_WEBHOOK_TIMEOUT: '1s',
            HOOKLINE_WEBHOOK_ATTEMPTS: '2',
            HOOKLINE_WEBHOOK_CONCURRENCY: '256',
            HOOKLINE_WEBHOOK_PER_HOST: '128',
            HOOKLINE_DRAIN_TIMEOUT: '20s',
            HOOKLINE_LOG_LEVEL: 'info',
        },
    });
    const { sidecar, receiver } = context;
    const bad = [404, 500, (x) => x.reset(), (x) => x.end(), (x) => x.gone];
    const other = await Receiver.start(t); // another host: the good one is not to wait for it
    other.script('/hook', (x) => {
        const answer = pick(bad);
        return typeof answer === 'number' ? x.send(answer) : answer(x);
    });
    const end = Date.now() + SECONDS * 1000;
    let calls = 0;
    await Promise.all(
        Array.from({ length: 24 }, async () => {
            while (Date.now() < end) {
                const client = await connectTo(t, sidecar);
                calls++;
                await pick(CALLERS)(client, someRequest(random, receiver, other), random).catch(
                    () => {},
                );
                client.close();
            }
        }),
    );
    t.diagnostic(
        `${calls} connections, ${context.app.requests.length} calls of the app, ${receiver.requests.length} deliveries`,
    );

    const call = caller(t, sidecar);
    context.app.handler = (x) => x.send(200, {}, 'calm again');
    assert.equal((await call()).text, 'calm again');
    const accepted = await call(RUN, {
        query: { async: 'true', webhookEndpoint: receiver.url('/last') },
    });
    assert.equal((await receiver.envelope('/last')).run_id, accepted.id);
    for (const name of [
        'hookline_runs_queued',
        'hookline_runs_in_flight',
        'hookline_deliveries_pending',
        'hookline_app_queue_waiting',
    ]) {
        await until(`${name} is 0`, async () => (await sidecar.metric(name)) === 0);
    }
    await until(
        'only the callers of this test are connected',
        async () => (await sidecar.metric('hookline_connections_open')) <= 1,
    );
    await sidecar.stop();
    const [{ unfinished }] = await sidecar.sql(
        'SELECT count(*) AS unfinished FROM run_with_state WHERE state < 2',
    );
    assert.equal(unfinished, 0);
});
