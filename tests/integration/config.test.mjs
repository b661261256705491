// Configuration: wrong values stop the start with one line each, and what hookline says of itself is true.
import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { until } from './lib/until.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { freePort, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';

const WRONG = [
    ['HOOKLINE_LISTEN', 'nonsense'],
    ['HOOKLINE_LISTEN', '127.0.0.1:99999'],
    ['HOOKLINE_WORKERS', '-1'],
    ['HOOKLINE_WORKERS', 'many'],
    ['HOOKLINE_APP_URL', 'ftp://x'],
    ['HOOKLINE_APP_URL', 'http://'],
    ['HOOKLINE_APP_RUN_PATH', 'run'],
    ['HOOKLINE_RESPONSE_GRACE_PERIOD', '13h'],
    ['HOOKLINE_RESPONSE_GRACE_PERIOD', '15 m'],
    ['HOOKLINE_RESPONSE_GRACE_PERIOD', '15'],
    ['HOOKLINE_MAX_HEAD', '64KB'],
    ['HOOKLINE_MAX_REQUEST_BODY', '-1MiB'],
    ['HOOKLINE_PASSTHROUGH', 'maybe'],
    ['HOOKLINE_PUBLIC_PATHS', '/docs,/v4/*'],
    ['HOOKLINE_AUTH', 'basic'],
    ['HOOKLINE_STORE', 'postgresql'],
    ['HOOKLINE_POSTGRES_SCHEMA', 'pg_hookline'],
    ['HOOKLINE_REPLICA', 'two words'],
    ['HOOKLINE_REPLICA_TTL', '2s'],
    ['HOOKLINE_WEBHOOK_ALLOW', '300.0.0.0/8'],
    ['HOOKLINE_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['HOOKLINE_PROJECT_ID', 'a/b'],
    ['HOOKLINE_APP_NAME', '..'],
    ['HOOKLINE_SERVICE_NAME', 'two words'],
    ['HOOKLINE_LOG_LEVEL', 'loud'],
    ['HOOKLINE_WEBHOOK_ATTEMPTS', '32'],
    ['HOOKLINE_WEBHOOK_PRESET', 'staging'],
    ['HOOKLINE_STORE_MAX_BYTES', '0%'],
    ['HOOKLINE_WEBHOOK_CONCURRENCY', '999999999999'],
];

for (const command of [[], ['serve'], ['config', 'check']]) {
    test(`a wrong value stops "hookline ${command.join(' ')}" with status 2 and one line that says what is allowed`, async () => {
        for (const [name, value] of WRONG) {
            const { code, stdout, stderr } = await run(command, { [name]: value });
            assert.equal(code, 2, `${name}=${value}`);
            const lines = (stdout + stderr).trim().split('\n');
            assert.equal(lines.length, 1, lines.join('\n'));
            assert.ok(lines[0].includes(name) && lines[0].includes(value), lines[0]);
            assert.ok(
                lines[0].length > name.length + value.length + 10,
                `it says what is allowed: ${lines[0]}`,
            );
        }
    });
}

test('several wrong values are all named', async () => {
    const { code, stdout, stderr } = await run(['config', 'check'], {
        HOOKLINE_WORKERS: 'x',
        HOOKLINE_MAX_HEAD: 'y',
    });
    assert.equal(code, 2);
    assert.match(stdout + stderr, /HOOKLINE_WORKERS/);
    assert.match(stdout + stderr, /HOOKLINE_MAX_HEAD/);
});

test('a secret that is wrong is not shown', async () => {
    const { code, stdout, stderr } = await run(['config', 'check'], {
        HOOKLINE_WEBHOOK_SECRET: 'whsec_not*base64*',
    });
    assert.equal(code, 2);
    assert.match(stdout + stderr, /HOOKLINE_WEBHOOK_SECRET/);
    assert.doesNotMatch(stdout + stderr, /not\*base64/);
});

const KEY = '0123456789abcdef'.repeat(4);
const POSTGRES = {
    HOOKLINE_STORE: 'postgres',
    HOOKLINE_POSTGRES_URL: 'postgres://me:hidden@db.invalid/x?sslmode=verify-full',
    HOOKLINE_KEY: KEY,
};

test('what replicas share is a secret wherever it is wrong or shown', async (t) => {
    const file = join(await temporaryDirectory(t), 'key');
    await writeFile(file, KEY + '\n');
    const shown = await run(['config', 'show'], { ...POSTGRES, HOOKLINE_PREVIOUS_KEY_FILE: file });
    assert.equal(shown.code, 0, shown.stderr);
    for (const name of ['POSTGRES_URL', 'KEY'])
        assert.ok(shown.stdout.includes(`\nHOOKLINE_${name}=****\n`), shown.stdout);
    assert.ok(shown.stdout.includes(`\nHOOKLINE_PREVIOUS_KEY_FILE=${file}\n`), shown.stdout);
    assert.ok(!shown.stdout.includes(KEY) && !shown.stdout.includes('hidden'));
    for (const [name, value] of [
        ['HOOKLINE_POSTGRES_URL', 'postgres://me:hid@den@db/x'],
        ['HOOKLINE_POSTGRES_URL', 'me:hidden@db/x'],
        ['HOOKLINE_POSTGRES_URL', 'host=db password=two hidden'],
        ['HOOKLINE_KEY', `${KEY}hidden`],
        ['HOOKLINE_PREVIOUS_KEY', 'hidden'],
    ]) {
        const { code, stdout, stderr } = await run(['config', 'check'], { ...POSTGRES, [name]: value });
        assert.equal(code, 2, value);
        assert.match(stderr, new RegExp(`^hookline: ${name}: \\*{4} is not allowed; allowed: [^\n]+\n$`));
        assert.doesNotMatch(stdout + stderr, /hid|den@/);
    }
});

test('the file of a shared key has to be there and hold one, and is never made', async (t) => {
    const directory = await temporaryDirectory(t);
    const file = join(directory, 'key');
    const env = {
        ...POSTGRES,
        ...(await place(t)),
        HOOKLINE_KEY: '',
        HOOKLINE_KEY_FILE: file,
    };
    const missing = await run(['config', 'check'], env);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /^hookline: HOOKLINE_KEY_FILE: .* is missing.*hookline key create/m);
    assert.deepEqual(await readdir(directory), []);
    await writeFile(file, 'short');
    const short = await run(['config', 'check'], env);
    assert.equal(short.code, 2);
    assert.match(short.stderr, /^hookline: HOOKLINE_KEY_FILE: .* does not hold a key/m);
    await writeFile(file, (await run(['key', 'create'])).stdout, { mode: 0o600 });
    assert.doesNotMatch((await run(['config', 'check'], env)).stderr, /HOOKLINE_KEY/);
});

test('a database whose certificate is not verified is warned about at start, by its name alone', async (t) => {
    const warned = async (url, env = {}) => {
        const sidecar = await startSidecar(t, {
            env: { ...POSTGRES, HOOKLINE_POSTGRES_URL: url, ...env },
            wait: '',
        });
        await sidecar.logged(({ msg }) => msg === 'store: PostgreSQL cannot be reached');
        await sidecar.stop();
        assert.ok(!sidecar.stderr.includes('hidden'));
        return sidecar.log.filter((line) => /sslmode/.test(line.msg)).map((line) => line.host);
    };
    const hosts = 'a.invalid:5432,localhost,[::1],127.0.0.1,%2Ftmp,b.invalid';
    assert.deepEqual(await warned(`postgres://me:hidden@${hosts}/x?sslmode=require`), [
        'a.invalid',
        'b.invalid',
    ]);
    assert.deepEqual(await warned(`postgres://me:hidden@${hosts}/x?sslmode=verify-full`), []);
    assert.deepEqual(await warned('host=a.invalid password=hidden'), ['a.invalid']);
    assert.deepEqual(await warned('password=hidden', { PGHOST: 'a.invalid' }), ['a.invalid']);
    assert.deepEqual(await warned('host=a.invalid', { PGSSLMODE: 'verify-full' }), []);
});

/** A place of a check's own: it looks at data directory and ports as well. */
const place = async (t) => ({
    HOOKLINE_DATA_DIR: join(await temporaryDirectory(t), 'data'),
    HOOKLINE_LISTEN: `127.0.0.1:${await freePort()}`,
    HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
});

test('right values pass the check', async (t) => {
    const { code } = await run(['config', 'check'], {
        ...(await place(t)),
        HOOKLINE_RESPONSE_GRACE_PERIOD: '12h',
        HOOKLINE_MAX_HEAD: '16KiB',
    });
    assert.equal(code, 0);
});

test('an unknown name is warned about with the nearest known one, Kubernetes’ own are not', async (t) => {
    const { code, stdout, stderr } = await run(['config', 'check'], {
        ...(await place(t)),
        HOOKLINE_WORKER: '2',
        HOOKLINE_SERVICE_HOST: '10.0.0.1',
        HOOKLINE_SERVICE_PORT: '80',
        HOOKLINE_PORT: 'tcp://10.0.0.1:80',
        HOOKLINE_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
        HOOKLINE_PORT_8080_TCP_ADDR: '10.0.0.1',
        HOOKLINE_SERVICE_PORT_HTTP: '80',
    });
    assert.equal(code, 0);
    assert.match(stdout + stderr, /HOOKLINE_WORKER\b.*HOOKLINE_WORKERS/);
    assert.doesNotMatch(stdout + stderr, /SERVICE_HOST|SERVICE_PORT|HOOKLINE_PORT/);
});

test('config show has every setting, and masks secrets', async (t) => {
    const file = join(await temporaryDirectory(t), 'secret');
    await writeFile(file, 'hidden-in-a-file');
    for (const env of [
        { HOOKLINE_WEBHOOK_SECRET: 'hidden-in-env' },
        { HOOKLINE_WEBHOOK_SECRET_FILE: file },
    ]) {
        const { code, stdout, stderr } = await run(['config', 'show'], {
            HOOKLINE_MAX_HEAD: '16KiB',
            ...env,
        });
        assert.equal(code, 0);
        assert.match(stdout, /HOOKLINE_MAX_HEAD.*16KiB/);
        assert.match(stdout, /HOOKLINE_SSE_HEARTBEAT.*15s/);
        assert.match(stdout, /HOOKLINE_WEBHOOK_SECRET/);
        assert.doesNotMatch(stdout + stderr, /hidden/);
    }
});

test('what config show prints of a preset can be loaded, and config check says what it comes to', async () => {
    const shown = await run(['config', 'show'], { HOOKLINE_WEBHOOK_PRESET: 'production' });
    const lines = shown.stdout.split('\n').filter((line) => line.startsWith('HOOKLINE_WEBHOOK_'));
    const env = Object.fromEntries(lines.map((line) => /^([A-Z_]+)=(.*?)(?:  # .*)?$/.exec(line).slice(1)));
    assert.equal(env.HOOKLINE_WEBHOOK_SCHEDULE, '5s,1m,10m,1h,6h');
    const again = await run(['config', 'show'], env);
    assert.equal(again.code, 0);
    for (const [name, value] of Object.entries(env)) assert.ok(again.stdout.includes(`${name}=${value}`), name);
    const check = await run(['config', 'check'], { ...env, HOOKLINE_STORE: 'memory', HOOKLINE_AUTH: 'none' });
    assert.deepEqual([check.code, check.signal], [0, null], check.stderr);
    assert.match(check.stdout, /tried 6 times, with delays of 5s,1m,10m,1h,6h, after network,404,408,425,429,5xx/);
});

test('--help names every setting, --version the version', async () => {
    const help = await run(['--help']);
    const table = await run(['config', 'table']);
    assert.deepEqual([help.code, table.code], [0, 0]);
    const names = new Set(table.stdout.match(/HOOKLINE_[A-Z_]+/g));
    assert.ok(names.size > 40, `${names.size} settings`);
    for (const name of names) assert.ok(help.stdout.includes(name), name);
    const version = await run(['--version']);
    assert.match(version.stdout, /^hookline [0-9]+\.[0-9]+\.[0-9]+\n$/);
});

test('the operators’ table of settings is the program’s', async () => {
    const page = await readFile(new URL('../../deploy/settings.md', import.meta.url), 'utf8');
    const [, table] = /<!-- config table begin -->\n([^]*?)<!-- config table end -->/.exec(page);
    const { stdout } = await run(['config', 'table']);
    assert.equal(table.trim(), stdout.trim());
});

test('an unknown subcommand is status 2 and says what there is', async () => {
    const { code, stderr } = await run(['no-such-command']);
    assert.equal(code, 2);
    assert.match(stderr, /no-such-command/);
});

test('HOOKLINE_AUTH=none is warned about at start', async (t) => {
    const { sidecar, call } = await stage(t, { env: { HOOKLINE_AUTH: 'none' } });
    assert.equal((await call(RUN)).status, 200);
    await sidecar.logged((line) => line.level === 'warn' && /HOOKLINE_AUTH/.test(line.msg));
});

test('the log is text for people when asked for', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_LOG_FORMAT: 'text' } });
    await until('lines have come', () => sidecar.noise.length > 0);
    assert.doesNotMatch(sidecar.noise.join('\n'), /\x1b|^\{/m);
});
