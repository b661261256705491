// kill -9 before and after every commit, send and rename, and at random: no accepted call is lost, run twice or reported in two ways.
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeOld } from './lib/files.mjs';
import { Ledger } from './lib/ledger.mjs';
import { generator, seed } from './lib/random.mjs';
import { run } from './lib/sidecar.mjs';
import { test } from './lib/case.mjs';
import { sleep, until } from './lib/until.mjs';
import { fill, mountVolume } from './lib/volume.mjs';

const FULL_HOUSE = fileURLToPath(new URL('apps/full_house.py', import.meta.url));
const LANES = 6; // sidecars that live and die side by side
const KILLS = Number(process.env.HOOKLINE_TEST_KILLS ?? 0); // at least; and at least one at each point
const TRIES = 5; // rounds for a point until its kills have met runs in every state
const REACHED_WITHIN = 90_000; // a machine that does much else is slow
const VOLUME = 128 << 20; // the small volume that is filled up
const LIMIT = 600_000 + KILLS * 3_000; // about 60 s on a machine that does nothing else

const MIX = ['plain', 'longRequest', 'reported', 'longAnswer', 'synchronous', 'keyed', 'refused'];
const SMALL = ['plain', 'reported', 'keyed', 'refused'];

/** What may follow a kill at a point, before everything is settled. */
const AGAIN = ['recover-applied', 'recover-committed', 'at random', null, null, null, null, null];

const SETTINGS = {
    HOOKLINE_LOG_LEVEL: 'warn',
    HOOKLINE_ASYNC_CONCURRENCY: '8',
    HOOKLINE_WEBHOOK_PER_HOST: '2',
};

/**
 * What a point needs beside calls. `at`: the passages at which it kills (a number or a range; else
 * 3 to 10), `env`: settings of the process that dies (a function: of its ledger), `prepare(ledger)`: before it starts,
 * `during(ledger)`: while it lives, `never`: states that no run can be in there.
 */
const PLANS = {
    'batch-begun': { at: [8, 25] },
    'batch-applied': { at: [8, 25] },
    'batch-committed': { at: [8, 25] },
    'claim-applied': { at: [9, 20] }, // not in the first commit: none is running before it
    'lease-applied': { at: [9, 20] },
    'webhook-ready': { at: [8, 25] }, // those that were left go out first, before the app has a call
    'record-applied': { at: [1, 3] },
    'record-committed': { at: [1, 3] },
    'attempt-applied': { at: [1, 3] },
    'attempt-committed': { at: [1, 3] },
    'checkpoint-due': { at: [2, 3] },
    'checkpoint-done': { at: [2, 3] },
    'file-doomed': { at: [1, 3] },
    'file-unlinked': { at: [1, 3] },
    'body-written': { at: [1, 4] },
    'body-synced': { at: [1, 4] },
    'body-renamed': { at: [1, 4] },
    'body-durable': { at: [1, 4] },
    'release-applied': { at: [1, 3], ...fullApp() },
    'release-committed': { at: 1, ...fullApp() },
    'purge-applied': { ...shortRetention((results) => results + 5) },
    'purge-committed': { ...shortRetention((results) => Math.ceil(results / 64) + 5) },
    'reserve-made': { at: 1, prepare: ({ sidecar }) => rm(join(sidecar.dataDir, 'ballast')) },
    'reserve-released': { at: 1, kinds: SMALL, during: fillVolume, hasVolume: true },
    'key-made': { at: 1 },
    'sweep-unlinked': { at: [1, 3], prepare: plantOrphans },
    'recover-run': { at: [1, 3] },
    'recover-delivery': { at: [1, 2] },
    'recover-applied': { at: 1 },
    'recover-committed': { at: 1, never: ['in the app', 'delivering'] }, // it released them
};

const planOf = (point) => ({ at: [3, 10], kinds: MIX, ...PLANS[point] });

/** Claimed runs wait for a connection to an app that may just be busy; a process that stops gives them back. */
function fullApp() {
    return {
        env: ({ sidecar }) => ({
            HOOKLINE_APP_URL: `unix:${join(sidecar.dataDir, 'app.sock')}`,
            HOOKLINE_APP_COMMAND: JSON.stringify(['/usr/bin/python3', FULL_HOUSE]),
            TEST_HOLDS: 'all',
        }),
        during: async (ledger) => {
            ledger.ask('synchronous', 'synchronous', ...MIX);
            const inFlight = () => ledger.sidecar.metric('hookline_runs_in_flight');
            await until('claimed runs wait', async () => (await inFlight()) === 8);
            ledger.sidecar.signal('SIGTERM');
        },
    };
}

/** All results that there are go soon; `at` is beyond those, among the dying process's own. */
function shortRetention(at) {
    return {
        env: { HOOKLINE_RETENTION: '1s' },
        at: async ({ sidecar }) => {
            const [{ n }] = await sidecar.sql('SELECT count(*) AS n FROM result');
            return at(n);
        },
        purges: true,
    };
}

/** Files as a process leaves them that dies between a rename and the record. */
async function plantOrphans({ sidecar }) {
    for (let i = 0; i < 3; i++) {
        const shard = join(sidecar.dataDir, 'bodies', `a${i}`);
        await mkdir(shard, { recursive: true });
        await writeFile(join(shard, `01935d2e-0000-7000-8000-0000000000a${i}`), 'nobody’s');
    }
}

/** Runs end on a volume without a free byte. */
async function fillVolume(ledger) {
    await ledger.sidecar.until('healthz');
    for (let i = 0; i < 10; i++) await ledger.ask(...Array(10).fill('bulky'));
    await until('runs are inside the app', () => ledger.waiting.app === 8);
    const giveBack = await fill(ledger.sidecar.dataDir, VOLUME);
    ledger.app.open();
    await ledger.sidecar.exited();
    await giveBack();
}

/** How many kills there were at each point, and how many of them met runs in which state. */
class Table {
    #rows = new Map();
    kills = 0;

    add(name, runs) {
        const row = this.#rows.get(name) ?? { kills: 0 };
        row.kills++;
        this.kills++;
        for (const state of Object.keys(runs)) row[state] = (row[state] ?? 0) + (runs[state] > 0);
        this.#rows.set(name, row);
    }

    /** Whether kills there have met runs in every state that a run can be in there. */
    isFull(name) {
        const row = this.#rows.get(name) ?? { kills: 0 };
        const never = PLANS[name]?.never ?? [];
        return Object.keys(row).every((state) => row[state] > 0 || never.includes(state));
    }

    lines() {
        const rows = [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1));
        const columns = Object.keys(rows[0]?.[1] ?? {});
        const line = (first, cells) =>
            first.padEnd(18) + cells.map((cell) => `${cell}`.padStart(13)).join('');
        const cell = (name, row, state) => (PLANS[name]?.never?.includes(state) ? '-' : row[state]);
        return [
            line('', columns),
            ...rows.map(([name, row]) =>
                line(
                    name,
                    columns.map((state) => cell(name, row, state)),
                ),
            ),
        ];
    }
}

/** One data directory, and the processes that live and die on it. */
class Lane {
    #ledger;
    #table;
    #random;

    static async open(t, table, random, options) {
        const lane = new Lane();
        lane.#ledger = await Ledger.open(t, random, { env: SETTINGS, ...options });
        lane.#table = table;
        lane.#random = random;
        await lane.#ledger.sidecar.stop();
        return lane;
    }

    /** A kill at a random moment, one at the point, perhaps a third; then all is settled and checked. */
    async round(point) {
        const plan = planOf(point);
        this.#ledger.begin();
        await this.#dieAtRandom(plan);
        await this.#dieAt(point, plan);
        const again = AGAIN[Math.floor(this.#random() * AGAIN.length)];
        if (again === 'at random') await this.#dieAtRandom(plan);
        else if (again) await this.#dieAt(again, planOf(again));
        await this.#start({}, 'readyz');
        await this.#ledger.settle(!plan.purges);
        await this.#ledger.check(plan.purges);
    }

    async #start(env, wait) {
        await makeOld(join(this.#ledger.sidecar.dataDir, 'bodies')); // what no record names is swept
        return this.#ledger.sidecar.restart(
            {
                HOOKLINE_APP_URL: this.#ledger.appUrl,
                HOOKLINE_APP_COMMAND: undefined,
                HOOKLINE_RETENTION: undefined,
                HOOKLINE_CRASH_AT: undefined,
                ...env,
            },
            wait,
        );
    }

    /** Runs are in all states when it happens. */
    async #dieAtRandom({ kinds }) {
        const ledger = this.#ledger;
        await this.#start({}, 'readyz');
        ledger.hold();
        await ledger.ask('held', 'held', 'held', ...Array(6).fill('slow'));
        await until(
            'calls and deliveries wait',
            () => ledger.waiting.app >= 3 && ledger.waiting.slow === 2,
        );
        const missed = this.#random() < 0.1 ? 'missed' : 'retried'; // given up after 5 s
        const before = ledger.accepted;
        const calls = ledger.ask('retried', missed, ...Array(6).fill(kinds).flat());
        await until('some are accepted', () => ledger.accepted > before + 10);
        await sleep(this.#random() * 60);
        await ledger.sidecar.kill();
        await calls;
        this.#table.add('at random', await ledger.look());
    }

    async #passage(at) {
        if (typeof at === 'function') return at(this.#ledger);
        const [least, most] = [at].flat();
        return least + Math.floor(this.#random() * ((most ?? least) - least + 1));
    }

    async #dieAt(point, { at, env, kinds, prepare, during }) {
        const ledger = this.#ledger;
        const { sidecar } = ledger;
        const wish = `${point}:${await this.#passage(at)}`;
        await prepare?.(ledger);
        const own = typeof env === 'function' ? env(ledger) : env;
        await this.#start({ ...own, HOOKLINE_CRASH_AT: wish }, null);
        const exit = sidecar.exited();
        const late = setTimeout(() => sidecar.signal('SIGABRT'), REACHED_WITHIN);
        const up = sidecar.until('healthz').then(() => during?.(ledger));
        const met = up.catch((error) => {
            if (sidecar.isRunning) throw error; // else it died meanwhile
        });
        await Promise.race([exit, met]);
        const asked = [ledger.ask('retried', 'retried', 'retried')];
        while (sidecar.isRunning) {
            asked.push(ledger.ask(...kinds, 'slow'));
            await Promise.race([exit, sleep(30)]);
        }
        const { code, signal } = await exit;
        clearTimeout(late);
        assert.equal(signal ?? code, 'SIGKILL', `${wish} was not reached`);
        await Promise.all([met, ...asked]);
        this.#table.add(point, await ledger.look());
    }
}

async function listPoints() {
    const { stdout } = await run(['--version'], { HOOKLINE_CRASH_AT: 'list' });
    const points = stdout.trim().split('\n');
    assert.ok(
        points.includes('batch-begun'),
        'HOOKLINE_BIN has no crash points: build it with -DHOOKLINE_CRASH_POINTS=ON',
    );
    for (const point of Object.keys(PLANS)) assert.ok(points.includes(point), point);
    return points;
}

/** The order of the rounds: each point once, then again what the table lacks, then any. */
function* schedule(points, table, random) {
    const shuffled = points.map((point) => [random(), point]).sort(([a], [b]) => a - b);
    for (const [, point] of shuffled) yield point;
    for (let i = 1; i < TRIES; i++)
        for (const point of points) if (!table.isFull(point)) yield point;
    while (table.kills < KILLS) yield points[Math.floor(random() * points.length)];
}

test('each point has its kills, in every state of a run', { limit: LIMIT }, async (t) => {
    t.diagnostic(`HOOKLINE_TEST_SEED=${seed}`);
    const random = generator(seed);
    const table = new Table();
    const points = await listPoints();
    const onVolumes = points.filter((point) => PLANS[point]?.hasVolume);
    const usual = points.filter((point) => !onVolumes.includes(point));
    const wanted = ['at random', ...usual];
    const order = schedule(usual, table, random); // whoever leaves its loop ends it for all
    const lanes = Array.from({ length: LANES }, async () => {
        const lane = await Lane.open(t, table, random);
        for (const point of order) await lane.round(point);
    });
    const volumes = onVolumes.map(async (point) => {
        for (let i = 0; i < TRIES && !table.isFull(point); i++) {
            const dataDir = await mountVolume(t, VOLUME);
            if (!dataDir) return t.diagnostic(`${point}: left out, it needs the right to mount`);
            const lane = await Lane.open(t, table, random, { dataDir });
            await lane.round(point);
        }
        wanted.push(point);
    });
    const ends = await Promise.allSettled([...lanes, ...volumes]);
    for (const line of table.lines()) t.diagnostic(line);
    t.diagnostic(`${table.kills} kills`);
    for (const { reason } of ends) if (reason) throw reason;
    for (const name of wanted) assert.ok(table.isFull(name), `${name} is not full`);
});

test('a kill during the first start leaves a directory that starts', async (t) => {
    const random = generator(seed);
    for (const point of ['key-made', 'reserve-made', 'recover-applied', 'recover-committed']) {
        const env = { HOOKLINE_CRASH_AT: `${point}:1` };
        const ledger = await Ledger.open(t, random, { env, wait: null });
        assert.equal((await ledger.sidecar.exited()).signal, 'SIGKILL', point);
        await ledger.sidecar.restart({ HOOKLINE_CRASH_AT: undefined });
        await ledger.ask('reported', 'longRequest', 'longAnswer');
        assert.equal(ledger.accepted, 3, point);
        await ledger.settle();
        await ledger.check();
    }
});
