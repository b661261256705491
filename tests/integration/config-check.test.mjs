// `hookline config check`: it finds what a start would find, in the same words, and leaves everything as it was.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, open, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { atEnd } from './lib/cleanup.mjs';
import { test } from './lib/case.mjs';
import { startServer } from './lib/server.mjs';
import { RUN, caller, echo, stage } from './lib/stage.mjs';
import { BINARY, freePort, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { mountVolume } from './lib/volume.mjs';

const isRoot = process.getuid() === 0;
const NOBODY = 65534;

const sql = (dataDir, text) =>
    promisify(execFile)('sqlite3', [join(dataDir, 'hookline.db'), text]);

/** Settings of a sidecar on `dataDir` with ports of its own. */
async function settings(dataDir, env = {}) {
    return {
        HOOKLINE_LISTEN: `127.0.0.1:${await freePort()}`,
        HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
        HOOKLINE_DATA_DIR: dataDir,
        HOOKLINE_LOG_FORMAT: 'json',
        HOOKLINE_SHUTDOWN_DELAY: '0s',
        ...env,
    };
}

/** All below `directory`: what it is, its size, when it changed. */
async function listing(directory, found = {}) {
    for (const name of await readdir(directory)) {
        const path = join(directory, name);
        const s = await stat(path);
        found[path] = `${s.ino} ${s.mode} ${s.size} ${s.mtimeMs}`;
        if (s.isDirectory()) await listing(path, found);
    }
    return found;
}

/** The check, which must leave what is in `home` as it is: `{ code, stdout, lines }`. */
async function check(home, env) {
    const before = await listing(home);
    const { code, stdout, stderr } = await run(['config', 'check'], env);
    assert.deepEqual(await listing(home), before, 'nothing is made, changed or left');
    const lines = stderr.trim().split('\n');
    return { code, stdout, lines: lines.map((line) => line.replace(/^hookline: /, '')) };
}

/** What the start says last when it refuses, from the log or, about a setting's value, before it. */
async function refusal(env) {
    const { code, stderr } = await run([], env);
    assert.ok(code === 1 || code === 2, `the start ended with ${code}: ${stderr}`);
    const last = stderr.trim().split('\n').at(-1);
    return last.startsWith('{') ? JSON.parse(last).msg : last.replace(/^hookline: /, '');
}

async function starts(t, { HOOKLINE_LISTEN, HOOKLINE_ADMIN_LISTEN, ...env }) {
    const sidecar = await startSidecar(t, { env, wait: 'healthz', dataDir: env.HOOKLINE_DATA_DIR });
    await sidecar.stop();
}

/** A data directory with a run, a body in a file and a service account in it; `end` ends its sidecar. */
async function makeStore(t, dataDir, end = (sidecar) => sidecar.stop()) {
    const app = await startServer(t, echo);
    const sidecar = await startSidecar(t, {
        dataDir,
        env: { HOOKLINE_APP_URL: app.url, HOOKLINE_PROJECT_ID: 'p' },
    });
    const body = 'x'.repeat(400_000);
    const accepted = await caller(t, sidecar)(RUN, { query: { async: 'true' }, body });
    assert.equal(accepted.status, 202);
    const made = await run(['token', 'create', '--name', 'n', '--expires', '1d'], {
        ...(await settings(dataDir)),
        HOOKLINE_PROJECT_ID: 'p',
    });
    assert.equal(made.code, 0, made.stderr);
    await end(sidecar);
}

async function overwrite(path, offset, bytes) {
    const file = await open(path, 'r+');
    await file.write(bytes, 0, bytes.length, offset);
    await file.close();
}

async function takePort(t) {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => server.close());
    return `127.0.0.1:${server.address().port}`;
}

/** What the start refuses, each with the setting that the line names. `make` gets a home and a store in it. */
const BROKEN = [
    ['a file of keys that is not there', /^HOOKLINE_JWT_JWKS_FILE: /, async ({ home }) => ({
        HOOKLINE_JWT_JWKS_FILE: join(home, 'none.json'),
    })],
    ['a file of keys that is no JSON', /^HOOKLINE_JWT_JWKS_FILE: /, async ({ home }) => {
        await writeFile(join(home, 'keys'), 'keys: []');
        return { HOOKLINE_JWT_JWKS_FILE: join(home, 'keys') };
    }],
    ['a file of keys that is a directory', /^HOOKLINE_JWT_JWKS_FILE: /, async ({ home }) => ({
        HOOKLINE_JWT_JWKS_FILE: home,
    })],
    ['a secret’s file that is not there', /^HOOKLINE_JWT_SECRET_FILE: /, async ({ home }) => ({
        HOOKLINE_JWT_SECRET_FILE: join(home, 'none'),
    })],
    ['certificates that are none', /^HOOKLINE_WEBHOOK_CA_FILE: /, async ({ home }) => {
        await writeFile(join(home, 'ca.pem'), 'no certificate');
        return { HOOKLINE_WEBHOOK_CA_FILE: join(home, 'ca.pem') };
    }],
    ['authorities of a key set that are none', /^HOOKLINE_JWT_CA_FILE: .*ca\.pem: it contains no PEM/, async ({ home }) => {
        await writeFile(join(home, 'ca.pem'), 'no certificate');
        return { HOOKLINE_JWT_CA_FILE: join(home, 'ca.pem'), HOOKLINE_JWT_JWKS_URL: 'https://127.0.0.1:1/' };
    }],
    ['authorities without a key set', /^HOOKLINE_JWT_CA_FILE: needs HOOKLINE_JWT_JWKS_URL/, async ({ home }) => ({
        HOOKLINE_JWT_CA_FILE: join(home, 'ca.pem'),
    })],
    ['a token for a key set that there is none of', /^HOOKLINE_JWT_KEYS_TOKEN_FILE: needs HOOKLINE_JWT_JWKS_URL/, async ({ home }) => ({
        HOOKLINE_JWT_KEYS_TOKEN_FILE: join(home, 'token'),
    })],
    ['a key in place of certificates', /^HOOKLINE_WEBHOOK_CA_FILE: .*ca\.pem: its PEM contains something other than certificates/, async ({ home }) => {
        await writeFile(join(home, 'ca.pem'), '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n');
        return { HOOKLINE_WEBHOOK_CA_FILE: join(home, 'ca.pem') };
    }],
    ['a certificate that is damaged', /^HOOKLINE_WEBHOOK_CA_FILE: .*ca\.pem: a certificate in it cannot be read/, async ({ home }) => {
        await writeFile(join(home, 'ca.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
        return { HOOKLINE_WEBHOOK_CA_FILE: join(home, 'ca.pem') };
    }],
    ['a key file that holds no key', /^HOOKLINE_KEY_FILE: /, async ({ home }) => {
        await writeFile(join(home, 'key'), 'short');
        return { HOOKLINE_KEY_FILE: join(home, 'key'), HOOKLINE_DATA_DIR: join(home, 'new') };
    }],
    ['a key file in a directory that is not there', /^HOOKLINE_KEY_FILE: /, async ({ home }) => {
        await mkdir(join(home, 'empty'), { mode: 0o700 });
        return { HOOKLINE_KEY_FILE: join(home, 'no', 'key'), HOOKLINE_DATA_DIR: join(home, 'empty') };
    }],
    ['another key than the store’s', /^HOOKLINE_KEY_FILE: /, async ({ store }) => {
        await writeFile(join(store, 'key'), 'ab'.repeat(32));
    }],
    ['the store’s key is gone', /^HOOKLINE_KEY_FILE: /, ({ store }) => rm(join(store, 'key'))],
    ['a database that nothing names', /^HOOKLINE_POSTGRES_URL: not set/, async () => ({
        HOOKLINE_STORE: 'postgres',
        HOOKLINE_KEY: 'ab'.repeat(32),
    })],
    ['a shared key that nothing names', /^HOOKLINE_KEY: not set.*hookline key create/, async () => ({
        HOOKLINE_STORE: 'postgres',
        HOOKLINE_POSTGRES_URL: 'postgres://localhost/x',
    })],
    ['a key that is given twice', /^HOOKLINE_KEY: .*both set/, async ({ home }) => ({
        HOOKLINE_STORE: 'postgres',
        HOOKLINE_POSTGRES_URL: 'postgres://localhost/x',
        HOOKLINE_KEY: 'ab'.repeat(32),
        HOOKLINE_KEY_FILE: join(home, 'key'),
    })],
    ['a key that the embedded store has in a file', /^HOOKLINE_KEY: has no effect/, async () => ({
        HOOKLINE_KEY: 'ab'.repeat(32),
    })],
    ['a data directory whose parent is not there', /^HOOKLINE_DATA_DIR: /, async ({ home }) => ({
        HOOKLINE_DATA_DIR: join(home, 'no', 'data'),
    })],
    ['a data directory that is a file', /^HOOKLINE_DATA_DIR: /, async ({ home }) => {
        await writeFile(join(home, 'file'), '');
        return { HOOKLINE_DATA_DIR: join(home, 'file') };
    }],
    ['a file in the place of the bodies', /^HOOKLINE_DATA_DIR: .*bodies: Not a directory/, async ({ store }) => {
        await rm(join(store, 'bodies'), { recursive: true });
        await writeFile(join(store, 'bodies'), '');
    }],
    ['bodies on another volume', /^HOOKLINE_DATA_DIR: .*bodies and .*tmp are on different volumes/, async ({ t, store }) => {
        const volume = await mountVolume(t, '32m');
        if (!volume) return null;
        await rm(join(store, 'bodies'), { recursive: true });
        await symlink(volume, join(store, 'bodies'));
    }],
    ['a read-only volume', /^HOOKLINE_DATA_DIR: /, async ({ t, store }) => {
        const volume = await mountVolume(t, '32m');
        if (!volume) return null;
        await cp(store, join(volume, 'data'), { recursive: true });
        await promisify(execFile)('mount', ['-o', 'remount,ro', volume]);
        return { HOOKLINE_DATA_DIR: join(volume, 'data') };
    }],
    ['a database that is a directory', /^HOOKLINE_DATA_DIR: /, async ({ store }) => {
        await rm(join(store, 'hookline.db'));
        await mkdir(join(store, 'hookline.db'));
    }],
    ['a database that is none', /^HOOKLINE_DATA_DIR: /, async ({ store }) => {
        await writeFile(join(store, 'hookline.db'), 'x'.repeat(20_000));
    }],
    ['a database of something else', /^HOOKLINE_DATA_DIR: .*not a hookline database/, ({ store }) =>
        sql(store, 'PRAGMA application_id = 1').then(() => {})],
    ['a database of a newer hookline', /^HOOKLINE_DATA_DIR: .*newer hookline/, ({ store }) =>
        sql(store, 'PRAGMA user_version = 999').then(() => {})],
    ['a damaged database', /^HOOKLINE_DATA_DIR: .*is damaged/, async ({ store }) => {
        const path = join(store, 'hookline.db');
        for (let at = 2 * 8192; at < (await stat(path)).size; at += 8192)
            await overwrite(path, at, Buffer.alloc(4096, 0xa5));
    }],
    ['bodies without their database', /^HOOKLINE_DATA_DIR: .*is missing/, ({ store }) =>
        rm(join(store, 'hookline.db'))],
    ['a signing key that does not open', /^HOOKLINE_DATA_DIR: the signing key/, ({ store }) =>
        sql(store, "UPDATE meta SET v = randomblob(80) WHERE k = 'signing_key'").then(() => {})],
    ['a signing key that is gone', /^HOOKLINE_DATA_DIR: the signing key/, ({ store }) =>
        sql(store, "DELETE FROM meta WHERE k = 'signing_key'").then(() => {})],
    ['a file in the control socket’s place', /^HOOKLINE_DATA_DIR: .*control socket/, ({ store }) =>
        writeFile(join(store, 'control.sock'), '')],
    ['an address that no interface has', /HOOKLINE_LISTEN 192\.0\.2\.1/, async () => ({
        HOOKLINE_LISTEN: '192.0.2.1:8080',
    })],
    ['a port that another has', /HOOKLINE_LISTEN 127.*free the port/, async ({ t }) => ({
        HOOKLINE_LISTEN: await takePort(t),
    })],
    ['an admin port that another has', /HOOKLINE_ADMIN_LISTEN 127.*free the port/, async ({ t }) => ({
        HOOKLINE_ADMIN_LISTEN: await takePort(t),
    })],
    ['one port for both listeners', /HOOKLINE_LISTEN and HOOKLINE_ADMIN_LISTEN are both 127[^ ]*; give each a port of its own/, async () => {
        const address = `127.0.0.1:${await freePort()}`;
        return { HOOKLINE_LISTEN: address, HOOKLINE_ADMIN_LISTEN: address };
    }],
    ['a user that is not there', /^HOOKLINE_APP_USER: /, async () => ({
        HOOKLINE_APP_COMMAND: 'sleep 60',
        HOOKLINE_APP_USER: 'no-such-user',
    })],
];

test('what the start refuses is refused in the same words', { limit: 240_000 }, async (t) => {
    const original = join(await temporaryDirectory(t), 'data');
    await makeStore(t, original);
    for (const [what, fits, make] of BROKEN) {
        await t.test(what, async (t) => {
            const home = await temporaryDirectory(t);
            const store = join(home, 'data');
            await cp(original, store, { recursive: true, preserveTimestamps: true });
            const change = await make({ t, home, store });
            if (change === null) return t.skip('nothing may be mounted here');
            const env = await settings(store, change);
            const { code, lines } = await check(home, env);
            assert.equal(code, 2, lines.join('\n'));
            assert.equal(lines.length, 1, lines.join('\n'));
            assert.match(lines[0], fits);
            assert.equal(await refusal(env), lines[0]);
        });
    }
});

test('what needs a command or a health path says so', async (t) => {
    const dataDir = await temporaryDirectory(t);
    for (const [env, wrong] of [
        [{ HOOKLINE_APP_START_LIMIT: '1m' }, /^hookline: HOOKLINE_APP_START_LIMIT: needs HOOKLINE_APP_COMMAND: [^\n]*\n$/],
        [{ HOOKLINE_APP_RESTART_AFTER: '1m' }, /^hookline: HOOKLINE_APP_RESTART_AFTER: needs HOOKLINE_APP_COMMAND: [^\n]*\n$/],
        [{ HOOKLINE_APP_RESTART_AFTER: '1m', HOOKLINE_APP_COMMAND: 'true' }, /^hookline: HOOKLINE_APP_RESTART_AFTER: needs HOOKLINE_APP_HEALTH_PATH, [^\n]*\n$/],
        [{ HOOKLINE_APP_IDLE_STOP: '10m' }, /^hookline: HOOKLINE_APP_IDLE_STOP: needs HOOKLINE_APP_COMMAND: [^\n]*\n$/],
        [{ HOOKLINE_APP_IDLE_SLEEP: '10m' }, /^hookline: HOOKLINE_APP_IDLE_SLEEP: needs HOOKLINE_APP_SLEEP_CALL, [^\n]*\n$/],
        [{ HOOKLINE_APP_IDLE_SLEEP: '10m', HOOKLINE_APP_SLEEP_CALL: 'POST /sleep' }, /^hookline: HOOKLINE_APP_IDLE_SLEEP: needs HOOKLINE_APP_WAKE_CALL, [^\n]*\n$/],
        [{ HOOKLINE_APP_WAKE_CALL: 'POST /wake_up' }, /^hookline: HOOKLINE_APP_WAKE_CALL: has no effect without HOOKLINE_APP_IDLE_SLEEP, [^\n]*\n$/],
        [{ HOOKLINE_APP_SLEEP_CALL: 'sleep' }, /^hookline: HOOKLINE_APP_SLEEP_CALL: .*"POST \/sleep\?level=1"[^\n]*\n$/],
        [{ HOOKLINE_APP_IDLE_SLEEP: '10m', HOOKLINE_APP_SLEEP_CALL: 'POST /sleep', HOOKLINE_APP_WAKE_CALL: 'POST /wake', HOOKLINE_APP_COMMAND: 'true', HOOKLINE_APP_IDLE_STOP: '10m' }, /^hookline: HOOKLINE_APP_IDLE_SLEEP: must be shorter than HOOKLINE_APP_IDLE_STOP[^\n]*\n$/],
        [{ HOOKLINE_APP_WARMUP: 'warm me' }, /^hookline: HOOKLINE_APP_WARMUP: .*"POST \/run"[^\n]*\n$/],
        [{ HOOKLINE_APP_WARMUP_BODY_FILE: '/no/such' }, /^hookline: HOOKLINE_APP_WARMUP_BODY_FILE: has no effect without HOOKLINE_APP_WARMUP[^\n]*\n$/],
        [{ HOOKLINE_APP_WARMUP: 'POST /run', HOOKLINE_APP_WARMUP_BODY_FILE: '/no/such' }, /^hookline: HOOKLINE_APP_WARMUP_BODY_FILE: \/no\/such: cannot be read[^\n]*\n$/],
        [{ HOOKLINE_APP_WARMUP: 'POST /run', HOOKLINE_APP_HEALTH_GATE: 'off' }, /^hookline: HOOKLINE_APP_WARMUP: [^\n]*HOOKLINE_APP_HEALTH_GATE=off[^\n]*\n$/],
    ]) {
        const { code, stderr } = await run(['config', 'check'], await settings(dataDir, env));
        assert.deepEqual([code, wrong.test(stderr)], [2, true], stderr);
    }
});

test('what belongs to another user is refused', { skip: !isRoot && 'needs root' }, async (t) => {
    const home = await temporaryDirectory(t);
    await chmod(home, 0o755);
    const original = join(home, 'data');
    await makeStore(t, original);
    const runAsNobody = async (args, env) => {
        const child = spawn(BINARY, args, { env, uid: NOBODY, gid: NOBODY, stdio: 'pipe' });
        let text = '';
        child.stderr.setEncoding('utf8').on('data', (piece) => (text += piece));
        const [code] = await once(child, 'close');
        return { code, text };
    };
    for (const dataDir of [original, join(home, 'new')]) {
        const env = await settings(dataDir);
        const before = await listing(home);
        const checked = await runAsNobody(['config', 'check'], env);
        assert.equal(checked.code, 2, checked.text);
        assert.match(checked.text, /^hookline: HOOKLINE_DATA_DIR: .*Permission denied[^\n]*\n$/);
        assert.deepEqual(await listing(home), before);
        const started = await runAsNobody([], env);
        assert.equal(started.code, 1, started.text);
        assert.match(started.text, /HOOKLINE_DATA_DIR: .*Permission denied/);
    }
});

test('all that is wrong is said at once', async (t) => {
    const home = await temporaryDirectory(t);
    await writeFile(join(home, 'key'), 'short');
    await writeFile(join(home, 'ca.pem'), 'no certificate');
    const env = await settings(join(home, 'no', 'data'), {
        HOOKLINE_LISTEN: '192.0.2.1:8080',
        HOOKLINE_KEY_FILE: join(home, 'key'),
        HOOKLINE_WEBHOOK_CA_FILE: join(home, 'ca.pem'),
        HOOKLINE_JWT_JWKS_FILE: join(home, 'none'),
        HOOKLINE_APP_COMMAND: '["no-such-program"]',
    });
    const { code, lines } = await check(home, env);
    assert.equal(code, 2);
    const names = lines.map((line) => /HOOKLINE_[A-Z_]+/.exec(line)?.[0]);
    assert.deepEqual(names.sort(), [
        'HOOKLINE_APP_COMMAND',
        'HOOKLINE_DATA_DIR',
        'HOOKLINE_JWT_JWKS_FILE',
        'HOOKLINE_KEY_FILE',
        'HOOKLINE_LISTEN',
        'HOOKLINE_WEBHOOK_CA_FILE',
    ]);
});

test('an app’s program that cannot be run is refused: the start would never be ready', async (t) => {
    const home = await temporaryDirectory(t);
    await writeFile(join(home, 'app'), '#!/bin/sh\n', { mode: 0o644 });
    for (const command of [
        'no-such-program --port 1',
        '["no-such-program"]',
        join(home, 'app'),
        `LEVEL=1 ${join(home, 'none')} x`,
    ]) {
        const env = await settings(join(home, 'data'), { HOOKLINE_APP_COMMAND: command });
        const { code, lines } = await check(home, env);
        assert.equal(code, 2, command);
        assert.match(lines.join('\n'), /^HOOKLINE_APP_COMMAND: the app's program does not exist/);
    }
    const command = 'no-such-program --port 1';
    const sidecar = await startSidecar(t, { wait: null, env: { HOOKLINE_APP_COMMAND: command } });
    await sidecar.until('readyz', 503);
    await sidecar.stop();
    for (const good of ['sleep 60', '["/bin/sh", "-c", "exit"]', 'cd / && whatever', 'PATH=/x y']) {
        const env = await settings(join(home, 'data'), { HOOKLINE_APP_COMMAND: good });
        assert.equal((await check(home, env)).code, 0, good);
    }
});

test('a set of keys without one that can be used is warned about', async (t) => {
    const home = await temporaryDirectory(t);
    await writeFile(join(home, 'keys'), '{"keys":[]}');
    const env = await settings(join(home, 'data'), { HOOKLINE_JWT_JWKS_FILE: join(home, 'keys') });
    const { code, lines } = await check(home, env);
    assert.equal(code, 0);
    assert.match(lines.join('\n'), /HOOKLINE_JWT_JWKS_FILE: it has no usable key/);
});

test('what starts is accepted, and nothing is left of the look', async (t) => {
    const home = await temporaryDirectory(t);
    const stopped = join(home, 'stopped');
    const killed = join(home, 'killed #1?%41');
    const copied = join(home, 'copied');
    await mkdir(join(home, 'empty'), { mode: 0o700 });
    await makeStore(t, stopped);
    await makeStore(t, killed, (sidecar) => sidecar.kill());
    const isKept = (path) => !/control\.sock$|-shm$/.test(path);
    await cp(killed, copied, { recursive: true, filter: isKept });
    for (const dataDir of [join(home, 'new'), join(home, 'empty'), stopped, killed, copied]) {
        const env = await settings(dataDir);
        const { code, stdout, lines } = await check(home, env);
        assert.equal(code, 0, lines.join('\n'));
        assert.match(stdout, /all settings are valid/);
        await starts(t, env);
    }
    const memory = await settings(join(home, 'no', 'data'), { HOOKLINE_STORE: 'memory' });
    assert.equal((await check(home, memory)).code, 0);
    await starts(t, memory);
});

test('beside a running sidecar, what that one holds is not a fault', async (t) => {
    const { sidecar, call } = await stage(t, { env: { HOOKLINE_PROJECT_ID: 'p' } });
    const env = {
        ...(await settings(sidecar.dataDir)),
        HOOKLINE_LISTEN: `127.0.0.1:${sidecar.port}`,
        HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${sidecar.adminPort}`,
    };
    for (let i = 0; i < 3; i++) {
        const before = (await readdir(sidecar.dataDir)).sort();
        const { code, stdout, stderr } = await run(['config', 'check'], env);
        assert.equal(code, 0, stderr);
        assert.match(stdout, /all settings are valid/);
        assert.match(stderr, /note: a hookline is running here: .*HOOKLINE_LISTEN/);
        assert.match(stderr, /note: a hookline is running here: .*HOOKLINE_ADMIN_LISTEN/);
        assert.deepEqual((await readdir(sidecar.dataDir)).sort(), before);
        const answer = await call(RUN, { query: { async: 'true' }, body: '{}' });
        assert.equal(answer.status, 202);
    }
    const wrong = await run(['config', 'check'], { ...env, HOOKLINE_JWT_JWKS_FILE: '/nowhere' });
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /^hookline: HOOKLINE_JWT_JWKS_FILE: /m);
});

test('where nothing can be made is said to whoever has all rights, too', async (t) => {
    const home = await temporaryDirectory(t);
    for (const [place, variable] of [
        [{ HOOKLINE_DATA_DIR: '/proc/hookline' }, 'HOOKLINE_DATA_DIR'],
        [{ HOOKLINE_KEY_FILE: '/proc/hookline.key' }, 'HOOKLINE_KEY_FILE'],
        [{ HOOKLINE_KEY_FILE: join(home, 'missing', 'key') }, 'HOOKLINE_KEY_FILE'],
    ]) {
        const env = await settings(join(home, 'data'), { HOOKLINE_APP_URL: 'http://127.0.0.1:1', ...place });
        const checked = await check(home, env);
        assert.equal(checked.code, 2, checked.stdout);
        assert.equal(checked.stdout, '');
        assert.ok(checked.lines[0].startsWith(variable), checked.lines[0]);
        assert.equal(checked.lines[0], await refusal(env));
        await rm(join(home, 'data'), { recursive: true, force: true });
    }
});
