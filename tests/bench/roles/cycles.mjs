// cycles.mjs - workers behind a front come and go, from none to three and back, one of them killed each time, under calls of
// both kinds. Books: each call is answered by the app, once, and none is refused. CYCLES=100 is the long run.
import assert from 'node:assert/strict';
import { test } from '../../integration/lib/case.mjs';
import { fleet } from '../../integration/lib/replicas.mjs';
import { RUN } from '../../integration/lib/stage.mjs';
import { sleep, until } from '../../integration/lib/until.mjs';

const CYCLES = Number(process.env.CYCLES ?? 5);
const AT_ONCE = 8; // callers of each kind
const PAUSE_MS = 20; // between a caller's calls
const THERE_MS = 700; // how long the three are there

test('workers from none to three and back', { limit: 3_600_000 }, async (t) => {
    const seen = new Map(); // calls of the app, by run
    const all = await fleet(t, {
        env: { HOOKLINE_RUN_ATTEMPTS: '5', HOOKLINE_LOG_LEVEL: 'warn', HOOKLINE_DRAIN_TIMEOUT: '30s' },
        app: async (x, name) => {
            seen.set(x.id, (seen.get(x.id) ?? 0) + 1);
            const body = await x.body();
            await sleep(20 + Math.random() * 100);
            await x.send(200, { 'Content-Type': 'text/plain', 'Set-Cookie': [`by=${name}`, 'b=2'] }, body);
        },
    });
    const front = await all.add('front', { hasApp: false, wait: 'readyz', env: { HOOKLINE_ROLE: 'front' } });
    const books = { sync: 0, async: 0, other: [] };
    const ids = [];
    let isOver = false;
    let n = 0;
    const caller = async (kind) => {
        while (!isOver) {
            const body = `${kind} ${n++}`;
            const answer = await front.call(RUN, { body, query: kind === 'async' ? { async: 'true' } : {} });
            const isGood = kind === 'async' ? answer.status === 202
                : answer.status === 200 && answer.text === body && answer.headers['set-cookie'].length === 2 && seen.has(answer.id);
            if (isGood) books[kind]++;
            else books.other.push(`${answer.status} ${answer.text}`);
            if (kind === 'async' && isGood) ids.push(answer.json().run_id);
            await sleep(PAUSE_MS);
        }
    };
    const callers = ['sync', 'async'].flatMap((kind) => Array.from({ length: AT_ONCE }, () => caller(kind)));
    const waits = [];
    for (let i = 0; i < CYCLES; i++) {
        const workers = await Promise.all([1, 2, 3].map((k) => all.add(`w${i}.${k}`, { env: { HOOKLINE_ROLE: 'worker' } })));
        const ready = performance.now();
        const before = books.sync;
        await until('somebody is answered', () => books.sync > before);
        waits.push(performance.now() - ready);
        await sleep(THERE_MS);
        await workers[0].sidecar.kill();
        await Promise.all(workers.slice(1).map(({ sidecar }) => sidecar.stop()));
        for (const { app } of workers) await app.close?.();
        await sleep(200 + Math.random() * 300);
    }
    const last = await all.add('last', { env: { HOOKLINE_ROLE: 'worker' } });
    isOver = true;
    await Promise.all(callers);
    await until('nothing is left', async () => (await all.count('~.ticket')) === 0);
    for (const id of ids) assert.ok(seen.has(id), `${id} was lost`);
    const [{ lost }] = await all.rows(`SELECT count(*) AS lost FROM ~.run WHERE state <> 2`);
    const again = [...seen.values()].filter((k) => k > 1).length;
    console.log(`${CYCLES} cycles: ${books.sync} synchronous and ${books.async} asynchronous calls, refused ${books.other.length}, not successful ${lost}, ` +
        `run again after a kill ${again}; a first answer at most ${Math.max(...waits).toFixed(0)} ms after the third worker was ready`);
    assert.deepEqual(books.other, []);
    assert.equal(lost, 0);
    await last.sidecar.stop();
});
