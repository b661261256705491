// A database whose disk is full: what is new is refused, what runs goes on, and all of it ends when there is room again.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { cluster } from './lib/postgres.mjs';
import { fleet } from './lib/replicas.mjs';
import { RUN, assertProblem } from './lib/stage.mjs';
import { until } from './lib/until.mjs';
import { fill, mountVolume } from './lib/volume.mjs';

const VOLUME = 96 << 20;
const LARGE = 'x'.repeat(200 * 1024); // beyond what is left in a page

/** The tables are on a volume of their own: a server whose own files find no room would end. */
async function smallDatabase(t) {
    const volume = await mountVolume(t, VOLUME);
    if (!volume) return {};
    const server = await cluster(t);
    const place = join(volume, 'tables');
    await mkdir(place);
    await promisify(execFile)('chown', [`--reference=${server.directory}`, place]);
    await server.superuser(`CREATE TABLESPACE small LOCATION '${place}'`);
    await server.superuser('GRANT CREATE ON TABLESPACE small TO PUBLIC');
    await server.superuser(`ALTER ROLE ${server.role} SET default_tablespace = small`);
    return { volume, server };
}

test('while the database’s disk is full runs are refused, calls go on, and nothing accepted is lost', async (t) => {
    const { volume, server } = await smallDatabase(t);
    if (!volume) return t.skip('it needs the right to mount');
    const all = await fleet(t, { database: server, env: { HOOKLINE_LOG_LEVEL: 'info' } });
    const [a, b] = [await all.add('a'), await all.add('b')];
    const accepted = [];
    for (let i = 0; i < 4; i++) {
        accepted.push(await a.begin({ isHeld: true, hook: all.receiver.url(`/${i}`), body: `${i}` }));
    }
    await until('all are inside the apps', () => accepted.every((id) => all.calls(id) === 1));
    const giveBack = await fill(volume, VOLUME);
    const refused = await until('one is refused', async () => {
        const answer = await b.call(RUN, { query: { async: 'true' }, body: LARGE });
        if (answer.status === 202) accepted.push(answer.json().run_id);
        return answer.status !== 202 && answer;
    });
    assertProblem(refused, 503);
    assert.equal((await b.call(RUN)).status, 200);
    all.held.open();
    const inside = async ({ sidecar }) => sidecar.metric('hookline_runs_in_flight');
    await until('all have ended', async () => (await inside(a)) + (await inside(b)) === 0);
    await giveBack();
    for (const id of accepted) assert.equal((await b.finished(id)).state, 'success');
    for (let i = 0; i < 4; i++) await all.receiver.envelope(`/${i}`);
    await a.finished(await a.begin({ body: LARGE }));
    assert.equal(await all.count('~.ticket'), 0);
    assert.equal(all.receiver.requests.length, 4);
});
