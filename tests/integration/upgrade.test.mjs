// What an older version left when it was killed is opened with nothing lost: upgrade/make.mjs made it.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { rest } from './lib/rest.mjs';
import { startServer } from './lib/server.mjs';
import { startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

const HERE = fileURLToPath(new URL('upgrade', import.meta.url));
const LARGE = 'r'.repeat(300_000);
const YEARS = '3650d';

/** What stands in `upgrade/` under that name: { runs, deliveries, token, revoked }, and the settings that open a copy of it. */
async function unpack(t, name) {
    const made = JSON.parse(readFileSync(join(HERE, `${name}.json`)));
    const directory = await temporaryDirectory(t);
    if (!name.startsWith('postgres')) {
        execFileSync('tar', ['-C', directory, '-xzf', join(HERE, `${name}.tar.gz`)]);
        return { made, env: { HOOKLINE_DATA_DIR: join(directory, 'data') } };
    }
    const db = await postgres(t);
    await load(db.url, gunzipSync(await readFile(join(HERE, `${name}.sql.gz`))));
    return { made, env: { ...db.env, HOOKLINE_POSTGRES_SCHEMA: 'old', HOOKLINE_KEY: made.key, HOOKLINE_REPLICA_TTL: '5s' } };
}

const load = (url, dump) =>
    new Promise((resolve, reject) => {
        const psql = execFile('psql', ['-qX', '-v', 'ON_ERROR_STOP=1', url], (error, _, stderr) => (error ? reject(new Error(stderr)) : resolve()));
        psql.stdin.end(dump);
    });

/** The app of after the upgrade: it says what it was asked. */
const answer = async (exchange) => {
    const body = await exchange.body();
    await exchange.json({ made: 'after', size: body.length });
};

for (const name of ['sqlite-83b9cd1', 'sqlite-554c02f', 'postgres-554c02f'])
    test(`${name}: every run, answer, delivery and account is there, and what waited goes on`, async (t) => {
        const { made, env } = await unpack(t, name);
        const app = await startServer(t, answer, 0);
        const sidecar = await startSidecar(t, {
            env: {
                HOOKLINE_APP_URL: app.url, HOOKLINE_AUTH: 'jwt', HOOKLINE_PROJECT_ID: 'p', HOOKLINE_RETENTION: YEARS,
                HOOKLINE_STREAM_RETENTION: YEARS, HOOKLINE_WEBHOOK_SECRET: 'a-secret-of-more-than-32-characters',
                HOOKLINE_WEBHOOK_ATTEMPTS: '9', HOOKLINE_WEBHOOK_SCHEDULE: '1h', ...env,
            },
        });
        const ask = rest(sidecar, { token: made.token });
        const show = async (label) => (await ask('GET', `/v2/projects/p/runs/${made.runs[label]}`)).json();
        const result = async (label) => (await ask('GET', `/v2/projects/p/runs/${made.runs[label]}/result`)).json();

        const refused = await rest(sidecar, { token: made.revoked })('GET', '/v2/projects/p/runs');
        assert.equal(refused.status, 401, refused.text);

        for (const label of Object.keys(made.runs)) await until(`${label} has ended`, async () => (await show(label)).finished_at);
        const states = Object.fromEntries(await Promise.all(Object.keys(made.runs).map(async (label) => [label, (await show(label)).state])));
        for (const [label, state] of Object.entries(states)) {
            const expected = { failure: 'failure', cancelled: 'cancelled', running: 'failure' }[label] ?? 'success';
            assert.equal(state, expected, label);
        }
        assert.equal((await show('running')).reason, 'interrupted');

        assert.deepEqual(await result('success'), { made: 'before' });
        assert.equal((await result('large')).made, LARGE);
        assert.deepEqual(await result('queued'), { made: 'after', size: 7 });
        assert.equal((await result('queued large')).size, LARGE.length + 8);

        const deliveries = Object.entries(made.deliveries);
        for (const [label, id] of deliveries) {
            const { state, attempts } = (await ask('GET', `/v2/projects/p/deliveries/${id}`)).json();
            assert.ok(attempts.length >= 1, label);
            // What waits has attempts that were due meanwhile, the last one, too.
            assert.ok(state === label || (label === 'pending' && state === 'dead'), `${label}: ${state}`);
        }
        if (made.stream) {
            const events = await ask('GET', `/v2/projects/p/apps/a/runs/${made.runs['kept stream']}/events`);
            assert.match(events.text, /data: one[^]*data: two/);
        }
    });
