// A slow, dead or resetting receiver holds up neither callers nor other receivers.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { Receiver } from './lib/receiver.mjs';
import { control } from './lib/rest.mjs';
import { startServer } from './lib/server.mjs';
import { gate, sleep, until, within } from './lib/until.mjs';

const TROUBLES = {
    'never answers': (x) => x.gone,
    resets: (x) => x.reset(),
    'answers byte by byte': async (x) => {
        for (const byte of 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n') {
            await x.raw(byte);
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
    },
};

for (const [name, answer] of Object.entries(TROUBLES)) {
    test(`callers go on undelayed while a receiver ${name}`, async (t) => {
        const { call, receiver } = await stage(t);
        receiver.script('/bad', answer);
        const query = { webhookEndpoint: receiver.url('/bad') };
        // One that waited for its delivery would take seconds: its attempts, or the time between.
        for (let i = 0; i < 50; i++) assert.equal((await call(RUN, { query })).status, 200);
    });
}

test('a receiver that nobody listens for delays no caller', async (t) => {
    const { call } = await stage(t);
    for (let i = 0; i < 50; i++) {
        const { status } = await call(RUN, {
            query: { webhookEndpoint: 'http://127.0.0.1:1/' },
        });
        assert.equal(status, 200);
    }
});

test(
    '10,000 deliveries wait for a dead host while a good one is served',
    { limit: 600_000 },
    async (t) => {
        const { call, receiver, sidecar } = await stage(t, {
            app: (x) => x.send(200),
            env: { HOOKLINE_LOG_LEVEL: 'warn', HOOKLINE_WEBHOOK_TIMEOUT: '1h' }, // none ends meanwhile
        });
        const dead = await stageDeadHost(t);
        const query = { async: 'true', webhookEndpoint: dead.url };
        let left = 10_000;
        await Promise.all(
            Array.from({ length: 100 }, async () => {
                while (left-- > 0) assert.equal((await call(RUN, { query })).status, 202);
            }),
        );
        await until(
            '10,000 deliveries are pending',
            async () => (await sidecar.metric('hookline_deliveries_pending')) >= 10_000,
            120_000,
        );
        for (let i = 0; i < 5; i++) {
            const path = `/good/${i}`;
            await call(RUN, { query: { webhookEndpoint: receiver.url(path) } });
            await receiver.delivered(path);
        }
        assert.ok((await sidecar.metric('hookline_deliveries_pending')) > 9_000);
        // half of all places
        assert.ok(dead.connections() <= 128, `${dead.connections()} connections to the dead host`);
    },
);

/** A host that takes connections and never answers. */
async function stageDeadHost(t) {
    const server = await startServer(t, (x) => x.gone);
    return { url: `${server.url}/dead`, connections: () => server.connections };
}

test('HOOKLINE_WEBHOOK_PER_HOST bounds the deliveries to one host at once, and more are seen to wait', async (t) => {
    const doors = gate();
    let inside = 0;
    let most = 0;
    const { call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_PER_HOST: '3' },
    });
    receiver.script('/hook', async (x) => {
        most = Math.max(most, ++inside);
        await doors.promise;
        inside--;
        await x.send(200);
    });
    for (let i = 0; i < 20; i++) await call(RUN, { query: { webhookEndpoint: receiver.url() } });
    const atLimit = (n) =>
        until(
            `${n} destinations at their limit`,
            async () => (await sidecar.metric('hookline_webhook_lanes_at_limit')) === n,
        );
    await until('three are inside', () => inside === 3);
    await atLimit(1);
    doors.open();
    await receiver.delivered('/hook', 20);
    assert.equal(most, 3);
    await atLimit(0);
});

test('deliveries that wait for their retry do not hold up others to the same host', async (t) => {
    const { call, receiver } = await stage(t, { env: { HOOKLINE_WEBHOOK_SCHEDULE: '1h' } });
    receiver.script('/gone', 404);
    const query = { webhookEndpoint: receiver.url('/gone') };
    for (let i = 0; i < 100; i++) await call(RUN, { query });
    await receiver.delivered('/gone', 100);
    await call(RUN, { query: { webhookEndpoint: receiver.url('/good') } });
    await receiver.delivered('/good');
    assert.equal(receiver.deliveries('/gone').length, 100, 'all of them wait');
});

test('a retry goes out in time while its destination’s places are taken', async (t) => {
    const { call, receiver } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_PER_HOST: '2', HOOKLINE_WEBHOOK_TIMEOUT: '5m' },
    });
    receiver.script('/hang', (x) => x.gone);
    receiver.script('/gone', 404);
    await call(RUN, { query: { webhookEndpoint: receiver.url('/gone') } });
    await receiver.delivered('/gone');
    for (let i = 0; i < 2; i++)
        await call(RUN, { query: { webhookEndpoint: receiver.url('/hang') } });
    await receiver.delivered('/hang', 2);
    await receiver.delivered('/gone', 3);
    assert.equal(receiver.deliveries('/hang').length, 2);
});

test('retries that wait for a place at their destination ask the store for nothing', async (t) => {
    const { call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_PER_HOST: '2', HOOKLINE_WEBHOOK_TIMEOUT: '5m' },
    });
    for (let i = 0; i < 10; i++) {
        const webhookEndpoint = receiver.url(`/${i}`);
        receiver.script(`/${i}`, 404, (x) => x.gone);
        await call(RUN, { query: { webhookEndpoint } });
    }
    const again = () => receiver.requests.length - 10;
    await until('two retries hang', () => again() === 2);
    let before;
    await until('the store has nothing to do', async () => {
        const commits = await sidecar.metric('hookline_store_commits_total');
        const isIdle = commits === before;
        before = commits;
        await sleep(500);
        return isIdle;
    });
    assert.equal(again(), 2);
});

test('deliveries that wait for their retry hold no bodies in memory', async (t) => {
    const [count, places, size] = [480, 4, 250 << 10]; // far more than a sanitizer holds back
    const { call, receiver, sidecar } = await stage(t, {
        env: {
            HOOKLINE_WEBHOOK_CONCURRENCY: `${places}`,
            HOOKLINE_WEBHOOK_PER_HOST: `${count}`,
            HOOKLINE_WEBHOOK_TIMEOUT: '5m',
        },
        app: (x) => x.send(200, {}, Buffer.alloc(size, 'x')),
    });
    const deliver = async (from, to) => {
        for (let i = from; i < to; i++) {
            receiver.script(`/${i}`, 404, (x) => x.gone);
            await call(RUN, { query: { webhookEndpoint: receiver.url(`/${i}`) } });
        }
        await until(
            'all but those that hang wait for their retry',
            async () =>
                (await sidecar.metric('hookline_deliveries_waiting_retry')) === to - places,
            60_000,
        );
    };
    await deliver(0, count / 4); // what is needed for any number of them is there then
    const before = await sidecar.rssAnon();
    await deliver(count / 4, count);
    const grown = (await sidecar.rssAnon()) - before;
    const bodies = (count * 3 * size) / 4;
    t.diagnostic(`RssAnon has grown by ${(grown / bodies).toFixed(2)} of the bodies`);
    assert.ok(grown < bodies / 3, `${grown} bytes, the bodies are ${bodies}`);
});

test('HOOKLINE_WEBHOOK_CONCURRENCY bounds the deliveries to all hosts at once', async (t) => {
    const doors = gate();
    let inside = 0;
    let most = 0;
    const { call } = await stage(t, { env: { HOOKLINE_WEBHOOK_CONCURRENCY: '4' } });
    const hosts = [];
    for (let i = 0; i < 5; i++) {
        const host = await Receiver.start(t);
        await call(RUN, { query: { webhookEndpoint: host.url('/known') } }); // all places are for who answers
        await host.delivered('/known');
        host.script('/hook', async (x) => {
            most = Math.max(most, ++inside);
            await doors.promise;
            inside--;
            await x.send(200);
        });
        hosts.push(host);
    }
    for (const host of [...hosts, ...hosts]) {
        await call(RUN, { query: { webhookEndpoint: host.url() } });
    }
    await until('four are inside', () => inside === 4);
    doors.open();
    for (const host of hosts) await host.delivered('/hook', 2);
    assert.equal(most, 4);
});

test('connections to a receiver are used again', async (t) => {
    const { call, receiver } = await stage(t, { env: { HOOKLINE_WEBHOOK_PER_HOST: '2' } });
    for (let i = 1; i <= 30; i++) {
        await call(RUN, { query: { webhookEndpoint: receiver.url() } });
        await receiver.delivered('/hook', i);
    }
    assert.ok(receiver.connections < 10, `${receiver.connections} connections for 30 deliveries`);
});

test('no destination holds more than half of HOOKLINE_MAX_PENDING_DELIVERIES, and only calls to it are refused', async (t) => {
    const { app, call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_MAX_PENDING_DELIVERIES: '6', HOOKLINE_WEBHOOK_TIMEOUT: '5m' },
    });
    const other = await Receiver.start(t);
    receiver.script('/hook', (x) => x.gone);
    const query = { webhookEndpoint: receiver.url() };
    for (let i = 0; i < 3; i++) assert.equal((await call(RUN, { query })).status, 200);
    await until(
        'three are pending',
        async () => (await sidecar.metric('hookline_deliveries_pending')) === 3,
    );
    const seen = app.requests.length;
    for (const mode of [{}, { async: 'true' }]) {
        const refused = await call(RUN, { query: { ...query, ...mode } });
        assertProblem(refused, 429);
        assert.match(refused.json().detail, /destination/);
    }
    assert.equal(app.requests.length, seen);
    assert.equal((await call(RUN, { query: { webhookEndpoint: other.url() } })).status, 200);
    await other.delivered('/hook');
});

test('HOOKLINE_MAX_PENDING_DELIVERIES refuses calls with a webhook with 429, others go on', async (t) => {
    const { app, call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_MAX_PENDING_DELIVERIES: '5' },
    });
    const silent = await Promise.all([1, 2].map(() => Receiver.start(t)));
    for (const host of [receiver, ...silent]) host.script('/hook', (x) => x.gone);
    const query = { webhookEndpoint: receiver.url() };
    for (const host of [receiver, receiver, ...silent, silent[0]]) {
        const asked = { query: { webhookEndpoint: host.url() } };
        assert.equal((await call(RUN, asked)).status, 200);
    }
    await until(
        'five are pending',
        async () => (await sidecar.metric('hookline_deliveries_pending')) === 5,
    );
    const seen = app.requests.length;
    for (const mode of [{}, { async: 'true' }]) {
        const refused = await call(RUN, { query: { ...query, ...mode } });
        assertProblem(refused, 429);
        assert.match(refused.headers['retry-after'], /^[1-9][0-9]*$/);
    }
    assert.equal(app.requests.length, seen);
    assert.equal((await call()).status, 200);
    assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
});

test('a caller that goes away mid-run with a webhook: the run goes on to its end', async (t) => {
    const doors = gate();
    const { app, connect, receiver } = await stage(t, {
        app: async (x) => {
            await x.body();
            await x.respond(200, { 'Transfer-Encoding': 'chunked' });
            await x.chunk('before ');
            await doors.promise;
            await x.chunk('after');
            await x.lastChunk();
        },
    });
    const hook = encodeURIComponent(receiver.url());
    for (const leave of ['close', 'reset']) {
        const client = await connect();
        await client.send(request('POST', `${RUN}?webhookEndpoint=${hook}`, {}, '{}'));
        const head = await client.responseHead();
        await client.pieces(head).next();
        client[leave]();
    }
    doors.open();
    await receiver.delivered('/hook', 2);
    for (const { bytes } of receiver.deliveries()) {
        const envelope = JSON.parse(bytes);
        assert.deepEqual([envelope.status, envelope.response], ['success', 'before after']);
    }
    assert.ok(app.requests.every((r) => !r.isCut));
});

test('before the app has answered, too', async (t) => {
    const doors = gate();
    const { app, connect, receiver } = await stage(t, {
        app: async (x) => {
            await doors.promise;
            await x.send(200, {}, 'done');
        },
    });
    const client = await connect();
    await client.send(
        request('POST', `${RUN}?webhookEndpoint=${encodeURIComponent(receiver.url())}`, {}, '{}'),
    );
    await until('it is inside the app', () => app.requests.length === 1);
    client.reset();
    doors.open();
    assert.deepEqual((await receiver.envelope()).response, 'done');
});

test('a caller that reads slowly does not keep its webhook from being complete', async (t) => {
    const body = randomBytes(24 << 20);
    const { connect, receiver } = await stage(t, { app: (x) => x.send(200, {}, body) });
    const client = await connect();
    await client.send(
        request('POST', `${RUN}?webhookEndpoint=${encodeURIComponent(receiver.url())}`, {}, ''),
    );
    const head = await client.responseHead();
    client.socket.pause();
    await until('the caller’s socket is full', () => client.socket.readableFlowing === false);
    let size = 0;
    await within(
        'the whole body',
        (async () => {
            for await (const piece of client.pieces(head)) size += piece.length;
        })(),
    );
    assert.equal(size, body.length);
    const envelope = await receiver.envelope();
    assert.ok(Buffer.from(envelope.response, 'base64').equals(body));
});

test('a synchronous run inside the app when hookline dies ends as interrupted, with its webhook', async (t) => {
    const { app, connect, receiver, sidecar } = await stage(t, { app: (x) => x.gone });
    const client = await connect();
    await client.send(
        request('POST', `${RUN}?webhookEndpoint=${encodeURIComponent(receiver.url())}`, {}, '{}'),
    );
    await until('it is inside the app', () => app.requests.length === 1);
    const record = `/v2/projects/p/apps/a/runs/${app.requests[0].id}`;
    await until('it is recorded', async () => (await control(sidecar)('GET', record)).status === 200);
    await sidecar.kill();
    await sidecar.restart();
    const envelope = await receiver.envelope();
    assert.deepEqual(
        [envelope.run_id, envelope.type, envelope.reason],
        [app.requests[0].id, 'run.failure', 'interrupted'],
    );
    assert.equal(envelope.response, null);
    assert.equal(app.requests.length, 1);
});
