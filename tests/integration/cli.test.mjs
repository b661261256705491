// The commands about runs and signatures, beside a running sidecar and on its data directory alone.
import assert from 'node:assert/strict';
import { chmod, chown, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { connect } from './lib/raw.mjs';
import { control } from './lib/rest.mjs';
import { BINARY, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { assertSigned } from './lib/signature.mjs';
import { RUN, UUID_V7, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

/** The command with this sidecar's data directory; fails unless it exits with `code`. */
function commands(sidecar, env = {}) {
    return async (words, { code = 0, input } = {}) => {
        const result = await run(
            words.split(' ').filter(Boolean),
            { HOOKLINE_DATA_DIR: sidecar.dataDir, HOOKLINE_AUTH: sidecar.env.HOOKLINE_AUTH, ...env },
            { input },
        );
        assert.equal(result.code, code, `${words}: ${result.stdout}${result.stderr}`);
        return result;
    };
}

const lines = (text) => text.split('\n').filter(Boolean);

test('runs list is a table, and JSON lines with --json', async (t) => {
    const { call, sidecar } = await stage(t);
    const cli = commands(sidecar);
    const { id: sync } = await call(RUN);
    const { id: stored } = await call('/v4/q/b/run', { query: { async: 'true' } });
    await until('it is finished', async () => {
        return (await cli(`runs show ${stored} --json`)).stdout.includes('"state":"success"');
    });
    const table = lines((await cli('runs list')).stdout);
    assert.match(table[0], /^RUN +PROJECT +APP +PATH +MODE +STATE +REASON +STATUS +CREATED +FINISHED +WEBHOOK +ERROR$/);
    assert.match(table[1], new RegExp(`^${stored}  q +b +/run +async +success +- +200 +\\S+Z +\\S+Z +- +-$`));
    assert.match(table[2], new RegExp(`^${sync}  p +a +/run +sync +success `));
    const ids = async (words) =>
        lines((await cli(`runs list --json ${words}`)).stdout).map((line) => JSON.parse(line).run_id);
    assert.deepEqual(await ids(''), [stored, sync]);
    assert.deepEqual(await ids('--project p'), [sync]);
    assert.deepEqual(await ids('--app b'), [stored]);
    assert.deepEqual(await ids('--async'), [stored]);
    assert.deepEqual(await ids('--sync'), [sync]);
    assert.deepEqual(await ids('--state failure'), []);
    assert.deepEqual(await ids('--limit=1'), [stored]);
    assert.deepEqual(await ids('--since 1h'), [stored, sync]);
    assert.deepEqual(await ids('--until 1h'), []);
});

test('runs list goes on over as many pages as it takes', async (t) => {
    const { call, sidecar } = await stage(t);
    const cli = commands(sidecar);
    for (let i = 0; i < 25; i++) await Promise.all(Array.from({ length: 10 }, () => call(RUN)));
    assert.equal(lines((await cli('runs list --limit 230')).stdout).length, 231);
});

test('runs show says on one screen what happened to a run', async (t) => {
    const { call, receiver, sidecar } = await stage(t, {
        app: async (x) => {
            await x.body();
            await x.json({ error: 'no' }, 500);
        },
    });
    const cli = commands(sidecar);
    receiver.script('/hook', 404, 503);
    const query = { async: 'true', webhookEndpoint: receiver.url('/hook?key=hidden') };
    const { id } = await call(RUN, { query });
    const story = await until('the webhook is dead', async () => {
        const { stdout } = await cli(`runs show ${id}`);
        return /^webhook +dead/m.test(stdout) && stdout;
    });
    assert.ok(lines(story).length < 24, 'one screen');
    for (const line of [
        new RegExp(`^run +${id}$`, 'm'),
        /^project +p$/m,
        /^app +a$/m,
        /^call +async POST \/run$/m,
        /^state +failure: app_error \(the app answered with a status of 400 or more\)$/m,
        /^created +\S+Z$/m,
        /^started +\S+Z$/m,
        /^finished +\S+Z$/m,
        /^waited, ms +\d+$/m,
        /^ran, ms +\d+$/m,
        /^app's answer 500, 14 bytes, application\/json, kept$/m,
        new RegExp(`^webhook +dead to ${receiver.url('').replace(/\/$/, '')} \\(delivery \\S+\\)$`, 'm'),
        /^ +1 +1 +\S+Z +\d+ +retry +404 /m,
        /^ +1 +2 +\S+Z +\d+ +failed +503 /m,
    ])
        assert.match(story, line);
    assert.ok(!story.includes('hidden'));
});

test('of an interrupted run runs show says how long it ran at most', async (t) => {
    let isInside = false;
    const { call, sidecar } = await stage(t, {
        app: async (x) => {
            await x.body();
            isInside = true; // until the sidecar dies
        },
    });
    const cli = commands(sidecar);
    const { id } = await call(RUN, { query: { async: 'true' } });
    await until('it is in the app', () => isInside);
    await sidecar.kill();
    await sidecar.start();
    const show = async (words) => (await cli(`runs show ${id} ${words}`)).stdout;
    await until('it has ended', async () => /^state +failure: interrupted /m.test(await show('')));
    assert.match(await show(''), /^ran, ms +<= \d+$/m);
    assert.equal(typeof JSON.parse(await show('--json')).run_ms, 'number');
});

test('runs redeliver sends one again, or all dead ones since a time', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    const cli = commands(sidecar);
    receiver.script('/hook', 500, 200, 500, 200);
    const dead = async () => {
        const query = { async: 'true', webhookEndpoint: receiver.url('/hook') };
        const { id } = await call(RUN, { query });
        await state(id, 'dead');
        return id;
    };
    const state = (id, wanted) =>
        until(`the webhook is ${wanted}`, async () => {
            const { stdout } = await cli(`runs show ${id} --json`);
            return JSON.parse(stdout).deliveries[0]?.state === wanted;
        });
    const first = await dead();
    assert.equal((await cli(`runs redeliver ${first}`)).stdout, '1 delivery is sent again\n');
    await state(first, 'delivered');
    const second = await dead();
    const all = await cli('runs redeliver --project p --since 1h');
    assert.equal(all.stdout, '1 delivery is sent again\n');
    await state(second, 'delivered');
    assert.match((await cli('runs redeliver --since 1h', { code: 2 })).stderr, /--project is needed/);
    const own = commands(sidecar, { HOOKLINE_PROJECT_ID: 'p' });
    assert.equal((await own('runs redeliver --since 1h')).stdout, '0 deliveries are sent again\n');
});

test('runs cancel ends a run', async (t) => {
    const { app, call, sidecar } = await stage(t, {
        app: async (x) => {
            await x.body();
            await x.gone;
        },
    });
    const cli = commands(sidecar);
    const answered = call(RUN);
    await until('the app has it', () => app.requests.length === 1);
    const id = app.requests[0].id;
    assert.equal((await cli(`runs cancel ${id}`)).stdout, 'cancelled\n');
    assert.equal((await answered).status, 410);
    assert.match((await cli(`runs cancel ${id}`, { code: 1 })).stderr, /already finished/);
});

test('runs rerun prints the new run’s id, beside a sidecar and without one', async (t) => {
    const { call, sidecar } = await stage(t, { app: (x) => x.send(500) });
    const cli = commands(sidecar);
    const { id } = await call(RUN, { query: { async: 'true' }, body: 'ping' });
    const show = async (run) => (await cli(`runs show ${run}`)).stdout;
    await until('it has failed', async () => (await show(id)).includes('failure'));
    const again = (await cli(`runs rerun ${id}`)).stdout.trim();
    assert.match(again, UUID_V7);
    await until('that has failed, too', async () => (await show(again)).includes('failure'));
    assert.match((await cli('runs rerun', { code: 2 })).stderr, /needs a run's id/);
    await sidecar.stop();
    const third = (await cli(`runs rerun ${again}`)).stdout.trim();
    assert.match(await show(third), /queued/);
    assert.match((await cli(`runs rerun ${third}`, { code: 1 })).stderr, /queued/);
});

test('what callers and the app sent cannot drive a terminal', async (t) => {
    const { connect, call, sidecar } = await stage(t, {
        app: async (x) => {
            await x.body();
            await x.send(200, { 'Content-Type': 'text/\u009b31m' }, 'x');
        },
    });
    const cli = commands(sidecar);
    const { id } = await call(RUN, { query: { async: 'true' } });
    const story = await until('it is finished', async () => {
        const { stdout } = await cli(`runs show ${id}`);
        return /^finished/m.test(stdout) && stdout;
    });
    const socket = await connect();
    socket.send('B\u001b POST /v4/p/a/x HTTP/1.1\r\nHost: x\r\n\r\n');
    await socket.response();
    const { stdout } = await cli('runs list');
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(story + stdout, /[^\n\x20-\x7e\u00a1-\uffff]/);
});

test('with no sidecar running the commands open the store themselves', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    const cli = commands(sidecar);
    receiver.script('/hook', 500, 200);
    const query = { async: 'true', webhookEndpoint: receiver.url('/hook') };
    const { id } = await call(RUN, { query });
    const deliveries = async () => JSON.parse((await cli(`runs show ${id} --json`)).stdout).deliveries;
    await until('it is dead', async () => (await deliveries())[0]?.state === 'dead');
    await sidecar.stop();
    assert.equal((await deliveries())[0].state, 'dead');
    assert.equal((await cli(`runs redeliver ${id}`)).stdout, '1 delivery is sent again\n');
    assert.equal((await deliveries())[0].state, 'pending');
    await sidecar.start();
    await until('it is delivered', async () => (await deliveries())[0].state === 'delivered');
});

test('with no sidecar running a command’s own settings decide nothing about stored runs', async (t) => {
    const calls = [];
    const { call, sidecar } = await stage(t, {
        env: { HOOKLINE_RUN_ATTEMPTS: '2' },
        app: async (exchange) => {
            await exchange.body();
            calls.push(exchange.target);
            if (exchange.target === '/hang' && calls.length === 2) return; // until the sidecar dies
            await exchange.json({});
        },
    });
    const states = async (ask) => {
        const runs = (await ask()).map(({ run_id, state }) => [run_id, state]);
        return Object.fromEntries(runs);
    };
    const cli = commands(sidecar, { HOOKLINE_RETENTION: '1s', HOOKLINE_STORE_MAX_BYTES: '1MiB' });
    const listed = async () => lines((await cli('runs list --json')).stdout).map(JSON.parse);
    const query = { async: 'true' };
    const done = (await call(RUN, { query })).id;
    await until('it is done', async () => (await states(listed))[done] === 'success');
    const cut = (await call('/v4/p/a/hang', { query })).id;
    await until('it is in the app', () => calls.length === 2);
    const { finished_at } = (await listed()).find(({ run_id }) => run_id === done);
    await sidecar.kill();
    await until('its retention would be over', () => Date.now() > Date.parse(finished_at) + 1000);
    for (let i = 0; i < 3; i++)
        assert.deepEqual(await states(listed), { [cut]: 'running', [done]: 'success' });
    await sidecar.start();
    await until('it is run again', async () => (await states(listed))[cut] === 'success');
    assert.deepEqual(calls, ['/run', '/hang', '/hang']);
});

test('with no sidecar running a command’s own settings decide nothing about webhooks', async (t) => {
    const { app, call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_ATTEMPTS: '2', HOOKLINE_APP_CONCURRENCY: '1' },
        app: async (x) => {
            await x.body();
            if (app.requests.length > 1) await x.gone; // the second one, until the sidecar ends
            await x.send(200);
        },
    });
    receiver.script('/hook', 500, 404, 404, 404);
    receiver.script('/cancelled', 404, 404, 404, 404);
    const cli = commands(sidecar, { HOOKLINE_WEBHOOK_ATTEMPTS: '1' });
    const delivery = async (id) => JSON.parse((await cli(`runs show ${id} --json`)).stdout).deliveries[0];
    const start = async (path) => {
        const query = { async: 'true', webhookEndpoint: receiver.url(path) };
        return (await call(RUN, { query })).id;
    };
    const dead = await start('/hook');
    await until('it is dead', async () => (await delivery(dead))?.state === 'dead');
    await start('/none');
    await until('the app is busy', () => app.requests.length === 2);
    const queued = await start('/cancelled');
    await sidecar.kill();
    assert.equal((await cli(`runs redeliver ${dead}`)).stdout, '1 delivery is sent again\n');
    assert.equal((await cli(`runs cancel ${queued}`)).stdout, 'cancelled\n');
    for (const id of [dead, queued]) {
        const { state, max_attempts } = await delivery(id);
        assert.deepEqual([state, max_attempts], ['pending', null], 'the sidecar will say');
    }
    await sidecar.start();
    for (const [id, rounds] of [[dead, ['1.1', '2.1', '2.2']], [queued, ['1.1', '1.2']]]) {
        const { attempts, max_attempts } = await until('it is dead', async () => {
            const now = await delivery(id);
            return now.state === 'dead' && now;
        });
        assert.deepEqual(attempts.map(({ round, n }) => `${round}.${n}`), rounds);
        assert.equal(max_attempts, 2);
    }
});

test('as root the commands become the data directory’s owner', async (t) => {
    if (process.getuid() !== 0) return t.skip('needs root');
    const { call, sidecar } = await stage(t);
    const cli = commands(sidecar);
    await call(RUN, { query: { async: 'true' } });
    await sidecar.stop();
    const files = async () => {
        const names = await readdir(sidecar.dataDir, { recursive: true });
        return ['.', ...names].map((name) => join(sidecar.dataDir, name));
    };
    for (const file of await files()) await chown(file, 1234, 1235);
    assert.equal(lines((await cli('runs list --json')).stdout).length, 1);
    for (const file of await files()) {
        const { uid, gid } = await stat(file);
        assert.deepEqual([uid, gid], [1234, 1235], file);
    }
    for (const file of await files()) await chown(file, 0, 0); // for the next start
});

test('root’s commands pass a folder that is closed to the data directory’s owner, with a sidecar and without', async (t) => {
    if (process.getuid() !== 0) return t.skip('needs root');
    const closed = await temporaryDirectory(t);
    const dataDir = await temporaryDirectory(t);
    await chown(dataDir, 1234, 1234);
    await chmod(closed, 0o700);
    await symlink(dataDir, join(closed, 'data'));
    const command = ['setpriv', '--reuid=1234', '--regid=1234', '--clear-groups', BINARY];
    const env = { HOOKLINE_APP_URL: 'http://127.0.0.1:1' };
    const sidecar = await startSidecar(t, { env, dataDir, command, wait: 'healthz' });
    const cli = commands(sidecar, { HOOKLINE_DATA_DIR: join(closed, 'data') });
    assert.match((await cli('token create --project demo --name a --expires 1d')).stdout, /^ey/);
    await sidecar.stop();
    assert.match((await cli('token list --project demo')).stdout, / demo +a /);
});

test('without a data directory, or with one in use, the commands say so', async (t) => {
    const directory = await temporaryDirectory(t);
    const ask = (env) => run(['runs', 'list'], { HOOKLINE_AUTH: 'none', ...env });
    const none = await ask({ HOOKLINE_DATA_DIR: join(directory, 'none') });
    assert.equal(none.code, 1);
    assert.match(none.stderr, /there is no data directory/);
    assert.deepEqual(await readdir(directory), [], 'none is made');
    const memory = await ask({ HOOKLINE_DATA_DIR: directory, HOOKLINE_STORE: 'memory' });
    assert.equal(memory.code, 1);
    assert.match(memory.stderr, /no sidecar answers on .*control\.sock, and with HOOKLINE_STORE=memory/);
    for (const words of [['runs', 'list'], ['deliveries', 'list'], ['token', 'list']]) {
        const nothing = await run(words, { HOOKLINE_AUTH: 'none', HOOKLINE_DATA_DIR: directory, HOOKLINE_PROJECT_ID: 'p' });
        assert.equal(nothing.code, 1);
        assert.ok(nothing.stderr.includes(`no hookline runs on the data directory ${directory}`), nothing.stderr);
        assert.deepEqual(await readdir(directory), [], 'a question makes no store');
    }
    const file = join(directory, 'file');
    await writeFile(file, '');
    const odd = await ask({ HOOKLINE_DATA_DIR: file });
    assert.equal(odd.code, 1);
    assert.match(odd.stderr, /cannot be asked: Not a directory/);
});

test('a sidecar that keeps nothing on disk has a control socket, and works without one', async (t) => {
    const dataDir = await temporaryDirectory(t);
    const env = { HOOKLINE_STORE: 'memory', HOOKLINE_APP_URL: 'http://127.0.0.1:1' };
    const sidecar = await startSidecar(t, { env, dataDir, wait: 'healthz' });
    assert.deepEqual((await control(sidecar)('GET', '/v2/runs')).json().runs, []);
    const { stdout } = await run(['runs', 'list'], { HOOKLINE_DATA_DIR: dataDir, ...env });
    assert.equal(lines(stdout).length, 1);
    const second = join(dataDir, 'none', 'deeper');
    const other = await startSidecar(t, { env, dataDir: second, wait: 'healthz' });
    await until('it is said', () => other.log.some((line) => /no control socket/.test(line.msg)));
});

test('the control socket is its owner’s alone, and goes with the sidecar', async (t) => {
    const { sidecar } = await stage(t, { app: null });
    const path = join(sidecar.dataDir, 'control.sock');
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    await sidecar.kill();
    await stat(path);
    await sidecar.start('healthz');
    assert.equal((await control(sidecar)('GET', '/v2/runs')).status, 200);
    await sidecar.stop();
    await assert.rejects(stat(path), { code: 'ENOENT' });
});

test('a data directory may have a long name', async (t) => {
    const dataDir = join(await temporaryDirectory(t), 'd'.repeat(150));
    const env = { HOOKLINE_APP_URL: 'http://127.0.0.1:1' };
    const sidecar = await startSidecar(t, { env, dataDir, wait: 'healthz' });
    assert.equal(lines((await commands(sidecar)('runs list')).stdout).length, 1);
    const mode = (await stat(join(dataDir, 'control.sock'))).mode;
    assert.equal(mode & 0o777, 0o600);
    await sidecar.stop();
    await assert.rejects(stat(join(dataDir, 'control.sock')), { code: 'ENOENT' });
});

test('idle connections to the admin listener keep nobody from the control socket', async (t) => {
    const { sidecar } = await stage(t, { app: null });
    for (let i = 0; i < 300; i++) await connect(t, { port: sidecar.adminPort });
    assert.equal((await control(sidecar)('GET', '/v2/runs')).status, 200);
    assert.equal((await commands(sidecar)('runs list')).code, 0);
});

test('wrong arguments are refused with a line that says what is needed', async (t) => {
    const directory = await temporaryDirectory(t);
    const env = { HOOKLINE_DATA_DIR: directory, HOOKLINE_AUTH: 'none' };
    for (const [words, pattern] of [
        ['runs', /"runs" needs a subcommand/],
        ['runs show', /needs a run's id/],
        ['runs show 01', /"01" is too short: at least the first 4 characters of a run's id are needed, or the last 8/],
        ['deliveries show 01', /"01" is too short: at least the first 4 characters of a delivery's id are needed$/m],
        ['runs show last', /"last" is not a run's id or the beginning of one/],
        ['runs show abcd b', /unexpected argument "b"/],
        ['runs list --nonsense', /no option "--nonsense"/],
        ['runs list --project', /--project needs a value/],
        ['runs list --project a --project b', /--project is given more than once/],
        ['runs list --json=1', /--json takes no value/],
        ['runs list --async --sync', /are mutually exclusive/],
        ['runs list --since tomorrow', /--since is a time/],
        ['runs list --since 1h --until 2h', /--until 2h is not after --since 1h: nothing lies between them/],
        ['runs list --since 1h --until 1h', /--until 1h is not after --since 1h/],
        ['runs list --since 2026-11-22 --until 2026-11-21T23:59:59Z', /--until 2026-11-21T23:59:59Z is not after/],
        ['runs list --since 1h --until 2020-01-01', /--until 2020-01-01 is not after --since 1h/],
        ['deliveries list --since 2026-11-22 --until 2026-11-22', /--until 2026-11-22 is not after --since 2026-11-22/],
        ['runs redeliver --since 1h --until 1d', /--until 1d is not after --since 1h/],
        ['deliveries redeliver --since 1h --until 1d --dry-run', /--until 1d is not after --since 1h/],
        ['runs list --limit 0', /--limit takes a number from 1 to 1000000, not "0"/],
        ['runs redeliver', /a run's id, --since TIME for all dead ones since then, or --all/],
        ['token create --name ci', /--expires TIME is needed: when the token expires/],
        ['token create --name ci --expires soon', /--expires takes a duration such as 90d/],
        ['token revoke', /needs a service account's id.*not the token/],
        ['token revoke eyJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ', /"eyJhbGciOiJFUzI1NiIs…" is not a service account's id/],
        ['sign', /--id RUN_ID is needed/],
        ['sign --id x', /--id takes the whole id of a run.*not "x"/],
        ['verify --id 0193f0b0-0000-7000-8000-000000000000', /--timestamp SECONDS is needed.*\n.*--signature TEXT is needed/],
    ]) {
        const { code, stdout, stderr } = await run(words.split(' '), env);
        assert.equal(code, 2, words);
        assert.equal(stdout, '');
        assert.match(stderr, pattern);
    }
    assert.deepEqual(await readdir(directory), [], 'nothing was opened');
});

const ID = '0193f0b0-1234-7000-8000-0123456789ab';

test('sign makes both signatures, from a file and from stdin', async (t) => {
    const directory = await temporaryDirectory(t);
    await mkdir(directory, { recursive: true });
    const body = Buffer.from('{"emoji":"\u{1f600}","n":1}\n');
    const file = join(directory, 'body');
    await writeFile(file, body);
    for (const secret of ['plain secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']) {
        await writeFile(join(directory, 'secret'), `${secret}\n`);
        const words = ['sign', '--id', ID];
        const fromFile = await run([...words, '--secret-file', join(directory, 'secret'), file]);
        const fromStdin = await run(words, { HOOKLINE_WEBHOOK_SECRET: secret }, { input: body });
        for (const { code, stdout, stderr } of [fromFile, fromStdin]) {
            assert.equal(code, 0, stderr);
            const fields = new Map(
                lines(stdout).map((line) => [
                    line.slice(0, line.indexOf(':')).toLowerCase(),
                    line.slice(line.indexOf(': ') + 2),
                ]),
            );
            const delivery = { bytes: body, at: Date.now(), get: (n) => fields.get(n.toLowerCase()) };
            assertSigned(delivery, secret);
        }
    }
});

test('verify exits with 0 for what was signed, and with 1 for anything else', async (t) => {
    const { call, receiver } = await stage(t);
    const secret = 'a secret of the caller';
    const query = { webhookEndpoint: receiver.url() };
    await call(RUN, { query, headers: { 'x-webhook-secret': secret }, body: 'hello' });
    const delivery = await receiver.delivered();
    const verify = (change = {}) => {
        const it = {
            id: delivery.get('x-request-id'),
            timestamp: delivery.get('x-service-webhook-timestamp'),
            signature: delivery.get('x-service-webhook-signature'),
            secret,
            body: delivery.bytes,
            ...change,
        };
        const words = ['--id', it.id, '--timestamp', it.timestamp, '--signature', it.signature];
        const env = { HOOKLINE_WEBHOOK_SECRET: it.secret };
        return run(['verify', ...words], env, { input: it.body });
    };
    assert.deepEqual(
        [(await verify()).code, (await verify()).stdout],
        [0, 'verified (X-…-Webhook-Signature)\n'],
    );
    const standard = delivery.get('webhook-signature');
    assert.equal((await verify({ signature: standard })).code, 0);
    assert.equal((await verify({ signature: `v1,AAAA v1a,x ${standard}` })).code, 0);
    for (const change of [
        { id: ID },
        { timestamp: '1700000000' },
        { secret: 'another' },
        { body: Buffer.concat([delivery.bytes, Buffer.from(' ')]) },
        { signature: standard.replace('v1,', 'v2,') },
        { signature: 'v1,' },
        { signature: delivery.get('x-service-webhook-signature').slice(0, -1) },
    ]) {
        const { code, stdout, stderr } = await verify(change);
        assert.equal(code, 1, JSON.stringify(change));
        assert.equal(stdout, '');
        assert.match(stderr, /not verified/);
        assert.ok(!stderr.includes(secret));
    }
});

test('without --project it is that of the hookline that runs', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_PROJECT_ID: 'theirs' } });
    const cli = commands(sidecar);
    assert.equal((await cli('runs redeliver --since 1h')).stdout, '0 deliveries are sent again\n');
    await cli('token create --name ci --expires 1h');
    assert.match((await cli('token list')).stdout, / theirs +ci /);
    const own = commands(sidecar, { HOOKLINE_PROJECT_ID: 'ours' });
    await own('token create --name own --expires 1h');
    assert.match((await cli('token list')).stdout, / ours +own /, 'our own setting comes first');
});

test('key create prints a new key and nothing else, whatever the settings', async () => {
    const keys = new Set();
    for (const env of [{}, { HOOKLINE_STORE: 'postgres' }, { HOOKLINE_WORKERS: 'many' }]) {
        const { code, stdout, stderr } = await run(['key', 'create'], env);
        assert.equal(code, 0, stderr);
        assert.match(stdout, /^[0-9a-f]{64}\n$/);
        assert.equal(stderr, '');
        keys.add(stdout);
    }
    assert.equal(keys.size, 3);
    const { code, stderr } = await run(['key', 'create', 'file']);
    assert.equal(code, 2);
    assert.match(stderr, /takes no argument/);
});

test('with postgres the commands need no data directory', async (t) => {
    const env = {
        HOOKLINE_STORE: 'postgres',
        HOOKLINE_POSTGRES_URL: 'postgres://localhost:1/x',
        HOOKLINE_KEY: 'ab'.repeat(32),
        HOOKLINE_DATA_DIR: join(await temporaryDirectory(t), 'none'),
    };
    const { stderr } = await run(['token', 'list'], env);
    assert.doesNotMatch(stderr, /there is no data directory/);
});
