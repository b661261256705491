// A full volume: asynchronous calls get 503, synchronous ones go on, readiness says so, nothing accepted is lost, and it recovers.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { filesBelow } from './lib/files.mjs';
import { control } from './lib/rest.mjs';
import { assertProblem, RUN, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';
import { fill, mountVolume } from './lib/volume.mjs';

const MIB = 1 << 20;
const VOLUME = 96 * MIB;

/** An app that holds what came before it was opened, or does as `handler` says, on a volume of its own. */
async function stageOn(t, env = {}, handler = null) {
    const volume = await mountVolume(t, VOLUME);
    if (!volume) return t.skip('it needs the right to mount');
    let open;
    const opened = new Promise((resolve) => (open = resolve));
    const seen = [];
    const staged = await stage(t, {
        env: { HOOKLINE_DATA_DIR: join(volume, 'data'), ...env },
        app: async (x) => {
            await x.body();
            seen.push(x.id);
            if (handler) return handler(x);
            if (x.get('x-run-attempt')) await opened;
            await x.send(200, { 'content-type': 'text/plain' }, 'done');
        },
    });
    return { ...staged, volume, seen, open };
}

const accept = (call, options) => call(RUN, { query: { async: 'true' }, ...options });

test('a full volume refuses asynchronous calls, keeps what it accepted, and recovers', async (t) => {
    const staged = await stageOn(t);
    if (!staged) return;
    const { call, open, receiver, seen, sidecar, volume } = staged;
    const accepted = [];
    for (let i = 0; i < 20; i++) {
        const query = { async: 'true', webhookEndpoint: receiver.url() };
        const { status, id } = await call(RUN, { query, body: 'x'.repeat(2000) });
        assert.equal(status, 202);
        accepted.push(id);
    }
    const giveBack = await fill(volume, VOLUME);
    await until('asynchronous calls are refused', async () => {
        const { status } = await accept(call);
        assert.ok(status === 202 || status === 503, `${status}`);
        return status === 503;
    });
    const refused = await accept(call);
    assertProblem(refused, 503);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    await sidecar.until('readyz', 503);
    assert.equal(await sidecar.probe('/_hookline/healthz'), 200);
    const synchronous = await call(RUN, { body: 'now' });
    assert.equal(synchronous.status, 200);
    assert.equal(synchronous.text, 'done');

    open(); // runs end without a free byte: the reserve is for that
    await receiver.delivered('/hook', accepted.length);
    await giveBack();
    await sidecar.until('readyz');
    await until('calls are accepted again', async () => (await accept(call)).status === 202);
    for (const id of accepted) assert.ok(seen.includes(id), 'an accepted run is lost');
    assert.equal(new Set(seen).size, seen.length, 'a run was run twice');
});

test('a volume that only bodies filled is free again when their runs have ended', async (t) => {
    const staged = await stageOn(t, { HOOKLINE_RETENTION: '1s', HOOKLINE_ASYNC_CONCURRENCY: '2' });
    if (!staged) return;
    const { call, open } = staged;
    await until('it is full', async () => {
        const { status } = await accept(call, { body: Buffer.alloc(200 << 10, 'b') });
        assert.ok(status === 202 || status === 503, `${status}`);
        return status === 503;
    });
    open();
    await until('calls are accepted again', async () => (await accept(call)).status === 202);
});

test('the file of a call that the store refuses for want of space is removed', async (t) => {
    const staged = await stageOn(t);
    if (!staged) return;
    const { call, open, seen, volume } = staged;
    const files = () => filesBelow(join(volume, 'data', 'bodies'));
    const body = Buffer.alloc(MIB, 'b');
    assert.equal((await accept(call, { body })).status, 202);
    assert.equal((await files()).length, 1);
    await fill(volume, VOLUME, 3 * MIB); // room for the body, but not for what is new
    let kept = 1; // one more, where the store had looked just before
    await until('it is seen', async () => {
        const { status } = await accept(call, { body });
        kept += status === 202;
        return status === 503;
    });
    for (let i = 0; i < 2; i++) assertProblem(await accept(call, { body }), 503);
    await until('only what was accepted is left', async () => (await files()).length === kept);
    assert.deepEqual(await filesBelow(join(volume, 'data', 'tmp')), []);
    open();
    await until('it has run', async () => (await files()).length === 0);
    assert.equal(seen.length, kept);
});

test('a process killed on a full volume starts again and ends what it had', async (t) => {
    const staged = await stageOn(t);
    if (!staged) return;
    const { call, open, receiver, seen, sidecar, volume } = staged;
    const query = { async: 'true', webhookEndpoint: receiver.url() };
    for (let i = 0; i < 10; i++) assert.equal((await call(RUN, { query })).status, 202);
    await until('runs are inside the app', () => seen.length > 0);
    await fill(volume, VOLUME);
    await sidecar.kill();
    await sidecar.restart({}, 'healthz');
    open();
    const deliveries = await receiver.delivered('/hook', 10);
    assert.ok(deliveries);
});

test('on a full volume what fits goes on while large results wait for space', async (t) => {
    const gates = { large: gate(), small: gate() };
    const results = { large: Buffer.alloc(250 << 10, 'r'), small: 'done' };
    const staged = await stageOn(t, {}, async (x) => {
        const size = x.get('x-result');
        await gates[size].promise;
        await x.send(200, { 'content-type': 'text/plain' }, results[size]);
    });
    if (!staged) return;
    const { call, receiver, seen, sidecar, volume } = staged;
    const LARGE = 50, SMALL = 10;
    for (let i = 0; i < LARGE; i++) {
        const { status } = await accept(call, { headers: { 'x-result': 'large' } });
        assert.equal(status, 202);
    }
    for (let i = 0; i < SMALL; i++) {
        const query = { async: 'true', webhookEndpoint: receiver.url() };
        assert.equal((await call(RUN, { query, headers: { 'x-result': 'small' } })).status, 202);
    }
    await until('all are inside the app', () => seen.length === LARGE + SMALL);
    const giveBack = await fill(volume, VOLUME);

    gates.large.open();
    await sidecar.until('readyz', 503);
    gates.small.open();
    await receiver.delivered('/hook', SMALL);
    assertProblem(await accept(call, { headers: { 'x-result': 'small' } }), 503);
    const line = await sidecar.logged((l) => /volume of the data directory is full/.test(l.msg));
    assert.equal(line.setting, 'HOOKLINE_DATA_DIR');
    const runs = async () => {
        const answer = await control({ dataDir: join(volume, 'data') })('GET', '/v2/runs?limit=100');
        return answer.json().runs;
    };
    const ended = (await runs()).filter((run) => run.state === 'success');
    assert.ok(ended.length < LARGE + SMALL, 'the volume had space for all results');

    await giveBack();
    await until('all runs have ended', async () =>
        (await runs()).every((run) => run.state === 'success'));
    assert.equal((await runs()).length, LARGE + SMALL);
    await sidecar.until('readyz');
    assert.equal(receiver.deliveries().length, SMALL);
    assert.equal(new Set(seen).size, seen.length, 'a run was run twice');
});
