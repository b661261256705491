// Traces: what a collector is told of a call, from its caller's traceparent to its webhooks', and that none costs a call.
import assert from 'node:assert/strict';
import { Collector } from './lib/collector.mjs';
import { test } from './lib/case.mjs';
import { fleet } from './lib/replicas.mjs';
import { control } from './lib/rest.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736', CALLER = '00f067aa0ba902b7';
const SAMPLED = `00-${TRACE}-${CALLER}-01`, UNSAMPLED = `00-${TRACE}-${CALLER}-00`;

async function traced(t, options = {}) {
    const collector = await Collector.start(t);
    const all = await stage(t, { ...options, env: collector.env({ HOOKLINE_ACCESS_LOG: 'on', ...options.env }) });
    return { ...all, collector };
}

const spanOf = (traceparent) => traceparent.split('-')[2];
const isClient = (span) => span.kind === 'client';

test('a call is a server span in its caller’s trace, and the app’s a client span in it', async (t) => {
    const { app, call, collector, sidecar } = await traced(t);
    const answer = await call('/v4/p/a/things/7', {
        method: 'PUT', query: { secret: 'x' }, body: 'ping',
        headers: { traceparent: SAMPLED, tracestate: 'vendor=1', 'user-agent': 'tests/1' },
    });
    assert.equal(answer.status, 200);
    const [server, client] = await collector.ofRun(answer.id, 2);
    assert.equal(server.kind, 'server');
    assert.equal(server.name, 'PUT /v4/{project}/{app}/{path}');
    assert.deepEqual([server.trace, server.parent], [TRACE, CALLER]);
    assert.deepEqual(server.attributes, {
        'http.request.method': 'PUT', 'http.route': '/v4/{project}/{app}/{path}', 'url.scheme': 'http',
        'url.path': '/v4/p/a/things/7', 'server.address': '127.0.0.1', 'server.port': sidecar.port,
        'client.address': '127.0.0.1', 'network.protocol.version': '1.1', 'user_agent.original': 'tests/1',
        'hookline.run_id': answer.id, 'hookline.mode': 'sync', 'http.response.status_code': 200,
    });
    assert.equal(client.kind, 'client');
    assert.deepEqual([client.trace, client.parent, client.name], [TRACE, server.id, 'PUT']);
    assert.deepEqual(client.attributes, {
        'http.request.method': 'PUT', 'url.scheme': 'http', 'url.path': '/things/7', 'server.address': '127.0.0.1',
        'server.port': Number(new URL(app.url).port), 'network.protocol.version': '1.1',
        'hookline.run_id': answer.id, 'http.response.status_code': 200,
    });
    assert.ok(server.start <= client.start && client.end <= server.end);
    const [seen] = app.requests;
    assert.equal(seen.get('traceparent'), `00-${TRACE}-${client.id}-01`);
    assert.equal(seen.get('tracestate'), 'vendor=1');
    assert.equal(collector.resources[0]['service.name'], 'hookline');
    const line = await until('its line', () => sidecar.log.find((x) => x.msg === 'call' && x.run_id === answer.id));
    assert.equal(line.trace_id, TRACE);
});

test('an asynchronous call is one trace over its queue, a kill, its retries and its webhooks', { limit: 120_000 }, async (t) => {
    const held = gate();
    let calls = 0;
    const { app, receiver, call, collector, sidecar } = await traced(t, {
        app: async (x) => {
            if (++calls === 1) await held.promise; // until the kill
            return x.isCut ? undefined : x.json({});
        },
        env: { HOOKLINE_RUN_ATTEMPTS: '2', HOOKLINE_KEEP_REQUESTS: 'all', HOOKLINE_WEBHOOK_SCHEDULE: '10ms', HOOKLINE_WEBHOOK_RETRY_ON: 'network,5xx' },
    });
    receiver.script('/hook', 503, 200);
    const answer = await call(RUN, {
        body: 'ping', query: { async: 'true', webhookEndpoint: `${receiver.url()}?key=secret` },
        headers: { traceparent: SAMPLED, 'x-run-tag': 'tier=gold, order=17' },
    });
    assert.equal(answer.status, 202);
    await until('the app has it', () => app.requests.length === 1);
    const [server, first] = await collector.ofRun(answer.id, 2);
    await sidecar.kill();
    held.open();
    await sidecar.start();
    const delivered = [await receiver.delivered('/hook', 1), await receiver.delivered('/hook', 2)];

    const spans = await collector.ofRun(answer.id, 6);
    const [queued, again] = spans.filter((x) => x.name === 'queue');
    const [called] = spans.filter((x) => isClient(x) && x.name === 'POST');
    const [refused, taken] = spans.filter((x) => x.name === 'POST webhook');
    assert.deepEqual([server.kind, server.parent, server.attributes['http.response.status_code']], ['server', CALLER, 202]);
    assert.deepEqual(spans.map((x) => x.trace), spans.map(() => TRACE));
    const tags = { 'hookline.tag.tier': 'gold', 'hookline.tag.order': '17' };
    for (const span of [server, called])
        assert.deepEqual(Object.fromEntries(Object.keys(tags).map((name) => [name, span.attributes[name]])), tags);
    for (const child of [queued, again, called, refused, taken]) assert.equal(child.parent, server.id, child.name);
    assert.deepEqual(queued, first);
    assert.deepEqual([queued, again, called].map((x) => x.attributes['hookline.attempt']), [1, 2, 2]);
    assert.ok(queued.end <= again.start, 'it waits again when its first attempt is over');
    assert.deepEqual(app.requests.map((x) => x.get('traceparent').slice(0, 36)), [`00-${TRACE}-`, `00-${TRACE}-`]);
    assert.notEqual(spanOf(app.requests[0].get('traceparent')), called.id);
    assert.equal(app.requests[1].get('traceparent'), `00-${TRACE}-${called.id}-01`);
    assert.deepEqual(delivered.map((x) => x.get('traceparent')), [refused, taken].map((x) => `00-${TRACE}-${x.id}-01`));
    assert.deepEqual([refused, taken].map((x) => [x.isFailed, x.attributes]), [[true, {
        'http.request.method': 'POST', 'url.scheme': 'http', 'server.address': '127.0.0.1',
        'server.port': Number(new URL(receiver.url()).port), 'hookline.run_id': answer.id, 'hookline.attempt': 1, ...tags,
        'http.response.status_code': 503, 'error.type': '503',
    }], [false, {
        'http.request.method': 'POST', 'url.scheme': 'http', 'server.address': '127.0.0.1',
        'server.port': Number(new URL(receiver.url()).port), 'hookline.run_id': answer.id, 'hookline.attempt': 2, ...tags,
        'http.request.resend_count': 1, 'http.response.status_code': 200,
    }]]);
    for (const msg of ['run finished', 'webhook delivered']) {
        const line = await until(msg, () => sidecar.log.find((x) => x.msg === msg && x.run_id === answer.id));
        assert.equal(line.trace_id, TRACE);
    }

    const rerun = (await control(sidecar)('POST', `/v2/projects/p/apps/a/runs/${answer.id}/rerun`)).json().run_id;
    const later = await collector.ofRun(rerun, 3);
    assert.deepEqual(later.map((x) => [x.trace, x.parent]), later.map(() => [TRACE, server.id]), 'a rerun is in its run’s trace');
});

test('a run that another replica takes up is in the same trace', async (t) => {
    const collector = await Collector.start(t);
    const replicas = await fleet(t, { env: collector.env() });
    const [a, b] = [
        await replicas.add('a', { hasApp: false, env: { HOOKLINE_OTEL_SERVICE_NAME: 'of-a' } }),
        await replicas.add('b', { env: { HOOKLINE_OTEL_SERVICE_NAME: 'of-b' } }),
    ];
    const { id } = await a.call(RUN, { body: 'ping', query: { async: 'true', webhookEndpoint: replicas.receiver.url() }, headers: { traceparent: SAMPLED } });
    const spans = await collector.ofRun(id, 4); // in no order: each machine has a clock of its own
    const server = spans.find((x) => x.kind === 'server'), others = spans.filter((x) => x !== server);
    assert.deepEqual([server.service, server.trace, server.parent], ['of-a', TRACE, CALLER]);
    assert.deepEqual(others.map((x) => [x.trace, x.parent]), others.map(() => [TRACE, server.id]));
    const called = others.find((x) => x.name === 'POST');
    assert.equal(called.service, 'of-b');
    assert.equal(b.app.requests[0].get('traceparent'), `00-${TRACE}-${called.id}-01`);
});

test('what is not sampled goes on with its caller’s traceparent, and its webhook too, and nothing is told of it', async (t) => {
    const { app, receiver, call, collector } = await traced(t);
    const headers = { traceparent: UNSAMPLED, tracestate: 'vendor=1' };
    await call(RUN, { body: 'ping', headers });
    await call(RUN, { body: 'ping', headers, query: { async: 'true', webhookEndpoint: receiver.url() } });
    const delivery = await receiver.delivered();
    for (const x of [...app.requests, delivery]) assert.equal(x.get('traceparent'), UNSAMPLED);
    for (const x of app.requests) assert.equal(x.get('tracestate'), 'vendor=1');
    const last = await call(RUN, { body: 'ping', query: { webhookEndpoint: receiver.url('/last') } }); // it begins a trace, its own
    const [server, called, webhook] = await collector.ofRun(last.id, 3);
    assert.deepEqual([server.trace, server.parent], [last.id.replaceAll('-', ''), '']);
    assert.deepEqual([called.parent, webhook.parent, webhook.name], [server.id, server.id, 'POST webhook']);
    assert.equal(collector.spans.length, 3);
});

test('a sampler that takes nothing says so to the app, with a span id of its own', async (t) => {
    const { app, call, collector, sidecar } = await traced(t, { env: { OTEL_TRACES_SAMPLER: 'always_off' } });
    await call(RUN, { body: 'ping', headers: { traceparent: SAMPLED, tracestate: 'vendor=1' } });
    const own = await call(RUN, { body: 'ping' });
    await call(RUN, { body: 'ping', headers: { traceparent: `00-${TRACE}-${CALLER}-03` } });
    const [first, second, third] = app.requests;
    assert.match(first.get('traceparent'), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    assert.notEqual(spanOf(first.get('traceparent')), CALLER);
    assert.equal(first.get('tracestate'), 'vendor=1');
    assert.match(second.get('traceparent'), new RegExp(`^00-${own.id.replaceAll('-', '')}-[0-9a-f]{16}-00$`));
    assert.match(third.get('traceparent'), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-02$`), 'the id is still said to be random');
    await sidecar.stop();
    assert.deepEqual(collector.posts, []);
});

test('calls that are refused, and those that fail, are spans that say how; the REST interface has none', async (t) => {
    const { call, collector, sidecar } = await traced(t, { app: null, env: { HOOKLINE_CONNECT_TIMEOUT: '1s' } });
    const wrong = await call(RUN, { method: 'GET' });
    const [refused] = await collector.ofRun(wrong.id, 1);
    assert.deepEqual([refused.kind, refused.attributes['http.response.status_code'], refused.isFailed], ['server', 405, false]);
    const away = await call(RUN, { body: 'ping' });
    const [failed, ...others] = await collector.seen((x) => x.attributes['hookline.run_id'] === away.id && x.kind === 'server');
    assert.deepEqual([failed.attributes['http.response.status_code'], failed.attributes['error.type'], failed.isFailed], [away.status, `${away.status}`, true]);
    assert.deepEqual(others, []);
    await control(sidecar)('GET', '/v2/projects/p/apps/a/runs');
    await call('/v2/projects/p/apps/a/runs/nothing', { method: 'GET' });
    await sidecar.stop();
    assert.deepEqual(collector.spans.filter((x) => x.attributes['url.path']?.startsWith('/v2')), []);
    assert.equal(collector.spans.filter((x) => isClient(x)).length, 0, 'no app was called');
});

test('a stream that is followed is one trace with its call', async (t) => {
    const more = gate();
    const { call, collector, sidecar } = await traced(t, {
        app: async (x) => {
            await x.respond(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' });
            await x.chunk('data: 1\n\n');
            await more.promise;
            await x.lastChunk();
        },
    });
    const { id } = await call(RUN, { body: 'ping', query: { async: 'true' }, headers: { traceparent: SAMPLED } });
    const follower = control(sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}/events`);
    more.open();
    await follower;
    const [server, queued, called] = await collector.ofRun(id, 3);
    assert.deepEqual([server, queued, called].map((x) => x.trace), [TRACE, TRACE, TRACE]);
    assert.equal(called.kind, 'client');
});

test('a collector that is gone, hangs, refuses, redirects or talks on and on costs spans, which are counted, and no call', { limit: 120_000 }, async (t) => {
    const { call, collector, sidecar } = await traced(t, { env: { OTEL_EXPORTER_OTLP_TIMEOUT: '1000' } });
    const count = (outcome) => sidecar.metric('hookline_trace_spans_total', { outcome });
    let sent = 0, dropped = 0;
    const calls = async (what, ...answers) => {
        collector.script.push(...answers);
        const answer = await call(RUN, { body: 'ping' });
        assert.equal(answer.status, 200, what);
        return answer;
    };
    const lost = async (what, ...answers) => {
        await calls(what, ...answers);
        dropped += 2;
        await until(`${what}: two spans more are dropped`, async () => (await count('dropped')) === dropped);
    };
    const taken = async (what, ...answers) => {
        const { id } = await calls(what, ...answers);
        sent += 2;
        await until(`${what}: two spans more are sent`, async () => (await count('sent')) === sent);
        return id;
    };
    await collector.ofRun(await taken('to begin with'), 2);
    await lost('400', 400);
    await lost('a redirect', (x) => x.send(307, { location: `${collector.url}/elsewhere` }));
    assert.ok(collector.posts.every((x) => x.target === '/v1/traces'));
    await collector.ofRun(await taken('503, and again', (x) => x.send(503, { 'retry-after': '1' })), 2);
    await collector.ofRun(await taken('no answer, and again', (x) => x.reset()), 2);
    await collector.ofRun(await taken('silence, and again', (x) => x.gone), 2);
    await taken('10 MiB', (x) => x.send(200, {}, Buffer.alloc(10 << 20, 'x')).catch(() => {}));
    dropped += 1, sent += 1;
    await calls('part of them', (x) => x.json({ partialSuccess: { rejectedSpans: '1' } }));
    await until('one was rejected', async () => (await count('dropped')) === dropped && (await count('sent')) === sent);
    await sidecar.logged((x) => x.msg === 'traces: the collector takes no spans' && x.status === 400);
    await sidecar.logged((x) => x.msg === 'traces: spans can be sent again');
});

test('too many spans for a collector that does not answer are dropped, and the end of the process waits for it no longer than it may', async (t) => {
    const { call, collector, sidecar } = await traced(t, { env: { OTEL_BSP_MAX_QUEUE_SIZE: '4' } });
    collector.script.push(...Array(100).fill((x) => x.gone));
    await until('some are dropped', async () => {
        await call(RUN, { body: 'ping' });
        return (await sidecar.metric('hookline_trace_spans_total', { outcome: 'dropped' })) >= 4;
    });
    await sidecar.stop();
});

test('what waits is sent at the end of the process', async (t) => {
    const { call, collector, sidecar } = await traced(t, { env: { OTEL_BSP_SCHEDULE_DELAY: '3600000', HOOKLINE_OTEL_SERVICE_NAME: 'front', OTEL_SERVICE_NAME: 'app', OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc' } });
    const { id } = await call(RUN, { body: 'ping' });
    await sidecar.stop();
    await collector.ofRun(id, 2);
    assert.equal(collector.resources[0]['service.name'], 'front');
    assert.equal(collector.posts[0].get('authorization'), 'Bearer abc');
});

test('no value of OpenTelemetry’s variables keeps hookline from starting, and a wrong endpoint turns traces off', async (t) => {
    const wrong = Object.fromEntries(['PROTOCOL', 'TIMEOUT', 'HEADERS', 'CERTIFICATE', 'COMPRESSION'].map((name) => [`OTEL_EXPORTER_OTLP_${name}`, '\u0001=%zz']));
    const others = Object.fromEntries(['TRACES_SAMPLER', 'TRACES_SAMPLER_ARG', 'RESOURCE_ATTRIBUTES', 'SERVICE_NAME', 'TRACES_EXPORTER', 'SDK_DISABLED', 'BSP_SCHEDULE_DELAY', 'BSP_MAX_QUEUE_SIZE', 'BSP_MAX_EXPORT_BATCH_SIZE', 'PROPAGATORS'].map((name) => [`OTEL_${name}`, '%zz=\u0001']));
    const { call, collector, sidecar } = await traced(t, { env: { ...wrong, ...others } });
    const { id } = await call(RUN, { body: 'ping' });
    await sidecar.stop(); // every 5 s: the delay counts as not set
    await collector.ofRun(id, 2);
    await sidecar.logged((x) => x.variable === 'OTEL_EXPORTER_OTLP_PROTOCOL' && x.level === 'warn');
    await sidecar.restart({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' });
    await sidecar.logged((x) => x.msg.startsWith('traces are off') && x.variable === 'OTEL_EXPORTER_OTLP_ENDPOINT');
    assert.equal((await call(RUN, { body: 'ping' })).status, 200);
    assert.doesNotMatch((await sidecar.admin('/metrics')).text, /hookline_trace_spans/);
});
