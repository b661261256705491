// A backup that is made while hookline runs is of one moment and whole; a copy that is not does not start.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { atEnd, withUs } from './lib/cleanup.mjs';
import { control } from './lib/rest.mjs';
import { freePort, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const LARGE = 300 * 1024; // more than stays in the database
const path = (id) => `/v2/projects/p/apps/a/runs/${id}`;

async function command(words, dataDir, code = 0, env = {}) {
    const result = await run(words, { HOOKLINE_DATA_DIR: dataDir, ...env });
    assert.equal(result.code, code, `${words.join(' ')}: ${result.stdout}${result.stderr}`);
    return result;
}

/** A start that is refused: what it says. */
async function refused(dataDir) {
    const [run, admin] = [await freePort(), await freePort()];
    const env = { HOOKLINE_LISTEN: `127.0.0.1:${run}`, HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${admin}` };
    return (await command(['serve'], dataDir, 1, env)).stderr;
}

/** Runs whose requests and responses are files, one after the other, until it is stopped: their ids in the order of the 202s. */
function load(call, width = 4) {
    const acked = [];
    let goesOn = true;
    const one = async () => {
        while (goesOn) {
            const { status, id } = await call(RUN, { query: { async: 'true' }, body: 'q'.repeat(LARGE) });
            if (status === 202) acked.push(id);
        }
    };
    const all = Promise.all(Array.from({ length: width }, one));
    all.catch(() => {}); // a test that has failed stops nobody
    return { acked, stop: () => ((goesOn = false), all) };
}

const answering = async (x) => {
    await x.body();
    await x.send(200, { 'content-type': 'text/plain' }, Buffer.alloc(LARGE, 'r'));
};

test('a backup beside a sidecar that works is whole, goes on after it was interrupted, and starts', async (t) => {
    const { app, call, sidecar } = await stage(t, { app: answering });
    const to = join(await temporaryDirectory(t), 'backup');
    const { acked, stop } = load(call);
    await until('there is something', () => acked.length >= 40);

    const killed = gate();
    const cut = run(['store', 'backup', '--rate', '512KiB', to], { HOOKLINE_DATA_DIR: sidecar.dataDir }, { killed: killed.promise });
    await until('it has begun', async () => (await run(['config', 'check'], { HOOKLINE_DATA_DIR: to })).stderr.includes('not finished'));
    killed.open();
    assert.equal((await cut).signal, 'SIGKILL');
    assert.match(await refused(to), /not finished/);

    const before = acked.slice();
    const { stdout } = await command(['store', 'backup', to], sidecar.dataDir);
    assert.match(stdout, /checked; \d+ bodies of \d+ bytes, and \d+ already there/);
    await stop();
    await command(['store', 'check'], sidecar.dataDir);
    assert.match((await command(['store', 'check', to], sidecar.dataDir)).stdout, /whole; \d+ runs/);

    const restored = await startSidecar(t, { env: { HOOKLINE_APP_URL: app.url }, dataDir: to });
    const ask = control(restored);
    for (const id of before) {
        const state = await until('it has ended', async () => {
            const { status, text } = await ask('GET', path(id));
            assert.equal(status, 200, `acknowledged before the backup: ${text}`);
            const { state } = JSON.parse(text);
            return !['queued', 'running'].includes(state) && state;
        });
        if (state !== 'success') continue; // it was inside the app at that moment
        const result = await ask('GET', `${path(id)}/result`);
        assert.equal(result.status, 200, result.text);
        assert.equal(result.body.length, LARGE);
    }
    await restored.logged(({ msg }) => /read completely/.test(msg));
    await restored.stop();
    const again = await command(['store', 'backup', to], sidecar.dataDir, 1);
    assert.match(again.stderr, /holds something other than a backup/, 'it has been run on');
});

test('files that a backup reads stay until it has them, whatever is purged meanwhile', async (t) => {
    const { call, sidecar } = await stage(t, { env: { HOOKLINE_RETENTION: '1s' }, app: answering });
    const to = join(await temporaryDirectory(t), 'backup');
    const { acked, stop } = load(call);
    await until('there is something', () => acked.length >= 60);
    const backup = command(['store', 'backup', '--rate', '6MiB', to], sidecar.dataDir);
    await backup;
    await stop();
    await command(['store', 'check', to], sidecar.dataDir);
    await until('they go after it', async () => (await sidecar.metric('hookline_store_purged_runs_total')) >= 60);
});

test('a store that was copied file by file while hookline wrote does not start', async (t) => {
    const { call, sidecar } = await stage(t, { app: answering });
    const to = join(await temporaryDirectory(t), 'copy');
    await mkdir(join(to, 'bodies'), { recursive: true, mode: 0o700 });
    const copy = (name) => copyFile(join(sidecar.dataDir, name), join(to, name));
    /** Another each time that the log begins anew. */
    const salt = async () => (await readFile(join(sidecar.dataDir, 'hookline.db-wal'))).subarray(16, 24).toString('hex');
    const { acked, stop } = load(call);
    await until('there is something', () => acked.length >= 40);
    await copy('key');
    await copy('hookline.db');
    for (let i = 0; i < 2; i++) {
        const before = await salt();
        await until('the log has been moved, and begun anew', async () => (await salt()) !== before);
    }
    const now = acked.length;
    await until('it has something', () => acked.length >= now + 8);
    await copy('hookline.db-wal');
    await stop();
    assert.match(await refused(to), /is (damaged|a damaged copy) \(/);
    assert.notEqual((await run(['store', 'check', to], { HOOKLINE_DATA_DIR: to })).code, 0);
    await rm(join(to, 'hookline.db'));
    assert.match(await refused(to), /is missing or empty, but its log/);
});

test('store check names a backup that was not finished, and a key that does not fit; and no backup is made of the former', async (t) => {
    const { call, sidecar } = await stage(t);
    const directory = await temporaryDirectory(t);
    const [to, elsewhere] = [join(directory, 'backup'), join(directory, 'elsewhere')];
    assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    await command(['store', 'backup', to], sidecar.dataDir);
    assert.match((await command(['store', 'check', to], sidecar.dataDir)).stdout, /whole; 1 runs, 0 bodies in files\n$/);

    const key = await readFile(join(to, 'key'), 'utf8');
    const wrong = [[key.replace(/^./, (digit) => (digit === '0' ? '1' : '0')), /is not the one that it was made with/], ['none', /does not hold a key/]];
    for (const [text, why] of wrong) {
        await writeFile(join(to, 'key'), text);
        assert.match((await command(['store', 'check', to], sidecar.dataDir, 1)).stderr, why);
    }
    await command(['store', 'check', to], sidecar.dataDir, 0, { HOOKLINE_KEY_FILE: join(sidecar.dataDir, 'key') });
    await rm(join(to, 'key'));
    assert.match((await command(['store', 'check', to], sidecar.dataDir)).stdout, /whole; .*; its key is not in it/);

    await writeFile(join(to, 'key'), key);
    await writeFile(join(to, 'backup'), 'this backup is not finished: make it again\n');
    assert.match((await command(['store', 'check', to], sidecar.dataDir, 1)).stderr, /a backup that was not finished/);
    assert.match((await command(['store', 'backup', elsewhere], to, 1)).stderr, /a backup that was not finished/);
});

test('a backup says why it cannot be made', async (t) => {
    const { sidecar } = await stage(t);
    const nowhere = join(await temporaryDirectory(t), 'none');
    assert.match((await command(['store', 'backup', sidecar.dataDir], sidecar.dataDir, 1)).stderr, /something other than a backup/);
    assert.match((await command(['store', 'backup', nowhere], nowhere, 1)).stderr, /cannot read the store/);
    assert.match((await command(['store', 'backup', '--rate', '1', nowhere], sidecar.dataDir, 2)).stderr, /--rate takes/);
    await writeFile(join(sidecar.dataDir, 'moved'), '01a201a0-7ddc-7120-be8f-0d98886c0abe\nelsewhere\n');
    assert.match((await command(['store', 'backup', nowhere], sidecar.dataDir, 1)).stderr, /was moved to PostgreSQL/);
    const postgres = await run(['store', 'backup', nowhere], { HOOKLINE_STORE: 'memory' });
    assert.match(postgres.stderr, /HOOKLINE_STORE=sqlite/);
});

test('the log says so when it cannot be emptied, for somebody reads the database for long, and again when it is twice as long', async (t) => {
    const { call, sidecar } = await stage(t, { app: (x) => x.send(200) });
    const body = 'q'.repeat(200 * 1024); // stays in the database
    await call(RUN, { query: { async: 'true' }, body });
    const reader = withUs(spawn('sqlite3', ['-batch', '-readonly', join(sidecar.dataDir, 'hookline.db')], { stdio: ['pipe', 'pipe', 'inherit'] }));
    atEnd(t, () => reader.stdin.end());
    reader.stdin.write('BEGIN;\nSELECT count(*) FROM run;\n');
    await once(reader.stdout, 'data');
    const line = (l) => l.level === 'warn' && /^store: the write-ahead log grows/.test(l.msg);
    let calls = 0;
    while (sidecar.log.filter(line).length < 2) {
        assert.ok(++calls < 2000, 'no word of it');
        assert.equal((await call(RUN, { query: { async: 'true' }, body })).status, 202);
    }
    const [first, second] = sidecar.log.filter(line).map((l) => l.log_bytes);
    assert.ok(first >= 64 * 1024 * 1024);
    assert.ok(second >= 2 * first);
    assert.ok(calls > 100, 'not of what is usual');
});
