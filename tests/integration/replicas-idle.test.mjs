// HOOKLINE_IDLE_EXIT where the work is another replica's, and what is queued in a database.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { SSE, eventsPath } from './lib/events.mjs';
import { link } from './lib/link.mjs';
import { connect, request } from './lib/raw.mjs';
import { fleet } from './lib/replicas.mjs';
import { RUN } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const IDLE = { HOOKLINE_IDLE_EXIT: '2s', HOOKLINE_SHUTDOWN_DELAY: '10m' };

test('a caller keeps the front at which he waits, and one who follows keeps the replica that tells him', async (t) => {
    const doors = gate();
    const all = await fleet(t, {
        app: async (x) => {
            await x.body();
            if (!x.get('x-streams')) {
                await doors.promise;
                return x.json({});
            }
            await x.respond(200, SSE);
            await x.chunk('data: 1\n\n');
            await doors.promise;
            return x.lastChunk();
        },
    });
    const worker = await all.add('worker', { env: { HOOKLINE_ROLE: 'worker' } });
    const front = await all.add('front', { hasApp: false, wait: 'readyz', env: { HOOKLINE_ROLE: 'front', ...IDLE, HOOKLINE_IDLE_EXIT: '8s' } });
    const answer = front.call(RUN);
    await until('the app has the call', () => worker.app.requests.length === 1);
    const id = await front.begin({ headers: { 'x-streams': '1' } });
    const other = await all.add('other', { env: { ...IDLE, HOOKLINE_ROLE: 'worker', HOOKLINE_IDLE_EXIT: '8s' } });
    const follower = await connect(t, other.sidecar);
    await follower.send(request('GET', eventsPath(id)));
    assert.equal((await follower.responseHead()).status, 200);
    await sleep(11_000);
    for (const { sidecar } of [front, other]) assert.ok(sidecar.isRunning && !sidecar.log.some((l) => /HOOKLINE_IDLE_EXIT/.test(l.msg)));
    const ends = [front, other].map(({ sidecar }) => sidecar.exited());
    doors.open();
    assert.equal((await answer).status, 200);
    for (const end of ends) assert.equal((await end).code, 0);
});

test('it does not end before it has asked its database what is queued', async (t) => {
    const all = await fleet(t);
    const cable = await link(t, all.database.url);
    const front = await all.add('front', { hasApp: false, wait: 'readyz', env: { HOOKLINE_ROLE: 'front' } });
    await front.begin();
    await cable.cut();
    const { app, sidecar } = await all.add('replica', { env: IDLE, url: cable.url, wait: 'healthz' });
    const end = sidecar.exited();
    await sleep(4000);
    assert.ok(sidecar.isRunning);
    await cable.heal();
    assert.equal((await end).code, 0);
    assert.equal(app.requests.length, 1);
});
