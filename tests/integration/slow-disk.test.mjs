// A disk that cannot keep up makes uploads wait, and a caller only so long: then the webhook goes without its copy.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { compile, inRepository } from './lib/function.mjs';
import { isSanitized } from './lib/sanitized.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const MIB = 1 << 20;

/** As stage(), on a disk that takes as long for each write of a body as `setDelay(ms)` says. */
async function slowStage(t, { env = {}, ...options } = {}) {
    const file = join(await temporaryDirectory(t), 'delay');
    const setDelay = (ms) => writeFile(file, String(ms));
    await setDelay(0);
    const shim = await compile(t, inRepository('tests/integration/lib/slow_disk.c'), {
        flags: ['-D_GNU_SOURCE', '-Wno-pedantic', '-ldl'],
    });
    const preload = {
        LD_PRELOAD: shim,
        SLOW_DISK: file,
        ASAN_OPTIONS: 'exitcode=99:detect_leaks=1:quarantine_size_mb=16:verify_asan_link_order=0',
    };
    const all = await stage(t, { env: { HOOKLINE_WORKERS: '1', ...preload, ...env }, ...options });
    return { ...all, setDelay };
}

test('160 asynchronous uploads at once wait for a slow disk, and all are accepted', async (t) => {
    const { call, sidecar, setDelay } = await slowStage(t, {
        app: async (x) => {
            await x.body();
            x.chunks.length = 0;
            await x.send(200);
        },
    });
    await setDelay(8);
    const before = await sidecar.rssAnon();
    const body = Buffer.alloc(1.6 * MIB, 'x');
    const calls = Array.from({ length: 160 }, () => call(RUN, { body, query: { async: 'true' } }));
    let most = 0;
    const watch = setInterval(async () => (most = Math.max(most, await sidecar.rssAnon())), 50);
    for (const { status, text } of await Promise.all(calls)) assert.equal(status, 202, text);
    clearInterval(watch);
    const grown = (most - before) / MIB;
    t.diagnostic(`RssAnon grew by ${grown.toFixed(1)} MiB`);
    if (!isSanitized) assert.ok(grown < 64, `RssAnon grew by ${grown.toFixed(1)} MiB`);
    await setDelay(0);
    await until('no run is cut by the end', () => sidecar.log.filter(({ msg }) => msg === 'run finished').length === calls.length);
});

/** Answers with `size` bytes of text. */
const answering = (size) => async (x) => {
    await x.respond(200, { 'Content-Type': 'text/plain', 'Content-Length': size });
    for (let i = 0; i < size / MIB; i++) await x.raw(Buffer.alloc(MIB, 'x'));
};

test('a caller waits for a disk that is a little slower, and the webhook has its copy', async (t) => {
    const size = 20 * MIB; // a quarter more than waits for a disk in memory: it has five seconds for what is more
    const { call, receiver, sidecar, setDelay } = await slowStage(t, { app: answering(size) });
    await setDelay(10); // 256 KiB each
    const { status, body } = await call(RUN, { query: { webhookEndpoint: receiver.url('/hook') } });
    assert.equal(status, 200);
    assert.equal(body.length, size);
    await setDelay(0);
    const { bytes } = await receiver.delivered('/hook', 1);
    assert.ok(bytes.length > size, 'it was delivered whole');
    assert.equal(await sidecar.metric('hookline_responses_not_kept_total'), 0);
});

for (const [what, delay] of [
    ['stands still', 600_000],
    ['crawls', 400],
]) {
    test(`a disk that ${what} costs the webhook its copy, not the caller its answer`, async (t) => {
        const size = 62 * MIB;
        const { call, receiver, sidecar, setDelay } = await slowStage(t, { app: answering(size) });
        await setDelay(delay);
        const before = await sidecar.rssAnon();
        let most = before;
        const watch = setInterval(async () => (most = Math.max(most, await sidecar.rssAnon())), 50);
        const answer = await call(RUN, { query: { webhookEndpoint: receiver.url('/hook') } });
        clearInterval(watch);
        assert.equal(answer.status, 200);
        assert.equal(answer.body.length, size);
        const grown = (most - before) / MIB;
        t.diagnostic(`RssAnon grew by ${grown.toFixed(1)} MiB`);
        if (!isSanitized) assert.ok(grown < 24, `RssAnon grew by ${grown.toFixed(1)} MiB`);
        await setDelay(0);
        const hook = JSON.parse((await receiver.delivered('/hook', 1)).bytes);
        assert.equal(hook.type, 'run.success');
        assert.equal(hook.status_code, 200);
        assert.equal(hook.response, null);
        assert.equal(hook.encoding, 'none');
        assert.equal(hook.reason, 'response_not_kept');
        assert.equal(await sidecar.metric('hookline_responses_not_kept_total'), 1);
    });
}

test('copies that wait for their receiver are on the disk, not in memory', async (t) => {
    const calls = 20;
    const doors = gate();
    const { call, receiver, sidecar } = await stage(t, { app: answering(4 * MIB) });
    receiver.script('/hook', async (x) => {
        await doors.promise;
        await x.send(200);
    });
    const webhookEndpoint = receiver.url('/hook');
    const before = await sidecar.rssAnon();
    await Promise.all(Array.from({ length: calls }, () => call(RUN, { query: { webhookEndpoint } })));
    await until('all wait', async () =>
        (await sidecar.metric('hookline_deliveries_pending')) === calls,
    );
    await receiver.delivered('/hook', 10);
    const grown = ((await sidecar.rssAnon()) - before) / MIB;
    t.diagnostic(`RssAnon grew by ${grown.toFixed(1)} MiB`);
    if (!isSanitized) assert.ok(grown < 10, `RssAnon grew by ${grown.toFixed(1)} MiB`);
    doors.open();
});
