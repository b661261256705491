// What is secret about a call is in no file of the data directory, while it waits, runs, is delivered, and after the end.
import assert from 'node:assert/strict';
import { chmod, chown, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { filesBelow } from './lib/files.mjs';
import { isSignedByContract } from './lib/signature.mjs';
import { BINARY, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const OPERATOR = 'the-operators-own-secret-0123456789';
const CALLER = 'the-callers-own-secret-9876543210';
const TOKEN = 'opaque-token-of-a-caller-4711';
const PATH = '/hook-that-nobody-may-know';
const KEY = 'key-in-the-address-0815';
const RESPONSE = 'a response that is kept as it is';
const SECRETS = [OPERATOR, CALLER, TOKEN, PATH.slice(1), KEY];

/** A string as it may stand in a file: itself, in hex, in base64 at each of the three offsets. */
function spellings(text) {
    const base64 = [0, 1, 2].map((skip) => {
        const whole = Buffer.from(text).subarray(skip);
        return whole.subarray(0, whole.length - (whole.length % 3)).toString('base64');
    });
    const hex = Buffer.from(text).toString('hex');
    return [text, hex, hex.toUpperCase(), ...base64];
}

async function everyByte(directory) {
    const files = await filesBelow(directory);
    assert.ok(files.some((name) => name.endsWith('hookline.db-wal') || name.endsWith('hookline.db')));
    return Buffer.concat(await Promise.all(files.map((name) => readFile(name))));
}

async function assertNoSecret(directory, when) {
    const bytes = await everyByte(directory);
    for (const secret of SECRETS)
        for (const text of spellings(secret))
            assert.ok(!bytes.includes(text), `${when}: ${secret} is in a file`);
    return bytes;
}

test('no secret, webhook URL or Authorization is in any file', async (t) => {
    let letGo;
    const held = new Promise((resolve) => (letGo = resolve));
    const { call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_SECRET: OPERATOR, HOOKLINE_ASYNC_CONCURRENCY: '1' },
        app: async (x) => {
            await x.body();
            if (x.get('x-hold')) await held;
            await x.send(200, { 'content-type': 'text/plain' }, RESPONSE);
        },
    });
    const webhookEndpoint = `${receiver.url(PATH)}?key=${KEY}`;
    const ask = (headers, isAsync) =>
        call(RUN, {
            query: { webhookEndpoint, ...(isAsync && { async: '1' }) },
            headers: { authorization: `Bearer ${TOKEN}`, ...headers },
        });
    await ask({ 'x-hold': '1' }, true);
    await ask({ 'x-webhook-secret': CALLER }, true);
    await assertNoSecret(sidecar.dataDir, 'one runs, one waits');
    letGo();
    await ask({ 'x-webhook-secret': CALLER }, false);
    await receiver.delivered(PATH, 3);
    const bySecret = (secret) =>
        receiver.deliveries(PATH).filter((delivery) => isSignedByContract(delivery, secret)).length;
    assert.deepEqual([bySecret(OPERATOR), bySecret(CALLER)], [1, 2]);
    await assertNoSecret(sidecar.dataDir, 'all were delivered');
    await sidecar.stop();
    const bytes = await assertNoSecret(sidecar.dataDir, 'it has ended');
    assert.ok(bytes.includes(RESPONSE), 'what is not secret is found');
});

test('memory is in no core dump and shown to no other process of the same user, unless HOOKLINE_CORE_DUMPS is on', async (t) => {
    if (process.getuid() !== 0) return t.skip('needs root');
    const USER = 1234;
    const dataDir = await temporaryDirectory(t);
    await chown(dataDir, USER, USER);
    const command = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', BINARY];
    const sidecar = await startSidecar(t, { dataDir, command, wait: 'healthz' });
    /* proc(5): what /proc shows of a process is its user's, or root's if its memory is not to be dumped. */
    const owner = async () => (await stat(`/proc/${sidecar.pid}/environ`)).uid;
    assert.equal(await owner(), 0);
    assert.ok((await sidecar.metric('process_open_fds')) > 0, 'it sees itself');
    await sidecar.restart({ HOOKLINE_CORE_DUMPS: 'on' }, 'healthz');
    assert.equal(await owner(), USER);
});

test('a start says which of the key file and the data directory others may read', async (t) => {
    const { sidecar } = await stage(t);
    const shared = () => sidecar.log.filter(({ msg }) => /users other than its owner/.test(msg));
    assert.deepEqual(shared(), [], 'what it made itself is its own');
    await chmod(sidecar.dataDir, 0o750);
    await chmod(join(sidecar.dataDir, 'key'), 0o644);
    await sidecar.restart();
    await until('both are said', () => shared().length === 2);
    assert.deepEqual(
        shared().map(({ level, path, mode }) => [level, path, mode]),
        [
            ['warn', sidecar.dataDir, '0750'],
            ['warn', join(sidecar.dataDir, 'key'), '0644'],
        ],
    );
});
