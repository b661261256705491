// When a delivery is tried again, and after what; destinations that fail; receivers that misbehave.
import assert from 'node:assert/strict';
import net from 'node:net';
import { atEnd } from './lib/cleanup.mjs';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { control } from './lib/rest.mjs';
import { run } from './lib/sidecar.mjs';
import { sleep, until } from './lib/until.mjs';

const gaps = (times) => times.slice(1).map((time, i) => time - times[i]);

/** The only delivery of a run that was called with that webhook, when it is final. */
async function finalDelivery({ call, sidecar }, url, ms = 60_000) {
    const { id } = await call(RUN, { query: { webhookEndpoint: url } });
    let found;
    await until(
        'the delivery is final',
        async () => {
            const answer = await control(sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}`);
            found = answer.status === 200 && answer.json().deliveries?.[0];
            return found && found.state !== 'pending';
        },
        ms,
    );
    return found;
}

test('attempts follow HOOKLINE_WEBHOOK_SCHEDULE, through the store where a delay is long, and none comes early', { waits: true }, async (t) => {
    const s = await stage(t, { env: { HOOKLINE_WEBHOOK_SCHEDULE: '500ms,6s,1s' } });
    const times = [];
    s.receiver.script('/hook', async (x) => {
        times.push(Date.now());
        await x.send(404);
    });
    const found = await finalDelivery(s, s.receiver.url());
    assert.equal(found.state, 'dead');
    assert.equal(times.length, 4);
    const [first, second, third] = gaps(times);
    assert.ok(first >= 395 && second >= 4_790 && third >= 795, `${gaps(times)}`);
});

test('with HOOKLINE_WEBHOOK_ATTEMPTS too the last delay repeats, or the rest is not used', async (t) => {
    for (const [attempts, expected] of [['1', 1], ['5', 5]]) {
        const s = await stage(t, {
            env: { HOOKLINE_WEBHOOK_SCHEDULE: '50ms,100ms', HOOKLINE_WEBHOOK_ATTEMPTS: attempts },
        });
        s.receiver.script('/hook', 404);
        assert.equal((await finalDelivery(s, s.receiver.url())).state, 'dead');
        assert.equal(s.receiver.deliveries('/hook').length, expected);
    }
});

test('HOOKLINE_WEBHOOK_RETRY_ON says what is tried again', async (t) => {
    const s = await stage(t, {
        env: { HOOKLINE_WEBHOOK_RETRY_ON: '5xx,429', HOOKLINE_WEBHOOK_SCHEDULE: '50ms' },
    });
    for (const [status, attempts] of [[503, 2], [429, 2], [404, 1], [302, 1]]) {
        s.receiver.script(`/${status}`, status);
        assert.equal((await finalDelivery(s, s.receiver.url(`/${status}`))).state, 'dead');
        assert.equal(s.receiver.deliveries(`/${status}`).length, attempts, `${status}`);
    }
});

test('with HOOKLINE_WEBHOOK_PRESET=production a receiver that is away for a while has its webhook then', { waits: true }, async (t) => {
    const s = await stage(t, { env: { HOOKLINE_WEBHOOK_PRESET: 'production' } });
    const away = ['/404', '/408', '/425', '/429', '/500', '/503'];
    for (const path of away) {
        let n = 0;
        s.receiver.script(path, (x) => x.send(n++ ? 200 : Number(path.slice(1))));
    }
    s.receiver.script('/400', 400);
    assert.equal((await finalDelivery(s, s.receiver.url('/400'))).state, 'dead');
    const found = await Promise.all(away.map((path) => finalDelivery(s, s.receiver.url(path))));
    assert.deepEqual(found.map((delivery) => delivery.state), away.map(() => 'delivered'));
    for (const path of away) assert.equal(s.receiver.deliveries(path).length, 2, path);
    assert.equal(s.receiver.deliveries('/400').length, 1);
});

test('Retry-After puts the next attempt off, up to the longest delay of the schedule', { waits: true }, async (t) => {
    const s = await stage(t, {
        env: { HOOKLINE_WEBHOOK_RETRY_ON: '503', HOOKLINE_WEBHOOK_SCHEDULE: '100ms,100ms,7s', HOOKLINE_WEBHOOK_ATTEMPTS: '3' },
    });
    const times = [];
    const asked = ['2', '3600'];
    s.receiver.script('/hook', async (x) => {
        times.push(Date.now());
        await x.send(503, { 'Retry-After': asked[times.length - 1] ?? '0' });
    });
    await finalDelivery(s, s.receiver.url());
    const [first, second] = gaps(times);
    assert.equal(times.length, 3);
    assert.ok(first >= 1_995 && second >= 6_995, `${gaps(times)}`);
});

test('Retry-After counts however large its number is, and one that looks like a date is a number', { waits: true }, async (t) => {
    const s = await stage(t, {
        env: { HOOKLINE_WEBHOOK_RETRY_ON: '503', HOOKLINE_WEBHOOK_SCHEDULE: '100ms,3s', HOOKLINE_WEBHOOK_ATTEMPTS: '2' },
    });
    const askedFor = ['9'.repeat(30), '18446744073709552', '20010101', 'Fri, 31 Dec 9999 23:59:59 GMT'];
    const each = askedFor.map(async (asked, i) => {
        const times = [];
        const url = s.receiver.script(`/${i}`, async (x) => {
            times.push(Date.now());
            await x.send(503, { 'Retry-After': asked });
        });
        await finalDelivery(s, url);
        assert.equal(times.length, 2);
        assert.ok(gaps(times)[0] >= 2_995, `${asked}: ${gaps(times)}`);
    });
    await Promise.all(each);
});

test('what waits in the store for its next attempt waits on after a kill', { waits: true }, async (t) => {
    const s = await stage(t, { env: { HOOKLINE_WEBHOOK_SCHEDULE: '8s' } });
    const times = [];
    s.receiver.script('/hook', async (x) => {
        times.push(Date.now());
        await x.send(404);
    });
    const { id } = await s.call(RUN, { query: { webhookEndpoint: s.receiver.url() } });
    await until('it is put off', async () => (await endedAttempts(s, [id])).length > 0);
    await s.sidecar.kill();
    await s.sidecar.start();
    await until('the second attempt', () => times.length === 2);
    assert.ok(times[1] - times[0] >= 6_395, `${gaps(times)}`);
});

test('a destination that never answers is failing, and is well with the first answer', { waits: true }, async (t) => {
    const s = await stage(t, {
        env: { HOOKLINE_WEBHOOK_TIMEOUT: '1s', HOOKLINE_WEBHOOK_SCHEDULE: '50ms' },
    });
    let isWell = false;
    s.receiver.script('/hook', async (x) => (isWell ? x.send(200) : x.gone));
    const query = { webhookEndpoint: s.receiver.url() };
    for (let i = 0; i < 12; i++) await s.call(RUN, { query });
    const lines = (pattern) => s.sidecar.log.filter((line) => pattern.test(line.msg));
    await until('it is failing', () => lines(/is failing/).length === 1);
    const [line] = lines(/is failing/);
    assert.equal(line.to, new URL(s.receiver.url()).origin);
    assert.equal(line.error, 'timeout');
    assert.match(line.since, /^20.*Z$/);
    await until('it is counted', async () => (await s.sidecar.metric('hookline_webhook_destinations_failing')) === 1);
    isWell = true;
    await s.call(RUN, { query });
    await until('it answers again', () => lines(/answers again/).length === 1);
    assert.equal(lines(/is failing/).length, 1);
    await until('none is', async () => (await s.sidecar.metric('hookline_webhook_destinations_failing')) === 0);
});

/** All attempts of these runs' deliveries that have ended: when, in ms since the epoch. */
async function endedAttempts({ sidecar }, ids) {
    const ask = control(sidecar);
    const records = [];
    for (const id of ids) records.push((await ask('GET', `/v2/projects/p/apps/a/runs/${id}`)).json());
    const attempts = records.flatMap(({ deliveries }) => deliveries?.[0]?.attempts ?? []);
    return attempts
        .filter((attempt) => attempt.ended_at)
        .map((attempt) => ({ began: Date.parse(attempt.started_at), ended: Date.parse(attempt.ended_at) }));
}

const SILENCES = {
    'never answers': (x) => x.gone,
    'takes a while and hangs up': async (x) => {
        await sleep(150);
        x.reset();
    },
};

for (const store of ['sqlite', 'memory', 'postgres'])
    for (const [name, answer] of Object.entries(SILENCES))
        test(`once a destination that ${name} is failing, one attempt at a time is begun, in ${store}`, { waits: true }, async (t) => {
            const env = { HOOKLINE_WEBHOOK_TIMEOUT: '400ms', HOOKLINE_WEBHOOK_SCHEDULE: '50ms,100ms,200ms' };
            if (store === 'postgres') Object.assign(env, (await postgres(t)).env);
            if (store === 'memory') env.HOOKLINE_STORE = store;
            const s = await stage(t, { env });
            s.receiver.script('/hook', answer);
            const query = { async: 'true', webhookEndpoint: s.receiver.url() };
            const ids = [];
            for (let i = 0; i < 60; i++) ids.push((await s.call(RUN, { query })).id);
            const noted = await until('it is failing', () => s.sidecar.log.find(({ msg }) => /is failing/.test(msg)));
            let later;
            await until(
                'ten more have ended',
                async () => {
                    const all = await endedAttempts(s, ids);
                    later = all.filter(({ began }) => began > Date.parse(noted.time)).sort((a, b) => a.began - b.began);
                    return later.length >= 10;
                },
                60_000,
            );
            // times are whole milliseconds, of two clocks
            for (const [i, { began }] of later.entries())
                if (i > 0) assert.ok(began >= later[i - 1].ended - 20, JSON.stringify(later));
        });

const MISBEHAVIOURS = {
    'answers with 10 MiB': (x) => x.send(404, {}, Buffer.alloc(10 << 20, 'x')),
    'answers a byte a second': async (x) => {
        await x.raw('HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\n');
        for (let isGone = false; !isGone; ) {
            await x.raw('x');
            isGone = await Promise.race([x.gone.then(() => true), sleep(1000)]);
        }
    },
    'answers in broken chunks': async (x) => {
        await x.raw('HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX');
        await x.gone;
    },
    'redirects to itself': (x) => x.send(302, { Location: '/hook' }),
};

for (const [name, answer] of Object.entries(MISBEHAVIOURS))
    test(`a receiver that ${name} has had one attempt, with its status`, { waits: true }, async (t) => {
        const s = await stage(t, { env: { HOOKLINE_WEBHOOK_ATTEMPTS: '1' } });
        s.receiver.script('/hook', answer);
        const found = await finalDelivery(s, s.receiver.url());
        assert.equal(s.receiver.deliveries('/hook').length, 1);
        assert.match(`${found.attempts[0].status_code}`, /^(404|302)$/);
    });

for (const [name, bytes] of [
    ['floods with 1xx', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['stalls in the TLS handshake', null],
])
    test(`a receiver that ${name} costs one attempt, bounded in time`, { waits: true }, async (t) => {
        const server = net.createServer((socket) => {
            socket.on('error', () => {});
            if (!bytes) return;
            const timer = setInterval(() => socket.write(bytes.repeat(100)), 5);
            socket.on('close', () => clearInterval(timer));
        });
        await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
        atEnd(t, () => server.close());
        const s = await stage(t, {
            env: { HOOKLINE_WEBHOOK_ATTEMPTS: '1', HOOKLINE_WEBHOOK_TIMEOUT: '2s' },
        });
        const { port } = server.address();
        const found = await finalDelivery(s, `${bytes ? 'http' : 'https'}://127.0.0.1:${port}/hook`);
        assert.equal(found.state, 'dead');
        assert.equal(found.attempts.length, 1);
        assert.match(found.attempts[0].error, /^(timeout|bad_response)/);
    });

for (const [name, value, allowed] of [
    ['SCHEDULE', '1s,,2s', /durations/],
    ['SCHEDULE', '25h', /24h/],
    ['SCHEDULE', 'often', /durations/],
    ['SCHEDULE', Array(31).fill('1s').join(','), /30/],
    ['RETRY_ON', '2xx', /2xx/],
    ['RETRY_ON', '204', /2xx/],
    ['RETRY_ON', '1xx', /1xx/],
    ['RETRY_ON', '5xx,100', /1xx/],
    ['RETRY_ON', '6xx', /classes/],
    ['RETRY_ON', 'always', /network/],
    ['TRUSTED_HOSTS', 'a.example,,b.example', /commas/],
    ['HEADERS', 'X-A: 1\nX-B: 2\nHost: x', /line 3, Host/],
])
    test(`HOOKLINE_WEBHOOK_${name}=${value.slice(0, 20).replaceAll('\n', '|')} stops the start with a line`, async () => {
        const { code, stderr } = await run(['config', 'check'], { [`HOOKLINE_WEBHOOK_${name}`]: value, HOOKLINE_STORE: 'memory' });
        assert.equal(code, 2);
        assert.match(stderr, new RegExp(`HOOKLINE_WEBHOOK_${name}: .*${allowed.source}`));
    });
