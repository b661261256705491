// A row that is missing or cannot be read costs its own run or webhook, which the log names; the start and all others go on.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { control } from './lib/rest.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const FIRST = 'WHERE run_id = (SELECT min(run_id) FROM run)';

async function damaged(t, options) {
    const all = await stage(t, options);
    const { sidecar, call, receiver } = all;
    const change = (sql) => promisify(execFile)('sqlite3', [join(sidecar.dataDir, 'hookline.db'), sql]);
    const show = async (id) => (await control(sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}`)).json();
    const ask = async (path) =>
        (await call(RUN, { query: { async: 'true', webhookEndpoint: receiver.url(path) } })).id;
    const goesOn = async () => {
        await ask('/after');
        await receiver.delivered('/after', 1);
    };
    const complaint = (name, id) =>
        until(`the log names ${id}`, () =>
            sidecar.log.find((line) => line.level === 'error' && line[name] === id),
        );
    return { ...all, change, show, ask, goesOn, complaint };
}

test('a run that was interrupted and has lost its webhook ends, and the start goes on', async (t) => {
    const held = gate();
    const { app, ask, change, complaint, goesOn, show, sidecar } = await damaged(t, {
        app: async (x) => {
            await x.body();
            if (app.requests.length === 1) await held.promise;
            await x.send(200, {}, 'done');
        },
    });
    const id = await ask('/lost');
    await until('it is in the app', () => app.requests.length === 1);
    await sidecar.kill();
    held.open();
    await change(`UPDATE run SET webhook_url = NULL ${FIRST}`);
    await sidecar.start();
    const run = await show(id);
    assert.deepEqual([run.state, run.reason], ['failure', 'interrupted']);
    assert.deepEqual(run.deliveries.map(({ state }) => state), ['dead']);
    await complaint('run_id', id);
    await goesOn();
});

for (const [what, sql] of [
    ['has lost its webhook', `UPDATE run SET webhook_url = NULL ${FIRST}`],
    ['has lost its result', `DELETE FROM result ${FIRST}`],
    ['has an id that is none', `UPDATE delivery SET delivery_id = 'none' ${FIRST}`],
    ['cannot be decrypted', `UPDATE run SET webhook_url = zeroblob(60) ${FIRST}`],
])
    test(`a pending delivery that ${what} is a dead letter, and the others go on`, async (t) => {
        const held = gate();
        const { ask, change, complaint, goesOn, receiver, sidecar } = await damaged(t);
        receiver.script('/hook', async (x) => {
            await held.promise;
            await x.send(200, {}, '');
        });
        await ask('/hook');
        await until('it is on its way', () => receiver.requests.length === 1);
        await sidecar.kill();
        held.open();
        await change(sql);
        await sidecar.start();
        const [{ delivery_id, state }] = await until('it is dead', async () => {
            const list = (await control(sidecar)('GET', '/v2/projects/p/deliveries?state=dead')).json();
            return list.deliveries.length && list.deliveries;
        });
        assert.equal(state, 'dead');
        await complaint('delivery_id', delivery_id);
        await goesOn();
    });

/** A start that finds the row of a queued run changed: it ends, as the one in the app does, and the others go on. */
async function queuedRunEnds(t, sql) {
    const held = gate();
    const { app, ask, change, complaint, goesOn, show, sidecar } = await damaged(t, {
        env: { HOOKLINE_ASYNC_CONCURRENCY: '1' },
        app: async (x) => {
            await x.body();
            if (app.requests.length === 1) await held.promise;
            await x.send(200, {}, 'done');
        },
    });
    const first = await ask('/first');
    await until('it is in the app', () => app.requests.length === 1);
    const queued = await ask('/queued');
    await sidecar.kill();
    held.open();
    await change(sql);
    await sidecar.start();
    await complaint('run_id', queued);
    for (const id of [first, queued]) {
        const run = await until('it has ended', async () => ((run) => run.finished_at && run)(await show(id)));
        assert.deepEqual([run.state, run.reason], ['failure', 'interrupted']);
    }
    await goesOn();
}

test('a queued run whose body is of an unknown kind ends, and the others go on', (t) =>
    queuedRunEnds(t, 'UPDATE ticket SET body_where = 77 WHERE number = (SELECT max(number) FROM ticket)'));

test('a queued run that has lost its request ends, and the others go on', (t) =>
    queuedRunEnds(t, 'DELETE FROM ticket WHERE number = (SELECT max(number) FROM ticket)'));

test('the log says which run a damaged body belongs to', async (t) => {
    const { call, complaint, show, sidecar } = await damaged(t, {
        app: async (x) => {
            await x.body();
            await x.send(200, {}, 'z'.repeat(400_000));
        },
    });
    const { id } = await call(RUN, { query: { async: 'true' } });
    await until('it has ended', async () => (await show(id)).finished_at);
    const bodies = join(sidecar.dataDir, 'bodies');
    const [file] = (await readdir(bodies, { recursive: true })).filter((name) => name.includes('/'));
    await writeFile(join(bodies, file), 'y'.repeat(400_000));
    const path = `/v2/projects/p/apps/a/runs/${id}/result`;
    await call(path, { method: 'GET' }).catch(() => {});
    await complaint('run_id', id);
    sidecar.log.length = 0;
    await control(sidecar)('GET', path).catch(() => {});
    await complaint('run_id', id);
});
