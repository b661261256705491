// A wall clock that is wrong: ahead at the start, ahead for a moment, set in the middle of a run or a wait, before 1970.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { shiftedClock } from './lib/clock.mjs';
import { control } from './lib/rest.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ACCOUNTS = '/v2/projects/p/service-accounts';

async function wrong(t, { env = {}, ...options } = {}) {
    const clock = await shiftedClock(t);
    const all = await stage(t, { ...options, env: { ...clock.env, HOOKLINE_WORKERS: '1', ...env } });
    const show = async (id) => {
        const answer = await control(all.sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}`);
        assert.equal(answer.status, 200, answer.text);
        return answer.json();
    };
    const ended = (id) =>
        until('it has ended', async () => {
            const run = await show(id);
            return run.finished_at && run;
        });
    const said = (pattern) =>
        until(`the log says ${pattern}`, () => all.sidecar.log.some((line) => pattern.test(line.msg)));
    return { ...all, clock, show, ended, said };
}

/** When an id was made, by its first 48 bits. */
const timeOf = (id) => parseInt(id.replace('-', '').slice(0, 12), 16);
const isNow = (ms) => Math.abs(ms - Date.now()) < HOUR;

test('a start with a clock that is ahead removes no run and no service account, and says so', async (t) => {
    const { call, clock, said, show, ended, sidecar } = await wrong(t, { env: { HOOKLINE_AUTH: 'jwt' } });
    const body = { name: 'ci', role: 'invoke', expires_at: new Date(Date.now() + 30 * DAY).toISOString() };
    const { token } = (await control(sidecar)('POST', ACCOUNTS, { body })).json();
    const headers = { authorization: `Bearer ${token}` };
    const { id } = await call(RUN, { query: { async: 'true' }, headers });
    await ended(id);
    await sidecar.stop();
    await clock.set(400 * DAY);
    await sidecar.start();
    await said(/^store: the wall clock jumped ahead/);
    assert.equal((await show(id)).state, 'success');
    await clock.set(0);
    assert.equal((await call(RUN, { headers })).status, 200, 'the account was not passed over');
    await sidecar.stop();
    assert.deepEqual(await sidecar.sql('SELECT count(*) AS n FROM result'), [{ n: 1 }]);
    assert.deepEqual(await sidecar.sql('SELECT count(*) AS n FROM account'), [{ n: 1 }]);
});

test('a start with a clock that is ahead removes no body whose run is only just being recorded', async (t) => {
    const { call, clock, ended, sidecar } = await wrong(t);
    await ended((await call(RUN, { query: { async: 'true' } })).id);
    await sidecar.stop();
    const shard = join(sidecar.dataDir, 'bodies', '00');
    const [young, old] = [0, 1].map((n) => join(shard, `00000000-0000-7000-8000-00000000000${n}`));
    await mkdir(shard, { recursive: true });
    for (const file of [young, old]) await writeFile(file, 'x');
    const before = new Date(Date.now() - 2 * HOUR);
    await utimes(old, before, before);
    await clock.set(400 * DAY);
    await sidecar.start();
    assert.deepEqual(await readdir(shard), [basename(young)]);
});

test('a store that has noted no time knows by its newest run that the clock is ahead', async (t) => {
    const { call, clock, said, show, ended, sidecar } = await wrong(t);
    const { id } = await call(RUN, { query: { async: 'true' } });
    await ended(id);
    await sidecar.stop();
    const forget = "DELETE FROM meta WHERE k = 'seen_ms'";
    await promisify(execFile)('sqlite3', [join(sidecar.dataDir, 'hookline.db'), forget]);
    await clock.set(400 * DAY);
    await sidecar.start();
    await said(/^store: the wall clock jumped ahead/);
    assert.equal((await show(id)).state, 'success');
});

test('a clock that is ahead at two starts is not taken for right at the second', async (t) => {
    const { call, clock, said, show, ended, sidecar } = await wrong(t);
    const { id } = await call(RUN, { query: { async: 'true' } });
    await ended(id);
    await sidecar.stop();
    await clock.set(400 * DAY);
    for (let i = 0; i < 2; i++) {
        sidecar.log.length = 0;
        await sidecar.start();
        await said(/^store: the wall clock jumped ahead/);
        await sidecar.stop();
    }
    await sidecar.start();
    assert.equal((await show(id)).state, 'success');
});

test('after a moment of being ahead ids and times are those of the clock again', async (t) => {
    const { call, clock, ended } = await wrong(t);
    await call(RUN);
    await clock.set(2 * DAY);
    const ahead = await call(RUN);
    assert.ok(!isNow(timeOf(ahead.id)));
    await clock.set(0);
    for (const query of [{}, { async: 'true' }]) {
        const { id } = await call(RUN, { query });
        const run = await ended(id);
        assert.ok(isNow(timeOf(id)), id);
        assert.ok(isNow(Date.parse(run.created_at)), run.created_at);
        assert.ok(run.finished_at >= run.created_at, JSON.stringify(run));
    }
});

test('runs of before and after a clock was set back are all on the pages', async (t) => {
    const { call, clock, sidecar } = await wrong(t);
    const ids = [];
    for (const ms of [0, 2 * DAY, DAY, 0]) {
        await clock.set(ms);
        for (let i = 0; i < 3; i++) ids.push((await call(RUN)).id);
    }
    const seen = [];
    for (let cursor = ''; cursor !== null; ) {
        const query = `limit=2${cursor && `&cursor=${cursor}`}`;
        const page = (await control(sidecar)('GET', `/v2/projects/p/runs?${query}`)).json();
        seen.push(...page.runs.map((run) => run.run_id));
        cursor = page.next_cursor ?? null;
    }
    assert.deepEqual(seen, ids.sort().reverse());
});

test('a run and a webhook during which the clock is set back last no less than nothing', async (t) => {
    const [inApp, atReceiver] = [gate(), gate()];
    const { app, call, clock, receiver, ended, show } = await wrong(t, {
        app: async (x) => {
            await x.body();
            await inApp.promise;
            await x.send(200, {}, 'done');
        },
    });
    receiver.script('/hook', async (x) => {
        await atReceiver.promise;
        await x.send(200, {}, '');
    });
    const { id } = await call(RUN, { query: { async: 'true', webhookEndpoint: receiver.url() } });
    await until('it is in the app', () => app.requests.length === 1);
    await clock.set(-2 * HOUR);
    inApp.open();
    await until('the webhook is out', () => receiver.requests.length === 1);
    await clock.set(-4 * HOUR);
    atReceiver.open();
    await receiver.delivered('/hook', 1);
    const run = await ended(id);
    assert.ok(run.finished_at >= run.started_at, JSON.stringify(run));
    const delivery = await until('it is delivered', async () =>
        (await show(id)).deliveries.find(({ state }) => state === 'delivered'),
    );
    assert.ok(Number.isInteger(delivery.attempts[0].duration_ms), JSON.stringify(delivery));
});

/** A webhook that waits in the store for its second attempt, since `times[0]`. */
async function waiting(t) {
    const all = await wrong(t, { env: { HOOKLINE_WEBHOOK_SCHEDULE: '10s' } });
    const times = [];
    all.receiver.script('/hook', async (x) => {
        times.push(performance.now());
        await x.send(times.length < 2 ? 404 : 200);
    });
    const { id } = await all.call(RUN, { query: { async: 'true', webhookEndpoint: all.receiver.url() } });
    await until('it waits in the store', async () => (await all.sidecar.metric('hookline_deliveries_put_off')) === 1);
    const delivery = async () => (await all.show(id)).deliveries[0];
    const comesInTime = async () => {
        await until('the second attempt', () => times.length === 2);
        const ms = times[1] - times[0];
        assert.ok(ms >= 7_995, `${ms} ms: early`);
        await until('it is delivered', async () => (await delivery()).state === 'delivered');
    };
    return { ...all, delivery, comesInTime };
}

for (const ms of [-4 * HOUR, 2 * DAY])
    test(`a retry that waits in the store comes when it is due though the clock is set by ${ms / HOUR} h`, { waits: true }, async (t) => {
        const { clock, delivery, comesInTime } = await waiting(t);
        const before = Date.parse((await delivery()).next_attempt_at);
        await clock.set(ms);
        const shown = Date.parse((await delivery()).next_attempt_at) - before;
        assert.ok(Math.abs(shown - ms) < 2_000, `shown by the clock as it is now: ${shown}`);
        await comesInTime();
    });

test('a retry that waits in the store comes when it is due though the clock is set and hookline ends', { waits: true }, async (t) => {
    const { clock, sidecar, comesInTime } = await waiting(t);
    await clock.set(-4 * HOUR);
    await sidecar.stop();
    await sidecar.start();
    await comesInTime();
});

/** A run whose first attempt has failed and that waits for its second. */
async function betweenAttempts(t) {
    const times = [];
    const all = await wrong(t, {
        env: { HOOKLINE_RUN_ATTEMPTS: '2', HOOKLINE_RUN_RETRY_ON: '503', HOOKLINE_RUN_RETRY_DELAY: '8s' },
        app: async (x) => {
            await x.body();
            times.push(performance.now());
            await x.send(times.length < 2 ? 503 : 200);
        },
    });
    const { id } = await all.call(RUN, { query: { async: 'true' } });
    await until('it waits for its next attempt', async () => (await all.show(id)).next_attempt_at);
    const comesInTime = async () => {
        const run = await all.ended(id);
        assert.equal(run.state, 'success', run.reason);
        assert.equal(times.length, 2);
        const ms = times[1] - times[0];
        assert.ok(ms >= 5_995, `${ms} ms: early`); // a quarter of the delay is spread
    };
    return { ...all, id, comesInTime };
}

for (const ms of [-4 * HOUR, 13 * HOUR, 2 * DAY])
    test(`a run’s next attempt comes when it is due though the clock is set by ${ms / HOUR} h`, { waits: true }, async (t) => {
        const { clock, comesInTime, id, show } = await betweenAttempts(t);
        const before = Date.parse((await show(id)).next_attempt_at);
        await clock.set(ms);
        const shown = Date.parse((await show(id)).next_attempt_at) - before;
        assert.ok(Math.abs(shown - ms) < 2_000, `shown by the clock as it is now: ${shown}`);
        await comesInTime();
    });

test('a run’s next attempt comes when it is due though the clock is set and hookline ends', { waits: true }, async (t) => {
    const { clock, comesInTime, sidecar } = await betweenAttempts(t);
    await clock.set(-4 * HOUR);
    await sidecar.stop();
    await sidecar.start();
    await comesInTime();
});

test('a run is tried again though the clock was set forward during its attempt', async (t) => {
    const inside = gate();
    let attempts = 0;
    const { call, clock, ended } = await wrong(t, {
        env: { HOOKLINE_RUN_ATTEMPTS: '3', HOOKLINE_RUN_RETRY_ON: '503', HOOKLINE_RUN_RETRY_DELAY: '10ms' },
        app: async (x) => {
            await x.body();
            if (++attempts === 1) await inside.promise;
            await x.send(attempts < 3 ? 503 : 200);
        },
    });
    const { id } = await call(RUN, { query: { async: 'true' } });
    await until('it is inside the app', () => attempts === 1);
    await clock.set(13 * HOUR);
    inside.open();
    const run = await ended(id);
    assert.equal(run.state, 'success', run.reason);
    assert.equal(attempts, 3);
});

test('a queued run does not expire by a clock that is set', { waits: true }, async (t) => {
    const inside = gate();
    const { call, clock, ended, show } = await wrong(t, {
        env: { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_QUEUE_TIMEOUT: '1h' },
        app: async (x) => {
            await x.body();
            await inside.promise;
            await x.send(200);
        },
    });
    const first = await call(RUN, { query: { async: 'true' } });
    await until('it is inside the app', async () => (await show(first.id)).state === 'running');
    const second = await call(RUN, { query: { async: 'true' } });
    await clock.set(4 * HOUR);
    const third = await call(RUN, { query: { async: 'true' }, headers: { 'x-run-start-timeout': '1' } });
    assert.equal((await ended(third.id)).reason, 'expired', 'its second is over');
    inside.open();
    for (const { id } of [first, second]) assert.equal((await ended(id)).state, 'success');
});

test('a clock before 1970 stops nothing', async (t) => {
    const { call, clock } = await wrong(t);
    await clock.set(-100 * 365 * DAY);
    assert.equal((await call(RUN)).status, 200);
    assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
});

for (const [what, by] of [['forward', HOUR], ['back', -HOUR]])
    test(`a run waits for an app that is not up for as long as it may, though the clock is set ${what}`, { waits: true }, async (t) => {
        const env = { HOOKLINE_APP_START_TIMEOUT: '6s' };
        const { call, clock, ended, show, sidecar } = await wrong(t, { app: null, env });
        await sleep(6500); // the app has not been up for as long as a run may wait
        await call(RUN, { query: { async: 'true' } }).then(({ id }) => ended(id)); // so it is known that runs are ended
        const { id } = await call(RUN, { query: { async: 'true' } });
        await clock.set(by);
        if (by > 0) {
            await sleep(1000); // it is looked at every 0.3 s
            assert.equal((await show(id)).state, 'queued');
        }
        assert.equal((await ended(id)).reason, 'upstream_unreachable');
        assert.equal((await control(sidecar)('GET', '/healthz')).status, 200);
    });
