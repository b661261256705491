// kill -9 at random moments while runs are tried again: what the app saw of each attempt is what the record says.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { generator, seed } from './lib/random.mjs';
import { control } from './lib/rest.mjs';
import { startServer } from './lib/server.mjs';
import { startSidecar } from './lib/sidecar.mjs';
import { RUN, caller } from './lib/stage.mjs';
import { sleep, until } from './lib/until.mjs';

const KILLS = Number(process.env.HOOKLINE_TEST_KILLS ?? 6);
const CALLS = 60;
const ATTEMPTS = 4;

/** How the app ends a call: a status, or a connection that is reset. */
const ends = (random) => (random() < 0.45 ? 200 : random() < 0.7 ? 503 : random() < 0.5 ? 404 : 'reset');

test(`${KILLS} kills with ${CALLS} runs each that are tried again`, { limit: 60_000 + KILLS * 20_000 }, async (t) => {
    t.diagnostic(`HOOKLINE_TEST_SEED=${seed}`);
    const random = generator(seed);
    const seen = new Map(); // run → attempt → how the app meant to end it
    const app = await startServer(t, async (x) => {
        const attempt = Number(x.get('x-run-attempt'));
        const of = seen.get(x.id) ?? new Map();
        assert.ok(!of.has(attempt), `run ${x.id}: the app got attempt ${attempt} twice`);
        assert.ok(attempt > Math.max(0, ...of.keys()), `run ${x.id}: attempt ${attempt} came after a later one`);
        const end = ends(random);
        seen.set(x.id, of.set(attempt, end));
        await x.body();
        await sleep(random() * 60);
        if (end === 'reset') x.reset();
        else await x.send(end, {}, `${end}`);
    });
    const sidecar = await startSidecar(t, {
        env: {
            HOOKLINE_APP_URL: app.url,
            HOOKLINE_ASYNC_CONCURRENCY: '8',
            HOOKLINE_RUN_ATTEMPTS: `${ATTEMPTS}`,
            HOOKLINE_RUN_RETRY_ON: '5xx,reset,interrupted',
            HOOKLINE_RUN_RETRY_DELAY: '30ms',
            HOOKLINE_LOG_LEVEL: 'error',
        },
    });
    const call = caller(t, sidecar);
    const accepted = [];
    for (let kill = 0; kill < KILLS; kill++) {
        const calls = Array.from({ length: CALLS }, async () => {
            const response = await call(RUN, { query: { async: 'true' }, body: 'ping' }).catch(() => null);
            if (response?.status === 202) accepted.push(response.json().run_id);
        });
        await sleep(random() * 900);
        await sidecar.kill();
        await Promise.all(calls);
        await sidecar.start();
    }
    assert.ok(accepted.length > 0, 'no call was accepted before a kill');
    const ask = control(sidecar);
    await until('nothing waits or runs', async () => {
        const [queued, waiting, running] = await Promise.all(
            ['hookline_runs_queued', 'hookline_runs_waiting_retry', 'hookline_runs_in_flight'].map((name) => sidecar.metric(name)),
        );
        return queued + waiting + (running ?? 0) === 0;
    }, 60_000);
    let attempts = 0, interrupted = 0;
    for (const id of new Set([...accepted, ...seen.keys()])) {
        const record = (await ask('GET', `/v2/projects/p/apps/a/runs/${id}`)).json();
        const log = record.attempt_log;
        const of = seen.get(id) ?? new Map();
        const told = `run ${id}: ${JSON.stringify({ state: record.state, attempts: record.attempts, log, seen: [...of] })}`;
        assert.match(record.state, /^(success|failure)$/, told);
        assert.deepEqual(log.map(({ attempt }) => attempt), log.map((_, i) => i + 1), told);
        assert.equal(record.attempts, log.length, told);
        assert.ok(log.length >= 1 && log.length <= ATTEMPTS, told);
        assert.ok(Math.max(0, ...of.keys()) <= log.length, `an attempt that nothing is known of: ${told}`);
        for (const { attempt, status_code, reason } of log) {
            attempts++;
            const meant = of.get(attempt);
            if (reason === 'interrupted') {
                interrupted++; // the app may have seen it, and may have answered it
                assert.equal(status_code, null, told);
            } else if (reason === 'upstream_reset') {
                assert.equal(meant, 'reset', told);
            } else {
                assert.equal(status_code, meant, told);
                assert.equal(reason, meant === 200 ? null : 'app_error', told);
            }
        }
        const last = log.at(-1);
        assert.equal(record.state, last.status_code === 200 ? 'success' : 'failure', told);
        assert.ok(last.status_code === 200 || last.status_code === 404 || log.length === ATTEMPTS, `given up too early: ${told}`);
        assert.ok(log.slice(0, -1).every(({ status_code }) => status_code !== 200 && status_code !== 404), `tried again for nothing: ${told}`);
    }
    t.diagnostic(`${accepted.length} runs accepted, ${attempts} attempts, ${interrupted} of them interrupted, ${app.requests.length} calls of the app`);
    if (KILLS >= 6) assert.ok(interrupted > 0, 'no kill met a run inside the app');
});
