// /metrics is valid Prometheus text with bounded labels, and its figures are right.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { connect, request } from './lib/raw.mjs';
import { until } from './lib/until.mjs';

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
    const count = async () => (await sidecar.metrics()).flatMap((f) => f.samples).length;
    await call();
    const before = await count();
    for (let i = 0; i < 30; i++) await call(`/v4/project-${i}/app-${i}/path-${i}`);
    assert.equal(await count(), before);
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
    for (const path of ['/other', '/v4/p/a/run', '/v2/projects/p/nothing']) {
        const { status } = await sidecar.admin(path);
        assert.ok(status === 404 || status === 401, `${path}: ${status}`);
    }
    assert.equal((await sidecar.admin('/healthz')).status, 200);
});

test('the admin listener refuses what is no request, and goes on', async (t) => {
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
