// kill -9 at random moments loses no accepted call, calls the app at most once for each, and repeats no delivery with another body.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, caller } from './lib/stage.mjs';
import { generator, seed } from './lib/random.mjs';
import { Receiver } from './lib/receiver.mjs';
import { startServer } from './lib/server.mjs';
import { startSidecar } from './lib/sidecar.mjs';
import { PATIENCE, sleep, until } from './lib/until.mjs';

const KILLS = Number(process.env.HOOKLINE_TEST_KILLS ?? 20);
const CALLS = 200;

test(
    `${KILLS} kills with ${CALLS} calls in flight each`,
    { limit: 60_000 + KILLS * 20_000 },
    async (t) => {
        t.diagnostic(`HOOKLINE_TEST_SEED=${seed}`);
        const random = generator(seed);
        const app = await startServer(t, async (x) => {
            await x.body();
            await sleep(random() * 60); // 200 runs, 16 at once: about 400 ms of work
            await x.json({ call: x.bytes.toString() });
        });
        const receiver = await Receiver.start(t);
        receiver.script('/hook', async (x) => {
            await sleep(random() * 20);
            await x.send(200);
        });
        const sidecar = await startSidecar(t, {
            env: {
                HOOKLINE_APP_URL: app.url,
                HOOKLINE_ASYNC_CONCURRENCY: '16',
                HOOKLINE_LOG_LEVEL: 'info',
            },
        });
        const call = caller(t, sidecar);
        const sent = new Set(); // calls by their number
        const accepted = new Map(); // call → run id
        for (let kill = 0; kill < KILLS; kill++) {
            const calls = Array.from({ length: CALLS }, async (_, i) => {
                const number = `${kill}-${i}`;
                sent.add(number);
                const query = {
                    async: 'true',
                    webhookEndpoint: `${receiver.url('/hook')}?call=${number}`,
                };
                const response = await call(RUN, { query, body: number }).catch(() => null);
                if (response?.status === 202) accepted.set(number, response.json().run_id);
            });
            const moment = random() * 900;
            await sleep(moment);
            await sidecar.kill();
            await Promise.all(calls);
            await sidecar.start();
        }
        assert.ok(accepted.size > 0, 'no call was accepted before a kill');

        const delivered = () => new Set(receiver.deliveries().map(callOf));
        await until(
            'each accepted call is reported',
            () => {
                if (receiver.requests.length < accepted.size) return false;
                const reported = delivered();
                return [...accepted.keys()].every((number) => reported.has(number));
            },
            5 * PATIENCE,
        );
        await until(
            'nothing is queued or pending',
            async () =>
                (await sidecar.metric('hookline_runs_queued')) === 0 &&
                (await sidecar.metric('hookline_deliveries_pending')) === 0,
            60_000,
        );
        await sidecar.stop();

        const runs = await sidecar.sql('SELECT lower(hex(run_id)) AS id, state FROM run_with_state');
        assertReports(receiver, sent, accepted);
        assertRuns(runs, receiver, accepted);
        for (const [id, count] of app.callsById())
            assert.equal(count, 1, `the app was called ${count} times for ${id}`);
        const interrupted = receiver.deliveries().filter(isInterrupted).length;
        t.diagnostic(
            `${sent.size} calls, ${accepted.size} accepted, ${app.requests.length} calls of the app, ` +
                `${receiver.deliveries().length} deliveries, ${interrupted} of them of interrupted runs`,
        );
        if (KILLS >= 10) assert.ok(interrupted > 0, 'no kill met a run inside the app');
    },
);

const isInterrupted = ({ bytes }) => JSON.parse(bytes).reason === 'interrupted';
const callOf = (delivery) => new URL(delivery.target, 'http://x').searchParams.get('call');

/** Each delivery belongs to a call that was made, to one run, and is the same every time. */
function assertReports(receiver, sent, accepted) {
    const bodies = new Map();
    for (const delivery of receiver.deliveries()) {
        const number = callOf(delivery);
        const envelope = JSON.parse(delivery.bytes);
        assert.ok(sent.has(number), `nobody made call ${number}`);
        if (accepted.has(number)) assert.equal(envelope.run_id, accepted.get(number));
        const first = bodies.get(number) ?? delivery;
        assert.ok(
            first.bytes.equals(delivery.bytes),
            `call ${number} was reported with different bodies`,
        );
        bodies.set(number, first);
        if (envelope.status === 'success') assert.deepEqual(envelope.response, { call: number });
        else assert.deepEqual([envelope.status, envelope.reason], ['failure', 'interrupted']);
    }
}

/** How the store writes states: proxy/store/record.h. */
const STATES = ['queued', 'running', 'success', 'failure', 'cancelled'];

/** Each accepted run is there once, finished; each report says what the store says. */
function assertRuns(runs, receiver, accepted) {
    const states = new Map(runs.map(({ id, state }) => [id, STATES[state]]));
    const stateOf = (id) => states.get(id.replaceAll('-', ''));
    assert.equal(states.size, runs.length, 'a run is there twice');
    for (const { bytes } of receiver.deliveries()) {
        const { run_id, status } = JSON.parse(bytes);
        assert.equal(status, stateOf(run_id), `${run_id} was reported as ${status}`);
    }
    for (const [number, id] of accepted) {
        assert.match(stateOf(id) ?? 'nothing', /^(success|failure)$/, `call ${number} (${id})`);
    }
}
