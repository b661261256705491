// Configuration: wrong values stop the start with one line each, and what hookline says of itself is true.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { freePort, run, temporaryDirectory } from './lib/sidecar.mjs';

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
    ['HOOKLINE_STORE', 'postgres'],
    ['HOOKLINE_WEBHOOK_ALLOW', '300.0.0.0/8'],
    ['HOOKLINE_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['HOOKLINE_PROJECT_ID', 'a/b'],
    ['HOOKLINE_APP_NAME', '..'],
    ['HOOKLINE_SERVICE_NAME', 'two words'],
    ['HOOKLINE_LOG_LEVEL', 'loud'],
    ['HOOKLINE_WEBHOOK_ATTEMPTS', '0'],
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
    assert.ok(sidecar.noise.length > 0);
    assert.doesNotMatch(sidecar.noise.join('\n'), /\x1b|^\{/m);
});
