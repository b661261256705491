// What is kept goes again: finished runs after HOOKLINE_RETENTION, the oldest bodies when the store is full, keys with them.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { filesBelow } from './lib/files.mjs';
import { until } from './lib/until.mjs';

const MIB = 1 << 20;

test('a run is forgotten after HOOKLINE_RETENTION, its files too', async (t) => {
    const { call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_RETENTION: '1s' },
        app: async (x) => {
            await x.body();
            await x.send(200, {}, Buffer.alloc(MIB, 'r'));
        },
    });
    const bodies = join(sidecar.dataDir, 'bodies');
    const query = { async: 'true', webhookEndpoint: receiver.url() };
    for (let i = 0; i < 3; i++) await call(RUN, { query, body: Buffer.alloc(MIB, 'q') });
    await receiver.delivered('/hook', 3);
    await until('the files are gone', async () => (await filesBelow(bodies)).length === 0, 90_000);
    await sidecar.stop();
    for (const table of ['run', 'delivery', 'attempt', 'result', 'webhook', 'ticket']) {
        const [{ n }] = await sidecar.sql(`SELECT count(*) AS n FROM ${table}`);
        assert.equal(n, 0, table);
    }
});

test('a run with a pending delivery is not forgotten', async (t) => {
    const { call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_RETENTION: '1s', HOOKLINE_WEBHOOK_TIMEOUT: '4s' },
    });
    receiver.script('/hook', (x) => x.gone, 200);
    const { id } = await call(RUN, { query: { async: 'true', webhookEndpoint: receiver.url() } });
    const delivery = await receiver.delivered('/hook', 2);
    assert.equal(JSON.parse(delivery.bytes).run_id, id);
    assert.ok(sidecar.isRunning);
});

test('an idempotency key is forgotten with HOOKLINE_RETENTION', async (t) => {
    const { call } = await stage(t, { env: { HOOKLINE_RETENTION: '1s' } });
    const options = { query: { async: 'true' }, headers: { 'idempotency-key': 'key' } };
    const { id } = await call(RUN, options);
    assert.equal((await call(RUN, options)).json().run_id, id);
    await until('another run', async () => (await call(RUN, options)).json().run_id !== id);
});

test('beyond HOOKLINE_STORE_MAX_BYTES the oldest finished bodies go, and calls are still accepted', async (t) => {
    const { app, call, sidecar } = await stage(t, {
        env: { HOOKLINE_STORE_MAX_BYTES: '24MiB' },
        app: async (x) => {
            await x.body();
            await x.send(200, {}, Buffer.alloc(4 * MIB, 'r'));
        },
    });
    for (let i = 1; i <= 20; i++) {
        await until(
            'it is accepted',
            async () => (await call(RUN, { query: { async: 'true' }, body: 'x' })).status === 202,
        );
        await until('it ran', () => app.requests.length >= i);
    }
    await until(
        'all have ended',
        async () => (await sidecar.metric('hookline_runs_total', { state: 'success' })) >= 20,
    );
    await until(
        'the store is within its bound',
        async () => (await sidecar.metric('hookline_store_bytes')) <= 24 * MIB,
    );
    await sidecar.stop();
    const [{ n }] = await sidecar.sql('SELECT count(*) AS n FROM run_with_state WHERE state = 2');
    assert.ok(n >= 20, 'the runs themselves are kept');
});
