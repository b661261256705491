// A disk that fails for a while costs the asynchronous calls of that while and nothing else: the same process goes on.
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { compile, inRepository } from './lib/function.mjs';
import { control } from './lib/rest.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { assertProblem, RUN, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

/** As stage(), on a disk that fails from `fail(how)` to `mend()`. */
async function failingStage(t, options) {
    const file = join(await temporaryDirectory(t), 'fails');
    const shim = await compile(t, inRepository('tests/integration/lib/failing_disk.c'), {
        flags: ['-D_GNU_SOURCE', '-Wno-pedantic', '-ldl'],
    });
    const env = {
        LD_PRELOAD: shim,
        FAILING_DISK: file,
        ASAN_OPTIONS: 'exitcode=99:detect_leaks=1:quarantine_size_mb=16:verify_asan_link_order=0',
    };
    const all = await stage(t, { env, ...options });
    return { ...all, fail: (how) => writeFile(file, how), mend: () => rm(file) };
}

const accept = (call, query = {}) => call(RUN, { query: { async: 'true', ...query } });

const state = async (call, which) => (await call(`/_hookline/${which}`, { method: 'GET' })).status;

test('a disk that fails for a while: what was accepted, ended and called then is there, without a restart', async (t) => {
    let held = gate();
    let inside = 0;
    const { call, fail, mend, receiver, sidecar } = await failingStage(t, {
        app: async (x) => {
            await x.body();
            if (x.target.startsWith('/held')) {
                inside++;
                await held.promise;
            }
            await x.send(200, { 'content-type': 'text/plain' }, 'done');
        },
    });
    const ask = control(sidecar);
    for (const how of ['sync', 'all']) {
        held = gate();
        inside = 0;
        const webhookEndpoint = receiver.url(`/${how}`);
        const running = await call('/v4/p/a/held', { query: { async: 'true', webhookEndpoint } });
        assert.equal(running.status, 202);
        const synchronous = call('/v4/p/a/held', { query: { webhookEndpoint } });
        await until('both are inside the app', () => inside === 2);

        await fail(how);
        const refused = await until('asynchronous calls are refused', async () => {
            const response = await accept(call);
            return response.status === 503 && response;
        });
        assertProblem(refused, 503);
        await until('readiness says so', async () => (await state(call, 'readyz')) === 503);
        assert.equal(await state(call, 'healthz'), 200);
        held.open();
        assert.equal((await synchronous).status, 200, 'synchronous calls go on');
        const begun = await call('/v4/p/a/begun', { query: { webhookEndpoint } });
        assert.equal(begun.status, 200);

        await mend();
        await until('asynchronous calls are taken again', async () => (await accept(call)).status === 202);
        await until('readiness says so, too', async () => (await state(call, 'readyz')) === 200);
        await receiver.delivered(`/${how}`, 3);
        const run = await ask('GET', `/v2/projects/p/apps/a/runs/${running.id}`);
        assert.equal(run.json().state, 'success');
    }
    assert.equal(await sidecar.metric('hookline_webhooks_lost_total'), 0);
    assert.equal(await sidecar.metric('hookline_store_failing'), 0);
});
