// The retry table of contract 5: which outcomes are tried again, how often and how soon.
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { postgres } from './lib/postgres.mjs';
import { control } from './lib/rest.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { sleep, until } from './lib/until.mjs';

const SLACK_MS = 4000; // scheduling, TLS-less connection set-up, sanitizers

/** Sends one delivery per path; resolves when each was attempted `attempts` times and nothing follows. */
async function deliver(context, paths, attempts) {
    const { call, receiver } = context;
    await Promise.all(
        paths.map((path) => call(RUN, { query: { webhookEndpoint: receiver.url(path) } })),
    );
    for (const path of paths) await receiver.delivered(path, attempts);
    await settled(context);
    return paths.map((path) => receiver.deliveries(path));
}

/** Nothing is pending in the store, so no attempt can follow. */
async function settled({ sidecar }) {
    await until(
        'no delivery is pending',
        async () => (await sidecar.metric('hookline_deliveries_pending')) === 0,
    );
}

test('2xx is success: one attempt', async (t) => {
    const context = await stage(t);
    const statuses = [200, 201, 202, 204, 250, 299];
    for (const status of statuses) context.receiver.script(`/${status}`, status);
    for (const attempts of await deliver(
        context,
        statuses.map((s) => `/${s}`),
        1,
    )) {
        assert.equal(attempts.length, 1, attempts[0].path);
    }
});

test('5xx and every 4xx but 404 are final: one attempt', async (t) => {
    const context = await stage(t);
    const statuses = [
        400, 401, 403, 405, 408, 409, 410, 413, 418, 422, 425, 429, 451, 499, 500, 501, 502, 503,
        504, 599,
    ];
    for (const status of statuses) context.receiver.script(`/${status}`, status);
    for (const attempts of await deliver(
        context,
        statuses.map((s) => `/${s}`),
        1,
    )) {
        assert.equal(attempts.length, 1, attempts[0].path);
    }
});

test('404, redirects and other non-2xx are tried three times, within 5 s of each other', async (t) => {
    const context = await stage(t);
    const statuses = [404, 300, 301, 302, 303, 304, 307, 308, 399];
    for (const status of statuses) {
        const location = context.receiver.url('/redirected');
        context.receiver.script(`/${status}`, (x) =>
            x.respond(status, {
                Location: location,
                ...(status === 304 ? {} : { 'Content-Length': 0 }),
            }),
        );
    }
    for (const attempts of await deliver(
        context,
        statuses.map((s) => `/${s}`),
        3,
    )) {
        assert.equal(attempts.length, 3, attempts[0].path);
        assertGaps(attempts);
        assertSameBody(attempts);
    }
    assert.equal(
        context.receiver.deliveries('/redirected').length,
        0,
        'redirects are not followed',
    );
});

test('network errors are tried three times', async (t) => {
    const context = await stage(t, { env: { HOOKLINE_WEBHOOK_TIMEOUT: '500ms' } });
    context.receiver.script('/reset', (x) => x.reset());
    context.receiver.script('/closed', (x) => x.end());
    context.receiver.script('/silent', (x) => x.gone);
    context.receiver.script('/garbage', (x) =>
        x.raw('SSH-2.0-OpenSSH\r\n\r\n').then(() => x.end()),
    );
    context.receiver.script('/cut', async (x) => {
        await x.raw('HTTP/1.1 200 O');
        x.reset();
    });
    const paths = ['/reset', '/closed', '/silent', '/garbage', '/cut'];
    for (const attempts of await deliver(context, paths, 3)) {
        assert.equal(attempts.length, 3, attempts[0].path);
        assertGaps(attempts, 500);
        assertSameBody(attempts);
    }
});

test('a kept connection that dies without an answer costs one attempt, not two requests', { waits: true }, async (t) => {
    const context = await stage(t);
    const { call, receiver } = context;
    receiver.script('/drop', (x) => x.end());
    for (let i = 0; i < 4; i++) {
        await call(RUN, { query: { webhookEndpoint: receiver.url('/warm') } });
        await receiver.delivered('/warm', i + 1);
    }
    const [attempts] = await deliver(context, ['/drop'], 3);
    assert.equal(attempts.length, 3);
});

test('a receiver that nobody listens for is tried three times and given up', { waits: true }, async (t) => {
    const { call, sidecar } = await stage(t);
    const { id, status } = await call(RUN, {
        query: { webhookEndpoint: 'http://127.0.0.1:1/nobody' },
    });
    assert.equal(status, 200);
    const isFailure = (line) => line.level === 'error' && line.run_id === id;
    await until('the failure is logged', () => sidecar.log.some(isFailure));
    await sidecar.stop();
    const attempts = await sidecar.sql('SELECT n, error FROM attempt ORDER BY n');
    assert.deepEqual(
        attempts.map(({ n }) => n),
        [1, 2, 3],
    );
    for (const { error } of attempts) assert.match(error, /connect_failed/);
});

test('a delivery that succeeds at its second or third attempt is done', { waits: true }, async (t) => {
    const context = await stage(t);
    context.receiver.script('/second', 404, 200);
    context.receiver.script('/third', 404, (x) => x.reset(), 200);
    context.receiver.script('/then-final', 302, 500);
    await deliver(context, ['/second', '/then-final'], 2);
    await deliver(context, ['/third'], 3);
    assert.equal(context.receiver.deliveries('/second').length, 2);
    assert.equal(context.receiver.deliveries('/then-final').length, 2);
    assert.equal(context.receiver.deliveries('/third').length, 3);
});

test('HOOKLINE_WEBHOOK_ATTEMPTS changes the total', async (t) => {
    for (const [total, env] of [
        [1, '1'],
        [2, '2'],
    ]) {
        const context = await stage(t, { env: { HOOKLINE_WEBHOOK_ATTEMPTS: env } });
        context.receiver.script('/hook', 404);
        const [attempts] = await deliver(context, ['/hook'], total);
        assert.equal(attempts.length, total);
    }
});

test('a receiver’s long answer does not hold anything up', async (t) => {
    const context = await stage(t);
    context.receiver.script('/endless', async (x) => {
        await x.respond(200, { 'Content-Length': 1 << 30 });
        for (let i = 0; i < 1000; i++) await x.raw(Buffer.alloc(65536));
    });
    await deliver(context, ['/endless', '/good'], 1);
    assert.equal(context.receiver.deliveries('/endless').length, 1, 'the status was 2xx');
});

test('attempts go on after a restart where they were', { waits: true }, async (t) => {
    const context = await stage(t);
    context.receiver.script('/hook', 404);
    await context.call(RUN, { query: { webhookEndpoint: context.receiver.url() } });
    await context.receiver.delivered('/hook', 2);
    await context.sidecar.kill();
    await context.sidecar.restart();
    await settled(context);
    const count = context.receiver.deliveries().length;
    assert.ok(count === 2 || count === 3, `${count} attempts`);
    assertSameBody(context.receiver.deliveries());
});

for (const store of ['sqlite', 'postgres'])
    test(`a delivery that waits for its retry has as many attempts as ever when hookline ends in order, in ${store}`, { waits: true }, async (t) => {
        const env = { HOOKLINE_WEBHOOK_SCHEDULE: '6s,100ms' };
        const s = await stage(t, { env: { ...env, ...(store === 'postgres' && (await postgres(t)).env) } });
        s.receiver.script('/hook', 404);
        const { id } = await s.call(RUN, { query: { webhookEndpoint: s.receiver.url() } });
        const attemptsOf = async () => {
            const { deliveries } = (await control(s.sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}`)).json();
            return deliveries[0]?.attempts ?? [];
        };
        await until('it waits', async () => (await attemptsOf())[0]?.ended_at);
        await s.sidecar.restart();
        await settled(s);
        assert.equal(s.receiver.deliveries('/hook').length, 3);
        const attempts = await attemptsOf();
        assert.deepEqual(attempts.map((attempt) => [attempt.n, attempt.status_code]), [[1, 404], [2, 404], [3, 404]]);
    });

test('a delivery accepted while its receiver is away arrives after a restart', async (t) => {
    const context = await stage(t);
    let isUp = false;
    context.receiver.script('/hook', (x) => (isUp ? x.send(200) : x.gone));
    const { id } = await context.call(RUN, { query: { webhookEndpoint: context.receiver.url() } });
    await context.receiver.delivered('/hook');
    await context.sidecar.kill();
    isUp = true;
    await context.sidecar.restart();
    const delivery = await context.receiver.delivered('/hook', 2);
    assert.equal(JSON.parse(delivery.bytes).run_id, id);
    assertSameBody(context.receiver.deliveries());
});

function assertGaps(attempts, attemptMs = 0) {
    const gaps = attempts.slice(1).map((attempt, i) => attempt.at - attempts[i].at);
    for (const gap of gaps)
        assert.ok(gap <= 5000 + attemptMs + SLACK_MS, `${attempts[0].path}: ${gap} ms`);
    assert.ok(gaps[0] >= 500, `${attempts[0].path}: the second attempt came after ${gaps[0]} ms`);
    assert.ok(gaps[1] >= 2000, `${attempts[0].path}: the third attempt came after ${gaps[1]} ms`);
}

function assertSameBody(attempts) {
    for (const { bytes } of attempts) assert.ok(bytes.equals(attempts[0].bytes));
}

test('a response’s body that does not end keeps no place: the verdict stands with the head', async (t) => {
    const { call, receiver } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_PER_HOST: '1', HOOKLINE_WEBHOOK_TIMEOUT: '5m' },
    });
    receiver.script('/drip', async (x) => {
        await x.respond(200, { 'Content-Length': 1000 });
        await x.gone;
    });
    await call(RUN, { query: { webhookEndpoint: receiver.url('/drip') } });
    await receiver.delivered('/drip');
    await call(RUN, { query: { webhookEndpoint: receiver.url('/next') } });
    await receiver.delivered('/next');
    assert.equal(receiver.deliveries('/drip').length, 1);
});

/** The webhook of a run whose answer has 10 MiB, to a receiver that says `status` to the head; then `read` has its socket. */
async function stageEarlyAnswer(t, status, read) {
    const server = net.createServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', (head) => {
            socket.pause();
            socket.write(`HTTP/1.1 ${status} Early\r\nContent-Length: 0\r\n\r\n`);
            read?.(socket, head);
        });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const sockets = new Set();
    server.on('connection', (socket) => sockets.add(socket));
    atEnd(t, () => {
        for (const socket of sockets) socket.destroy();
        server.close();
    });
    const { call, sidecar } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_TIMEOUT: '5m' },
        app: (x) => x.send(200, { 'Content-Type': 'text/plain' }, Buffer.alloc(10 << 20, 'x')),
    });
    const { id } = await call(RUN, { query: { webhookEndpoint: `http://127.0.0.1:${server.address().port}/` } });
    return () =>
        until(
            'the delivery is final',
            async () => {
                const { deliveries } = (await control(sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}`)).json();
                return deliveries?.[0]?.state !== 'pending' && deliveries?.[0];
            },
            60_000,
        );
}

for (const [status, state] of [[200, 'delivered'], [500, 'dead']])
    test(`a receiver that answers ${status} before 10 MiB that it never reads keeps no place: its answer counts`, { waits: true }, async (t) => {
        const final = await (await stageEarlyAnswer(t, status))();
        assert.equal(final.state, state);
        assert.deepEqual(final.attempts.map((attempt) => attempt.status_code), [status]);
    });

test('a receiver that answers 200 at once and reads slowly gets the whole body', { waits: true }, async (t) => {
    const end = Buffer.from('"}'); // of the envelope
    let [size, tail, ms] = [0, Buffer.alloc(0), 0];
    const settle = await stageEarlyAnswer(t, 200, async (socket, head) => {
        const began = Date.now();
        const take = (bytes) => {
            size += bytes.length;
            tail = Buffer.concat([tail, bytes]).subarray(-end.length);
        };
        take(head);
        for (; size < 10 << 20 || !tail.equals(end); await sleep(100)) {
            if (socket.destroyed) break;
            const bytes = socket.read(256 << 10) ?? socket.read();
            if (bytes) take(bytes);
        }
        ms = Date.now() - began;
    });
    assert.equal((await settle()).state, 'delivered');
    await until('all has come', () => ms > 0);
    assert.ok(size > 10 << 20 && tail.equals(end), `${size} bytes`);
});

for (const [what, fields] of [
    ['a field of 200 KB', { 'X-Large': 'x'.repeat(200_000) }],
    ['9,000 fields of 60 bytes', Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`X-${i}`, 'x'.repeat(50)]))],
])
    test(`a response with ${what} is a bad response, and says so`, { waits: true }, async (t) => {
        const context = await stage(t);
        context.receiver.script('/large', (x) => x.respond(200, { ...fields, 'Content-Length': 0 }));
        await deliver(context, ['/large'], 3);
        await context.sidecar.stop();
        const rows = await context.sidecar.sql('SELECT error FROM attempt');
        assert.equal(rows.length, 3);
        for (const { error } of rows) assert.equal(error, 'bad_response: the head is too large');
    });
