// kill -9 while webhooks wait for their next attempts: none comes before its time, none too often, and none is lost.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { fleet } from './lib/replicas.mjs';
import { control } from './lib/rest.mjs';
import { generator, seed } from './lib/random.mjs';
import { ScheduleLedger } from './lib/schedule_ledger.mjs';
import { startServer } from './lib/server.mjs';
import { startSidecar } from './lib/sidecar.mjs';
import { caller } from './lib/stage.mjs';
import { sleep } from './lib/until.mjs';

const IS_LONG = Boolean(process.env.HOOKLINE_TEST_KILLS);
const KILLS = Number(process.env.HOOKLINE_TEST_KILLS ?? 6);
const CALLS = 12; // before each kill
const SCHEDULE = IS_LONG ? [1, 4, 7, 9, 12] : [1, 4, 6]; // s
const LATE = 1000; // ms
const TAKEN_OVER_WITHIN = 5000; // ms: HOOKLINE_REPLICA_TTL, a beat, and a look at what is there

const SETTINGS = {
    HOOKLINE_WEBHOOK_SCHEDULE: SCHEDULE.map((s) => `${s}s`).join(),
    HOOKLINE_WEBHOOK_RETRY_ON: 'network,404,429,5xx,other',
    HOOKLINE_WEBHOOK_TIMEOUT: '2s',
    HOOKLINE_ASYNC_CONCURRENCY: '16',
    HOOKLINE_LOG_LEVEL: 'warn',
};
const LIMIT = 180_000 + KILLS * 20_000;

const begin = (t, random, slack) =>
    ScheduleLedger.start(t, { delays: SCHEDULE.map((s) => s * 1000), random, slack });

/** What a machine that does much else may not spoil is judged in the long form alone. */
function report(t, kills, { late, ...seen }) {
    late.sort((a, b) => a - b);
    const at = (share) => late[Math.floor((late.length - 1) * share)];
    t.diagnostic(`${kills} kills, ${JSON.stringify(seen)}`);
    t.diagnostic(`late by, ms: p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, most ${at(1)}; over ${LATE}: ${late.filter((ms) => ms > LATE).length}`);
    if (!IS_LONG) return;
    assert.ok(seen.cut > 0, 'no kill met an attempt');
    assert.ok(at(1) <= LATE, `an attempt was ${at(1)} ms late`);
}

test('webhooks that wait when hookline is killed come at their time, as often as they may, and none is lost', { limit: LIMIT }, async (t) => {
    t.diagnostic(`HOOKLINE_TEST_SEED=${seed}`);
    const random = generator(seed);
    const app = await startServer(t, (x) => x.json({}));
    const sidecar = await startSidecar(t, { env: { HOOKLINE_APP_URL: app.url, ...SETTINGS } });
    const ledger = await begin(t, random);
    const call = caller(t, sidecar);
    ledger.losses = ledger.downs; // a start knows at once what the last process had
    for (let kill = 0; kill < KILLS; kill++) {
        const calls = ledger.begin(call, CALLS);
        await sleep(random() * 2500);
        const from = Date.now();
        await sidecar.kill();
        await calls;
        await sleep(random() * 1000);
        await sidecar.start();
        ledger.downs.push([from, Date.now()]);
    }
    report(t, KILLS, await ledger.settle(control(sidecar)));
});

test('webhooks that wait when one of two replicas is killed come at their time, as often as they may, and none is lost', { waits: true, limit: LIMIT }, async (t) => {
    t.diagnostic(`HOOKLINE_TEST_SEED=${seed}`);
    const random = generator(seed);
    const all = await fleet(t, { env: SETTINGS });
    const replicas = [await all.add('a'), await all.add('b')];
    const ledger = await begin(t, random, 100); // the clock is the database's
    const kills = Math.ceil(KILLS / 2);
    for (let kill = 0; kill < kills; kill++) {
        const calls = replicas.map(({ call }) => ledger.begin(call, CALLS));
        await sleep(random() * (IS_LONG ? 8000 : 2500));
        const { sidecar } = replicas[Math.floor(random() * 2)];
        const from = Date.now();
        await sidecar.kill();
        await Promise.all(calls);
        await sleep(random() * 1000);
        await sidecar.start();
        ledger.losses.push([from, Math.max(Date.now(), from + TAKEN_OVER_WITHIN)]);
    }
    report(t, kills, await ledger.settle(control(replicas[0].sidecar)));
});
