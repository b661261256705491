// /metrics is valid Prometheus text with bounded labels, and its figures are right.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { connect, request } from './lib/raw.mjs';
import { gate, sleep, until } from './lib/until.mjs';

test('the admin listener serves Prometheus text', async (t) => {
    const { sidecar } = await stage(t);
    const { status, headers } = await sidecar.admin('/metrics');
    assert.equal(status, 200);
    assert.match(headers['content-type'], /^text\/plain; version=0\.0\.4/);
    const families = await sidecar.metrics();
    assert.ok(families.length > 5);
    for (const { name, type, help } of families) {
        assert.match(name, /^(hookline|process)_/);
        assert.ok(help, `${name} has help`);
        if (type === 'counter') assert.match(name, /_total$/);
    }
});

test('histograms are cumulative and end with +Inf', async (t) => {
    const { call, sidecar } = await stage(t);
    for (let i = 0; i < 10; i++) await call();
    const histograms = (await sidecar.metrics()).filter(({ type }) => type === 'histogram');
    assert.ok(histograms.length > 0);
    for (const { name, samples } of histograms) {
        const series = new Map();
        for (const {
            name: sample,
            labels: { le, ...labels },
            value,
        } of samples) {
            if (!sample.endsWith('_bucket')) continue;
            const key = JSON.stringify(labels);
            series.set(key, [
                ...(series.get(key) ?? []),
                [le === '+Inf' ? Infinity : Number(le), value],
            ]);
        }
        for (const [key, buckets] of series) {
            assert.equal(buckets.at(-1)[0], Infinity, name);
            for (let i = 1; i < buckets.length; i++) {
                assert.ok(
                    buckets[i][0] > buckets[i - 1][0] && buckets[i][1] >= buckets[i - 1][1],
                    `${name}${key}`,
                );
            }
            const count = samples.find(
                (s) => s.name.endsWith('_count') && JSON.stringify(s.labels) === key,
            );
            assert.equal(count.value, buckets.at(-1)[1]);
        }
    }
});

test('requests are counted', async (t) => {
    const { call, sidecar } = await stage(t, { app: (x) => x.send(x.path === '/bad' ? 500 : 200) });
    const before = (await sidecar.metric('hookline_http_requests_total')) ?? 0;
    for (let i = 0; i < 7; i++) await call();
    for (let i = 0; i < 3; i++) await call('/v4/p/a/bad');
    await until(
        'ten more',
        async () => (await sidecar.metric('hookline_http_requests_total')) - before >= 10,
    );
});

test('labels are bounded: unknown methods are "other", no paths, ids or URLs', async (t) => {
    const { connect, call, receiver, sidecar } = await stage(t);
    for (const method of ['BREW', 'MARKER-METHOD', 'GET']) {
        const client = await connect();
        await client.send(request(method, '/v4/marker-project/marker-app/marker-path'));
        await client.response(method);
    }
    const { id } = await call(RUN, {
        query: { webhookEndpoint: receiver.url('/marker-hook') },
        headers: { 'x-webhook-secret': 'marker-secret' },
    });
    await receiver.delivered('/marker-hook');
    const { text } = await sidecar.admin('/metrics');
    assert.doesNotMatch(text, /marker|BREW/i);
    assert.ok(!text.includes(id));
    const methods = new Set(
        (await sidecar.metrics())
            .flatMap((f) => f.samples)
            .map((s) => s.labels.method)
            .filter(Boolean),
    );
    for (const method of methods)
        assert.match(method, /^(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|CONNECT|TRACE|other)$/i);
});

test('the series do not grow with calls', async (t) => {
    const { call, sidecar } = await stage(t);
    const names = async () => (await sidecar.metrics()).flatMap((f) => f.samples).map(({ name, labels }) => `${name}${JSON.stringify(labels)}`);
    const count = async () => (await sidecar.metric('hookline_http_requests_total')) + (await sidecar.metric('hookline_runs_total'));
    const none = await count();
    await call();
    await until('it is counted', async () => (await count()) === none + 2); // after its caller has the answer
    const before = await names();
    for (let i = 0; i < 30; i++) assert.equal((await call(`/v4/project-${i}/app-${i}/path-${i}`)).status, 200);
    assert.deepEqual(await names(), before);
});

test('delivery outcomes are counted', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    receiver.script('/final', 500);
    receiver.script('/retried', 404, 200);
    for (const path of ['/good', '/final', '/retried']) {
        await call(RUN, { query: { webhookEndpoint: receiver.url(path) } });
    }
    const counted = (outcome) => sidecar.metric('hookline_delivery_attempts_total', { outcome });
    await until('two delivered', async () => (await counted('delivered')) === 2);
    assert.equal(await counted('retry'), 1);
    assert.equal(await counted('dead'), 1);
    assert.equal(await sidecar.metric('hookline_dead_letters_total'), 1);
});

test('other paths of the admin listener are 404, health is open', async (t) => {
    const { sidecar } = await stage(t);
    for (const path of ['/other', '/v4', '/v2/projects/p/nothing']) {
        const { status } = await sidecar.admin(path);
        assert.ok(status === 404 || status === 401, `${path}: ${status}`);
    }
    assert.equal((await sidecar.admin('/healthz')).status, 200);
});

test('the admin listener refuses what is not a request, and goes on', async (t) => {
    const { sidecar } = await stage(t);
    const admin = { port: sidecar.adminPort };
    for (const bytes of [
        'garbage\r\n\r\n',
        'GET /metrics HTTP/1.1\r\n\r\n',
        'GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
        `GET /metrics HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(200_000)}\r\n\r\n`,
    ]) {
        const client = await connect(t, admin);
        void client.send(bytes);
        const { status } = await client.response();
        assert.ok(status >= 400 && status < 500, `${status}`);
        assert.ok(await client.isClosed());
    }
    const client = await connect(t, admin);
    const get = request('GET', '/healthz');
    await client.send(Buffer.concat([get, get]));
    assert.equal((await client.response()).status, 200);
    assert.equal((await client.response()).status, 200);
    await client.send(request('HEAD', '/metrics'));
    assert.equal((await client.response('HEAD')).status, 200);
    await client.send(request('POST', '/metrics', {}, 'x'));
    assert.equal((await client.response()).status, 405);
});

test('each request is counted once, by how it ended for its caller, and so is its duration', async (t) => {
    const { app, call, connect, sidecar } = await stage(t, {
        env: { HOOKLINE_APP_HEAD_TIMEOUT: '1500ms', HOOKLINE_SSE_HEARTBEAT: '0' },
        app: async (x) => {
            if (x.path === '/cut') {
                await x.respond(200, { 'Content-Length': 100 });
                await x.raw('half');
                x.reset();
            } else if (x.path === '/stream-cut') {
                const chunked = { 'Transfer-Encoding': 'chunked' };
                await x.respond(200, { 'Content-Type': 'text/event-stream', ...chunked });
                await x.chunk('data: 1\n\n');
                x.reset();
            } else if (x.path === '/reset') x.reset();
            else if (x.path === '/bad') await x.raw('garbage\r\n\r\n').then(() => x.end());
            else if (x.path === '/silent' || x.path === '/left') await x.gone;
            else await x.send(200);
        },
    });
    await call();
    await assert.rejects(call('/v4/p/a/cut'));
    await assert.rejects(call('/v4/p/a/stream-cut'));
    assert.equal((await call('/v4/p/a/reset')).status, 502);
    assert.equal((await call('/v4/p/a/bad')).status, 502);
    assert.equal((await call('/v4/p/a/silent')).status, 504);
    assert.equal((await call(RUN, { query: { async: 'maybe' } })).status, 400);
    assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    const client = await connect();
    await client.send('no request\r\n\r\n');
    assert.equal((await client.response()).status, 400);
    const leaver = await connect();
    await leaver.send(request('POST', '/v4/p/a/left'));
    await until('it is inside', () => app.requests.some((x) => x.path === '/left'));
    leaver.close();

    const requests = (labels) => sidecar.metric('hookline_http_requests_total', labels);
    await until('the leaver is counted', async () => (await requests({ code: 'none' })) === 1);
    assert.equal(await requests({ mode: 'sync', code: '2xx' }), 1);
    assert.equal(await requests({ mode: 'sync', code: 'cut' }), 1);
    assert.equal(await requests({ mode: 'stream', code: 'cut' }), 1);
    assert.equal(await requests({ mode: 'sync', code: '5xx' }), 3);
    assert.equal(await requests({ mode: 'async', code: '2xx' }), 1);
    assert.equal(await requests({ code: '4xx' }), 2);

    const families = await sidecar.metrics();
    const durations = families.find((f) => f.name === 'hookline_http_request_duration_seconds');
    const counted = families.find((f) => f.name === 'hookline_http_requests_total').samples;
    for (const { name, labels, value } of durations.samples) {
        if (!name.endsWith('_count')) continue;
        const all = counted.filter((s) => s.labels.mode === labels.mode);
        assert.equal(
            value,
            all.reduce((sum, s) => sum + s.value, 0),
            `durations of ${labels.mode}`,
        );
    }

    const errors = (reason) => sidecar.metric('hookline_upstream_errors_total', { reason });
    assert.equal(await errors('timeout'), 1);
    assert.equal(await errors('bad_response'), 1);
    assert.equal(await errors('upstream_reset'), 3);
});

test('an app that cannot be reached counts as such', async (t) => {
    const { call, sidecar } = await stage(t, {
        app: null,
        env: { HOOKLINE_CONNECT_TIMEOUT: '100ms' },
    });
    assert.equal((await call()).status, 502);
    const reason = 'upstream_unreachable';
    assert.equal(await sidecar.metric('hookline_upstream_errors_total', { reason }), 1);
});

test('each run is measured once: how long it waited, and until its answer began', async (t) => {
    const inside = gate();
    const rest = gate();
    const { app, call, connect, sidecar } = await stage(t, {
        app: async (x) => {
            await x.body();
            if (x.path === '/held') await inside.promise;
            if (x.path === '/reset') return x.reset();
            if (x.path !== '/stream') return x.send(200);
            await x.respond(200, {
                'Content-Type': 'text/event-stream',
                'Transfer-Encoding': 'chunked',
            });
            await x.chunk('data: 1\n\n');
            await rest.promise;
            await x.lastChunk();
        },
        env: { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_WORKERS: '2' },
    });
    const read = async (name, mode) => {
        const of = (what) => sidecar.metric(`hookline_${name}_seconds_${what}`, { mode });
        return { sum: await of('sum'), count: await of('count') };
    };
    const waited = (mode) => read('run_queue_wait', mode);
    const first = (mode) => read('run_first_byte', mode);
    await call();
    await until('the call has ended', async () => (await first('sync')).count === 1);
    assert.deepEqual(await waited('sync'), { sum: 0, count: 1 }, 'nobody was before it');

    const held = call('/v4/p/a/held');
    await until('it is inside', () => app.requests.some(({ path }) => path === '/held'));
    await call(RUN, { query: { async: 'true' } });
    const waiting = call();
    await until('one waits', async () => (await sidecar.metric('hookline_app_queue_waiting')) === 1);
    await sleep(120);
    inside.open();
    await Promise.all([held, waiting]);
    await until('the run has ended', async () => (await first('async')).count === 1);
    assert.equal((await waited('sync')).count, 3);
    assert.ok((await waited('sync')).sum >= 0.1);
    assert.ok((await waited('async')).sum >= 0.1);
    assert.equal((await first('sync')).count, 3);
    assert.ok((await first('sync')).sum >= 0.2, 'one waited for it, one for a slot');

    const reader = await connect();
    await reader.send(request('POST', '/v4/p/a/stream'));
    await reader.pieces(await reader.responseHead('POST')).next();
    await sleep(120);
    rest.open();
    await until('the stream has ended', async () => (await waited('stream')).count === 1);
    const whole = await read('http_request_duration', 'stream');
    assert.equal((await first('stream')).count, 1);
    assert.ok(whole.sum - (await first('stream')).sum >= 0.1, 'its head came first');

    assert.equal((await call('/v4/p/a/reset')).status, 502);
    await until('it has ended', async () => (await waited('sync')).count === 4);
    assert.equal((await first('sync')).count, 3, 'no answer, no first byte');
});

test('runs of all modes are counted, what is passed through is not', async (t) => {
    const { call, sidecar } = await stage(t, {
        app: (x) =>
            x.path === '/stream'
                ? x.send(200, { 'Content-Type': 'text/event-stream' }, 'data: 1\n\n')
                : x.send(x.path === '/bad' ? 500 : 200),
    });
    await call();
    await call('/v4/p/a/bad');
    await call('/v4/p/a/stream');
    await call('/passed/through');
    for (let i = 0; i < 2; i++) await call(RUN, { query: { async: 'true' } });
    const runs = (labels) => sidecar.metric('hookline_runs_total', labels);
    await until(
        'the asynchronous ones have ended',
        async () => (await runs({ mode: 'async' })) === 2,
    );
    assert.equal(await runs({ mode: 'sync', state: 'success' }), 1);
    assert.equal(await runs({ mode: 'sync', state: 'failure' }), 1);
    assert.equal(await runs({ mode: 'stream', state: 'success' }), 1);
    assert.equal(await runs({}), 5);
    assert.equal(await sidecar.metric('hookline_run_duration_seconds_count'), 2);
});
