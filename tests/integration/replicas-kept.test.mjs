// What ends while PostgreSQL is gone: results wait in bounded memory, then in files, then without their bodies; all are written when it is back.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { filesBelow } from './lib/files.mjs';
import { cluster } from './lib/postgres.mjs';
import { RUNS, fleet } from './lib/replicas.mjs';
import { isSanitized } from './lib/sanitized.mjs';
import { gate, until } from './lib/until.mjs';

const MIB = 1 << 20;
const RESULT = 200 * 1024;
const CALLS = 240;
const IN_MEMORY = 16 * MIB;
const IN_FILES = 4 * MIB;

const resultOf = (n) => `${n}.`.padEnd(RESULT, '-');

/** A replica with runs inside its app that end, each with a result of its own, when `end` opens and the server is gone. */
async function running(t) {
    const server = await cluster(t);
    const end = gate();
    const all = await fleet(t, {
        database: server,
        env: {
            HOOKLINE_REPLICA_TTL: '60s',
            HOOKLINE_ASYNC_CONCURRENCY: `${CALLS}`,
            HOOKLINE_STORE_MAX_BYTES: `${IN_FILES}`,
        },
        app: async (x) => {
            const n = (await x.body()).toString();
            await end.promise;
            await x.send(200, { 'Content-Type': 'text/plain' }, resultOf(n));
        },
    });
    const a = await all.add('a');
    const begun = Array.from({ length: CALLS }, async (_, n) => a.begin({ body: `${n}`, hook: all.receiver.url(`/${n}`) }));
    const ids = await Promise.all(begun);
    const inside = (n) => until(`${n} are inside`, async () => (await a.sidecar.metric('hookline_runs_in_flight')) === n);
    await inside(CALLS);
    await server.stop();
    await a.logged(/^store: the connection to PostgreSQL is lost/);
    return { server, end, all, a, ids, inside };
}

const filesOf = async ({ sidecar }) => (await filesBelow(join(sidecar.dataDir, 'scratch', 'bodies'))).length;

test('results that end without PostgreSQL are kept in memory, then in files, then without bodies', async (t) => {
    const { server, end, all, a, ids, inside } = await running(t);
    const before = await a.sidecar.rssAnon();
    end.open();
    await inside(0);
    const files = Math.floor(IN_FILES / RESULT);
    await until('some are files', async () => (await filesOf(a)) === files);
    const grown = async () => (await a.sidecar.rssAnon()) - before;
    if (!isSanitized) await until('memory is bounded', async () => (await grown()) < 1.5 * IN_MEMORY);
    t.diagnostic(`${CALLS} results of ${RESULT} bytes: RssAnon grew by ${(await grown()) / MIB} MiB`);

    await server.start();
    await a.says('ok');
    const isKept = [];
    for (const [n, id] of ids.entries()) {
        assert.equal((await a.finished(id)).state, 'success');
        const { status, reason, response } = await all.receiver.envelope(`/${n}`);
        isKept.push(response !== null);
        assert.equal(status, 'success');
        assert.equal(reason, isKept[n] ? undefined : 'response_not_kept');
        if (isKept[n]) assert.equal(response, resultOf(n));
    }
    const inMemory = isKept.filter(Boolean).length - files;
    assert.ok(inMemory * RESULT <= IN_MEMORY && (inMemory + 4) * RESULT > IN_MEMORY, `${inMemory} in memory`);
    await until('the files are gone', async () => (await filesOf(a)) === 0);
    for (const [n, id] of ids.entries()) {
        const { status, text } = await a.ask('GET', `${RUNS}/${id}/result`);
        assert.equal(status, isKept[n] ? 200 : 410, text);
        if (isKept[n]) assert.equal(text, resultOf(n));
    }
});
