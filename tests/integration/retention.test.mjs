// What is kept goes again: finished runs after HOOKLINE_RETENTION, the oldest bodies when the store is full, keys with them.
import assert from 'node:assert/strict';
import { mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { filesBelow, makeOld } from './lib/files.mjs';
import { control } from './lib/rest.mjs';
import { sleep, until } from './lib/until.mjs';

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
    await until('they are counted', async () => (await sidecar.metric('hookline_store_purged_runs_total')) === 3);
    assert.ok((await sidecar.metric('hookline_store_log_bytes')) > 0);
    await sidecar.stop();
    for (const table of ['run', 'delivery', 'attempt', 'result', 'ticket']) {
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

test('a run stays for HOOKLINE_RETENTION after its redelivery', { waits: true }, async (t) => {
    const { call, receiver, sidecar } = await stage(t, { env: { HOOKLINE_RETENTION: '8s' } });
    const ask = control(sidecar);
    const path = (id) => `/v2/projects/p/apps/a/runs/${id}`;
    const { id } = await call(RUN, { query: { async: 'true', webhookEndpoint: receiver.url() } });
    await receiver.delivered('/hook');
    const other = await call(RUN, { query: { async: 'true' } });
    await until('both have ended', async () => (await ask('GET', path(other.id))).json().state === 'success');
    await sleep(4000);
    const { deliveries } = (await ask('GET', path(id))).json();
    assert.equal((await ask('POST', `/v2/projects/p/deliveries/${deliveries[0].delivery_id}/redeliver`)).status, 202);
    await receiver.delivered('/hook', 2);
    await until('the other one is gone', async () => (await ask('GET', path(other.id))).status === 404);
    const run = await ask('GET', path(id));
    assert.equal(run.status, 200, 'it was redelivered less than that ago');
    assert.equal(run.json().deliveries[0].state, 'delivered');
    assert.equal((await ask('GET', `${path(id)}/result`)).status, 200);
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

test('beyond HOOKLINE_STORE_MAX_BYTES the oldest runs go when no body is left to give, and calls are still accepted', async (t) => {
    const { call, sidecar } = await stage(t, {
        env: { HOOKLINE_STORE_MAX_BYTES: '1MiB' },
        app: async (x) => {
            await x.body();
            await x.send(200, {}, 'ok');
        },
    });
    const query = { async: 'true' };
    const tags = 'x'.repeat(1000); // a path is kept with the run
    const { id: oldest } = await call(`/v4/p/a/${tags}`, { query });
    let newest;
    const callMany = async () => {
        for (let i = 0; i < 20; i++) {
            const { status, id } = await call(`/v4/p/a/${tags}`, { query });
            assert.ok(status === 202 || status === 503, `${status}`);
            if (status === 202) newest = id;
        }
    };
    await until('runs were given up', async () => {
        await Promise.all(Array.from({ length: 8 }, callMany));
        return (await sidecar.metric('hookline_store_shed_runs_total')) > 100;
    }, 500_000);
    await until('calls are accepted', async () => (await call(RUN, { query })).status === 202);
    const rest = control(sidecar);
    const run = (id) => rest('GET', `/v2/projects/p/apps/a/runs/${id}`);
    assert.equal((await run(oldest)).status, 404);
    assert.equal((await run(newest)).status, 200);
    const line = await sidecar.logged(({ msg }) => /at its size limit: the oldest/.test(msg));
    assert.equal(line.setting, 'HOOKLINE_STORE_MAX_BYTES');
    assert.equal(line.limit_bytes, MIB);
    assert.equal(await sidecar.metric('hookline_store_limit_bytes'), MIB);
});

test('beyond HOOKLINE_STORE_MAX_BYTES the keys of runs that are gone go too', { limit: 600_000 }, async (t) => {
    const { call, sidecar } = await stage(t, { env: { HOOKLINE_STORE_MAX_BYTES: '1MiB' } });
    const count = async () => (await sidecar.sql('SELECT count(*) AS n FROM idem'))[0].n;
    let made = 0;
    const callMany = async () => {
        for (let i = 0; i < 20; i++) {
            const headers = { 'idempotency-key': `${made++}-`.padEnd(255, 'x') };
            await call(RUN, { query: { async: 'true' }, headers });
        }
    };
    await until('more keys came than there is room for', async () => {
        await Promise.all(Array.from({ length: 8 }, callMany));
        return made > 6000;
    }, 500_000);
    await until('calls are accepted', async () => (await call(RUN, { query: { async: 'true' } })).status === 202);
    assert.ok((await count()) < 3000);
    const [{ n }] = await sidecar.sql('SELECT count(*) AS n FROM run');
    assert.ok(n > 100, 'keys do not drive out the runs');
});

test('bodies without their database stay, and the start says what to do', async (t) => {
    const { call, sidecar } = await stage(t, {
        app: async (x) => {
            await x.body();
            await x.send(200, {}, Buffer.alloc(MIB, 'r'));
        },
    });
    const { id } = await call(RUN, { query: { async: 'true' } });
    const bodies = join(sidecar.dataDir, 'bodies');
    await until('it has ended', async () => (await sidecar.metric('hookline_runs_total', { state: 'success' })) === 1);
    await sidecar.stop();
    await makeOld(bodies);
    const files = await filesBelow(bodies);
    assert.equal(files.length, 1);
    const [database, away] = ['hookline.db', 'elsewhere'].map((name) => join(sidecar.dataDir, name));
    await rename(database, away);
    await sidecar.start(null);
    assert.equal((await sidecar.exited()).code, 1);
    assert.match(sidecar.log.at(-1).msg, /hookline\.db is missing, but .*put it back, or move that directory away/);
    assert.deepEqual(await filesBelow(bodies), files);
    await rename(away, database);
    await sidecar.start();
    const answer = await control(sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}/result`);
    assert.equal(answer.body.length, MIB);
});

test('files that no record names go at a start when they are an hour old, and the log says how many', async (t) => {
    const { sidecar } = await stage(t);
    const orphan = (n) => join(sidecar.dataDir, 'bodies', 'a0', `01935d2e-0000-7000-8000-0000000000${n}`);
    await mkdir(join(sidecar.dataDir, 'bodies', 'a0'), { recursive: true });
    for (const n of ['00', '01', '02']) await writeFile(orphan(n), 'nobody’s');
    for (const n of ['00', '01']) await utimes(orphan(n), Date.now() / 1000 - 4000, Date.now() / 1000 - 4000);
    await sidecar.restart();
    assert.deepEqual(await filesBelow(join(sidecar.dataDir, 'bodies')), [orphan('02')]);
    assert.equal((await sidecar.logged(({ msg }) => /no record names/.test(msg))).files, 2);
    assert.equal(await sidecar.metric('hookline_store_swept_files_total'), 2);
});

test('a start says which run a missing body belongs to', async (t) => {
    const { call, sidecar } = await stage(t, {
        app: async (x) => {
            await x.body();
            await x.send(200, {}, Buffer.alloc(MIB, 'r'));
        },
    });
    const { id } = await call(RUN, { query: { async: 'true' } });
    await until('it has ended', async () => (await sidecar.metric('hookline_runs_total', { state: 'success' })) === 1);
    await sidecar.stop();
    for (const file of await filesBelow(join(sidecar.dataDir, 'bodies'))) await rm(file);
    await sidecar.start();
    assert.equal((await sidecar.logged(({ msg }) => /file is missing/.test(msg))).run_id, id);
});
