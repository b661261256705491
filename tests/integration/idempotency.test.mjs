// Idempotency-Key: the same key with the same request is the same run; with another request it is 422.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, shared, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const asynchronously = (key, more = {}) => ({
    query: { async: 'true', ...more.query },
    body: more.body ?? '{}',
    method: more.method,
    headers: { 'idempotency-key': key, 'content-type': 'application/json', ...more.headers },
});

test('the same key and request give the same run id and no second run', async (t) => {
    const { app, call } = await shared(t);
    const first = await call(RUN, asynchronously('key-1'));
    const second = await call(RUN, asynchronously('key-1'));
    assert.equal(second.status, 202);
    assert.equal(second.json().run_id, first.json().run_id);
    assert.equal(second.id, first.id);
    const other = await call(RUN, asynchronously('key-2'));
    assert.notEqual(other.id, first.id);
    await until('two runs', () => app.requests.length === 2);
    assert.deepEqual([...app.callsById().values()], [1, 1]);
});

test('fifty callers at once with one key make one run', async (t) => {
    const { app, call } = await shared(t);
    const responses = await Promise.all(
        Array.from({ length: 50 }, () => call(RUN, asynchronously('same'))),
    );
    assert.equal(new Set(responses.map((r) => r.json().run_id)).size, 1);
    assert.equal((await call(RUN, asynchronously('end'))).status, 202);
    await until('both runs', () => app.requests.length >= 2);
    assert.equal(app.requests.length, 2);
});

test('the same key with another request is 422 and leaves no trace', async (t) => {
    const { app, call, receiver } = await shared(t);
    await call(
        RUN,
        asynchronously('key-3', {
            query: { webhookEndpoint: receiver.url('/a') },
            headers: { 'x-webhook-secret': 's' },
        }),
    );
    const same = {
        query: { webhookEndpoint: receiver.url('/a') },
        headers: { 'x-webhook-secret': 's' },
    };
    assert.equal((await call(RUN, asynchronously('key-3', same))).status, 202);
    const others = {
        body: [RUN, asynchronously('key-3', { ...same, body: '{"other":1}' })],
        method: ['/v4/p/a/x', asynchronously('key-3', { ...same, method: 'PUT' })],
        target: ['/v4/p/a/x', asynchronously('key-3', same)],
        query: [RUN, asynchronously('key-3', { ...same, query: { ...same.query, x: '1' } })],
        webhook: [
            RUN,
            asynchronously('key-3', { ...same, query: { webhookEndpoint: receiver.url('/b') } }),
        ],
        secret: [RUN, asynchronously('key-3', { ...same, headers: { 'x-webhook-secret': 'other' } })],
        'content type': [
            RUN,
            asynchronously('key-3', {
                ...same,
                headers: { ...same.headers, 'content-type': 'text/plain' },
            }),
        ],
    };
    for (const [name, [path, options]] of Object.entries(others)) {
        const response = await call(path, options);
        assert.equal(response.status, 422, name);
        assertProblem(response, 422);
    }
    await until('the run', () => app.requests.length >= 1);
    await receiver.delivered('/a');
    assert.equal(app.requests.length, 1);
});

test('project and app have keys of their own', async (t) => {
    const { app, call } = await shared(t);
    const ids = [];
    for (const path of ['/v4/p/a/run', '/v4/p/b/run', '/v4/q/a/run']) {
        ids.push((await call(path, asynchronously('key-4'))).id);
    }
    assert.equal(new Set(ids).size, 3);
    await until('three runs', () => app.requests.length === 3);
});

test('a key is kept over a restart', async (t) => {
    const { app, call, sidecar } = await stage(t);
    const first = await call(RUN, asynchronously('key'));
    await until('the run', () => app.requests.length === 1);
    await sidecar.kill();
    await sidecar.restart();
    const again = await call(RUN, asynchronously('key'));
    assert.equal(again.json().run_id, first.id);
    assert.equal((await call(RUN, asynchronously('key', { body: 'other' }))).status, 422);
    assert.equal(app.requests.length, 1);
});

test('a key is 1 to 255 bytes', async (t) => {
    const { call } = await shared(t);
    assert.equal((await call(RUN, asynchronously('k'.repeat(255)))).status, 202);
    for (const key of ['k'.repeat(256), ''])
        assertProblem(await call(RUN, asynchronously(key)), 400);
});

test('a refused call does not take its key', async (t) => {
    const doors = gate();
    const { app, call } = await stage(t, {
        env: { HOOKLINE_MAX_QUEUED_RUNS: '1', HOOKLINE_ASYNC_CONCURRENCY: '1' },
        app: async (x) => {
            await doors.promise;
            await x.send(200);
        },
    });
    await call(RUN, asynchronously('inside'));
    await until('it is inside', () => app.requests.length === 1);
    await call(RUN, asynchronously('waiting'));
    assert.equal((await call(RUN, asynchronously('refused'))).status, 429);
    assert.equal(
        (await call(RUN, asynchronously('waiting'))).status,
        202,
        'a known key is answered even then',
    );
    doors.open();
    await until(
        'it is accepted',
        async () =>
            (await call(RUN, asynchronously('refused', { body: 'changed' }))).status === 202,
    );
});

test('on a synchronous call the key is the app’s business', async (t) => {
    const { app, call } = await shared(t);
    for (let i = 0; i < 2; i++) await call(RUN, { headers: { 'idempotency-key': 'key' } });
    assert.deepEqual(
        app.requests.map((r) => r.get('idempotency-key')),
        ['key', 'key'],
    );
});
