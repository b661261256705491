// The app sleeps while nobody uses it, and whoever comes wakes it: HOOKLINE_APP_IDLE_STOP and HOOKLINE_APP_IDLE_SLEEP.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { freePort, startSidecar } from './lib/sidecar.mjs';
import { RUN, caller } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const SLEEPER = JSON.stringify([process.execPath, fileURLToPath(new URL('apps/sleeper.mjs', import.meta.url))]);

/** A sidecar that starts apps/sleeper.mjs, and lets it go after 100 ms without use. */
async function sleeper(t, { env = {}, command = SLEEPER, wait } = {}) {
    const sidecar = await startSidecar(t, {
        env: {
            HOOKLINE_APP_URL: `http://127.0.0.1:${await freePort()}`,
            HOOKLINE_APP_COMMAND: command,
            HOOKLINE_APP_IDLE_STOP: '100ms',
            ...env,
        },
        wait,
    });
    return { sidecar, call: caller(t, sidecar) };
}

/** What the app has written. */
const output = (sidecar) => sidecar.log.filter((l) => l.msg === 'app').map((l) => l.line);
const starts = (sidecar, why) => sidecar.metric('hookline_app_starts_total', { why });
const asleep = (sidecar, n = 1) =>
    until('the app sleeps', () => sidecar.log.filter((l) => /^the app sleeps/.test(l.msg)).length >= n);

test('an app that nobody uses is stopped, and a call starts it', async (t) => {
    const { sidecar, call } = await sleeper(t);
    await asleep(sidecar);
    assert.equal(await sidecar.metric('hookline_app_running'), 0);
    const ready = await sidecar.admin('/readyz');
    assert.deepEqual([ready.status, ready.text.trim()], [200, 'ready: the app sleeps']);
    assert.equal((await call()).status, 200);
    assert.equal(await starts(sidecar, 'wake'), 1);
    assert.equal(await starts(sidecar, 'exit'), 0);
});
