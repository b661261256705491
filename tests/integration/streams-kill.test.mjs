// Streams and the end of hookline: kill -9, restarts, further attempts, SIGTERM; what followers saw is there afterwards.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { numbered, parse } from './lib/events.mjs';
import { filesBelow } from './lib/files.mjs';
import { generator, seed } from './lib/random.mjs';
import { RUN } from './lib/stage.mjs';
import { STORES, events, runPath, streamStage, withIds } from './lib/streams.mjs';
import { sleep, until, within } from './lib/until.mjs';

const KILLS = Number(process.env.HOOKLINE_TEST_KILLS ?? 8);

/** Waits until nobody answers there any more. */
const closed = (sidecar) => until('the listener is closed', async () => (await sidecar.probe('/_hookline/healthz')) === null);

/* ---- killed ---- */

for (const isAsync of [true, false])
    test(`kill -9: all that a follower had is there afterwards, the run is interrupted, its webhook goes out; async: ${isAsync}`, async (t) => {
        const all = await streamStage(t);
        const query = { webhookEndpoint: all.receiver.url() };
        if (isAsync) await all.begin(query);
        else await all.callStream({ path: `${RUN}?webhookEndpoint=${encodeURIComponent(query.webhookEndpoint)}` });
        const inside = await all.script.call();
        await inside.begin();
        const follower = await until('it can be followed', async () => {
            const one = await all.follow(inside.id);
            return one.status === 200 && one;
        });
        await inside.send(`${events(1, 3)}data: 4\n`);
        await until('he has the half', async () => (await follower.piece()) && follower.text.endsWith('data: 4\n'));
        await all.sidecar.kill();
        await all.sidecar.start();
        const record = await all.ended(inside.id);
        assert.deepEqual([record.state, record.reason, record.async], ['failure', 'interrupted', isAsync]);
        const after = await all.follow(inside.id);
        assert.deepEqual([after.status, after.state], [200, 'failure']);
        assert.equal(await after.rest(), `${withIds(1, 3)}data: 4\n`);
        assert.equal(await (await all.follow(inside.id, { lastEventId: '1' })).rest(), `${withIds(2, 3)}data: 4\n`);
        assert.equal((await all.follow(inside.id, { lastEventId: '3' })).status, 204);
        assert.equal((await all.ask('GET', `${runPath(inside.id)}/result`)).text, `${events(1, 3)}data: 4\n`);
        const envelope = await all.receiver.envelope();
        assert.deepEqual(
            [envelope.type, envelope.status, envelope.reason, envelope.run_id],
            ['run.failure', 'failure', 'interrupted', inside.id],
        );
    });

const LONG = `data: ${'x'.repeat(100_000)}\n\n`.repeat(3); // its file gets its name before the run's end is committed

/** A stream ends, and the process is killed when its file has its name and no record says so; then it starts again. */
async function dieNamed(all, follower, inside) {
    await inside.send(LONG);
    await follower.events(3);
    await inside.end();
    assert.equal((await within('the kill', all.sidecar.exited())).signal, 'SIGKILL');
    await all.sidecar.restart({ HOOKLINE_CRASH_AT: undefined });
}

for (const isAsync of [true, false])
    test(`a kill between the name of a long stream’s file and its record loses none of it; async: ${isAsync}`, async (t) => {
        const all = await streamStage(t, { env: { HOOKLINE_CRASH_AT: 'body-durable:1' } });
        if (isAsync) await all.begin();
        const caller = isAsync ? null : await all.callStream();
        const inside = await all.script.call();
        await inside.begin();
        const follower = await until('it can be followed', async () => {
            const one = await all.follow(inside.id);
            return one.status === 200 && one;
        });
        caller?.answered().then(() => caller.rest()).catch(() => {}); // one who takes nothing holds the app up; the kill cuts it
        await dieNamed(all, follower, inside);
        const record = await all.ended(inside.id);
        assert.deepEqual([record.state, record.reason], ['failure', 'interrupted']);
        assert.equal(await (await all.follow(inside.id)).rest(), numbered(LONG).text);
        await all.sidecar.restart();
        assert.equal((await all.ask('GET', `${runPath(inside.id)}/result`)).text, LONG);
    });

test('who has seen the head of a kept stream finds its run after a kill, whenever that comes', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_CRASH_AT: 'record-applied:1' } });
    const caller = await all.callStream();
    const inside = await all.script.call();
    await inside.begin();
    await inside.send(events(1, 1));
    assert.equal((await within('the kill', all.sidecar.exited())).signal, 'SIGKILL');
    await assert.rejects(caller.answered(), 'nothing was recorded, and nothing was said');
    await all.sidecar.restart({ HOOKLINE_CRASH_AT: 'record-committed:1' });
    const next = await all.callStream();
    await (await all.script.call(1)).begin();
    await within('the kill', all.sidecar.exited());
    await assert.rejects(next.answered());
    await all.sidecar.restart({ HOOKLINE_CRASH_AT: undefined });
    assert.equal((await all.ended(all.script.calls[1].id)).reason, 'interrupted');
});

test('an attempt after a kill counts on from a long stream whose file had its name already', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_CRASH_AT: 'body-durable:1', HOOKLINE_RUN_ATTEMPTS: '2' } });
    const id = await all.begin();
    const first = await all.script.call();
    await first.begin();
    await dieNamed(all, await all.follow(id), first);
    const second = await all.script.call(1);
    await second.begin();
    await second.send(events(1, 2));
    const follower = await all.follow(id, { lastEventId: '3' });
    await follower.events(2);
    assert.equal(follower.text, numbered(events(1, 2), 3).text);
    await second.end();
    await all.ended(id);
    await until('nothing is left over', async () => (await filesBelow(join(all.sidecar.dataDir, 'bodies'))).length === 0);
});

test(`${KILLS} kills at random moments: no follower had what is not there afterwards`, { limit: 60_000 + KILLS * 20_000 }, async (t) => {
    t.diagnostic(`HOOKLINE_TEST_SEED=${seed}`);
    const random = generator(seed);
    const all = await streamStage(t, {
        env: { HOOKLINE_LOG_LEVEL: 'info' },
        app: async (x) => {
            await x.body();
            const size = random() < 0.3 ? 30_000 : 100; // some outgrow what is kept beside the record
            await x.respond(200, { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked' });
            let isGone = false;
            x.gone.then(() => (isGone = true));
            for (let n = 1; !isGone && n < 400; n++) {
                await x.chunk(`data: ${n} ${'x'.repeat(random() * size)}\n${random() < 0.1 ? 'id: own\n' : ''}\n`);
                await sleep(random() * 10);
            }
            await x.lastChunk();
        },
    });
    const seen = new Map(); // run → what its followers have seen, the longest
    for (let kill = 0; kill < KILLS; kill++) {
        const ids = [];
        for (let i = 0; i < 6; i++) ids.push(await all.begin());
        const following = [];
        const readers = ids.flatMap((id) => [0, 1].map(async () => {
            const follower = await all.follow(id).catch(() => null); // a kill may be sooner than the answer
            if (follower) following.push(follower);
            await follower?.rest().catch(() => {});
            assert.equal(follower?.status ?? 200, 200);
            if (follower && follower.text.length > (seen.get(id)?.length ?? -1)) seen.set(id, follower.text);
        }));
        if (kill === 0) await until('there is something to be seen', () => following.some(({ text }) => text !== ''));
        await sleep(50 + random() * 700);
        await all.sidecar.kill();
        await Promise.all(readers);
        await all.sidecar.start();
    }
    let [bytes, most] = [0, 0];
    for (const [id, had] of seen) {
        await all.ended(id);
        const follower = await all.follow(id);
        if (follower.status === 204) assert.equal(had, '');
        else assert.ok((await follower.rest()).startsWith(had), `run ${id}: a follower had ${had.length} bytes, ${follower.text.length} are there`);
        bytes += had.length;
        most = Math.max(most, had.length);
    }
    t.diagnostic(`${seen.size} runs, ${bytes} bytes were seen, ${most} of one run`);
    assert.ok(bytes > 0);
    await until('nothing is left over', async () => (await filesBelow(join(all.sidecar.dataDir, 'tmp'))).length === 0);
});

/* ---- further attempts ---- */

for (const [name, env] of Object.entries(STORES))
    test(`a further attempt begins anew, its ids go on counting, and an earlier one’s mean its start: ${name}`, async (t) => {
        const all = await streamStage(t, {
            env: { ...env, HOOKLINE_RUN_ATTEMPTS: '3', HOOKLINE_RUN_RETRY_ON: 'reset,503', HOOKLINE_RUN_RETRY_DELAY: '2s' },
        });
        const id = await all.begin({ webhookEndpoint: all.receiver.url() });
        const first = await all.script.call();
        await first.begin();
        const follower = await all.follow(id);
        await first.send('data: a\n\nid: mine\ndata: b\n\ndata: c\n\ndata: unfinished');
        await follower.events(3);
        first.reset();
        await follower.rest();
        assert.deepEqual(parse(follower.text).events.map((event) => event.id), ['1', 'mine', '3']);
        const back = await all.follow(id, { lastEventId: '3' }); // at once, as an EventSource is
        assert.equal(back.status, 200);
        const waiting = async () => {
            await until('it waits for its next attempt', async () => (await all.show(id)).state === 'queued');
            const followers = [];
            for (const lastEventId of ['', '3', 'mine', '1', '2']) {
                const next = await all.follow(id, { lastEventId });
                assert.deepEqual([next.status, next.state], [200, 'queued'], lastEventId);
                followers.push(next);
            }
            return followers;
        };
        const early = await waiting();
        await (await all.script.call(1)).answer(503, {}, 'not now');
        for (const next of [back, ...early]) assert.equal(await next.rest(), '', 'this attempt had nothing for them');
        const followers = await waiting();
        const third = await all.script.call(2);
        await third.begin();
        await third.send('data: A\n\ndata: B\n\n');
        const whole = numbered('data: A\n\ndata: B\n\n', 3).text;
        for (const lastEventId of ['2', '', 'mine']) followers.push(await all.follow(id, { lastEventId }));
        for (const next of followers) await next.events(2);
        for (const lastEventId of ['4', '5']) assert.equal((await all.follow(id, { lastEventId })).status, 200);
        await third.end();
        for (const next of followers) assert.equal(await next.rest(), whole);
        await all.ended(id);
        for (const [lastEventId, expected] of [['', whole], ['3', whole], ['1', whole], ['mine', whole], ['4', numbered('data: B\n\n', 4).text]])
            assert.equal(await (await all.follow(id, { lastEventId })).rest(), expected, lastEventId);
        assert.equal((await all.follow(id, { lastEventId: '5' })).status, 204);
        assert.equal((await all.ask('GET', `${runPath(id)}/result`)).text, 'data: A\n\ndata: B\n\n');
        assert.equal((await all.receiver.envelope()).response, 'data: A\n\ndata: B\n\n');
        assert.equal(all.receiver.requests.length, 1);
    });

test('an attempt after a kill counts on from what was written', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_RUN_ATTEMPTS: '3' } });
    const id = await all.begin();
    const first = await all.script.call();
    await first.begin();
    await first.send(events(1, 4));
    await (await all.follow(id)).events(4);
    await all.sidecar.kill();
    await all.sidecar.start();
    const second = await all.script.call(1);
    await second.begin();
    await second.send(events(1, 2));
    const follower = await all.follow(id, { lastEventId: '4' });
    await follower.events(2);
    assert.equal(follower.text, numbered(events(1, 2), 4).text);
    await all.sidecar.kill();
    await all.sidecar.start();
    const third = await all.script.call(2);
    assert.equal(third.exchange.get('x-run-attempt'), '3');
    await third.begin();
    await third.send(events(1, 1));
    await third.end();
    await all.ended(id);
    assert.equal(await (await all.follow(id, { lastEventId: '6' })).rest(), numbered(events(1, 1), 6).text);
    assert.equal((await all.follow(id, { lastEventId: '7' })).status, 204);
    await until('nothing is left over', async () => (await filesBelow(join(all.sidecar.dataDir, 'tmp'))).length === 0);
});

/* ---- SIGTERM ---- */

for (const [name, env] of Object.entries(STORES))
    test(`SIGTERM: followers of what is not running go when the listener closes, those of a running run end with it: ${name}`, async (t) => {
        const all = await streamStage(t, {
            env: { ...env, HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_SHUTDOWN_DELAY: '500ms', HOOKLINE_DRAIN_TIMEOUT: '30s' },
        });
        const id = await all.begin();
        const inside = await all.script.call();
        await inside.begin();
        await inside.send(events(1, 1));
        const running = await all.follow(id);
        await running.events(1);
        const queued = await all.follow(await all.begin());
        assert.equal(queued.state, 'queued');
        all.sidecar.signal('SIGTERM');
        await all.sidecar.until('readyz', 503);
        const late = await all.follow(id);
        assert.equal(late.status, 200, 'during the delay who comes may follow');
        await closed(all.sidecar);
        await within('the follower of a queued run is sent away', queued.rest().catch(() => 'broken off'));
        assert.ok(all.sidecar.isRunning);
        await inside.send(events(2, 2));
        await running.events(2);
        await inside.end();
        assert.equal(await running.rest(), withIds(1, 2));
        assert.equal(await late.rest(), withIds(1, 2));
        assert.deepEqual(await within('the end', all.sidecar.exited()), { code: 0, signal: null });
    });

test('SIGTERM: a follower who reads nothing of an ended run holds nothing up', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_DRAIN_TIMEOUT: '30s' } });
    const id = await all.begin();
    const inside = await all.script.call();
    await inside.begin();
    await inside.send(`data: ${'x'.repeat(24 << 20)}\n\n`);
    const early = await all.follow(id);
    early.client.socket.pause();
    await inside.end();
    await all.ended(id);
    const after = await all.follow(id);
    after.client.socket.pause();
    all.sidecar.signal('SIGTERM');
    assert.deepEqual(await within('the end', all.sidecar.exited(), 25_000), { code: 0, signal: null });
});

for (const isAsync of [true, false])
    test(`a second SIGTERM ends at once, and the stream is there at the next start; async: ${isAsync}`, async (t) => {
        const all = await streamStage(t, { env: { HOOKLINE_DRAIN_TIMEOUT: '60s' } });
        const caller = isAsync ? null : await all.callStream();
        if (isAsync) await all.begin();
        const inside = await all.script.call();
        await inside.begin();
        await caller?.answered();
        await inside.send(events(1, 3));
        const follower = await all.follow(inside.id);
        await follower.events(3);
        all.sidecar.signal('SIGTERM');
        await closed(all.sidecar);
        all.sidecar.signal('SIGTERM');
        assert.deepEqual(await within('the end', all.sidecar.exited()), { code: 0, signal: null });
        await follower.rest().catch(() => {});
        await all.sidecar.start();
        const record = await all.ended(inside.id);
        assert.deepEqual([record.state, record.reason], ['failure', 'interrupted']);
        assert.equal(await (await all.follow(inside.id, { lastEventId: '1' })).rest(), withIds(2, 3));
    });

test('the drain’s end cuts a stream, which is there at the next start', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_DRAIN_TIMEOUT: '300ms' } });
    const id = await all.begin();
    const inside = await all.script.call();
    await inside.begin();
    await inside.send(events(1, 3));
    const follower = await all.follow(id);
    await follower.events(3);
    all.sidecar.signal('SIGTERM');
    assert.deepEqual(await within('the end', all.sidecar.exited()), { code: 3, signal: null });
    await all.sidecar.start();
    assert.equal((await all.ended(id)).reason, 'interrupted');
    assert.equal(await (await all.follow(id)).rest(), withIds(1, 3));
});
