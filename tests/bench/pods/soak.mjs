// soak.mjs - HOOKLINE_APP_RESTART_AFTER before an app that is always busy (busy_app.py): it must not be started again. Then
// the control: the app hangs for good, and must be.
//
//   node soak.mjs [MINUTES (10)] [RESTART_AFTER, s (60)]
//
// HOOKLINE_BIN, python3. README.md has what it said last.
import { spawn } from 'node:child_process';
import { mkdtempSync, openSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';

const CALLERS = 4;
const [minutes = 10, after = 60] = process.argv.slice(2).map(Number);
const directory = mkdtempSync(join(tmpdir(), 'hookline-soak-'));

async function freePort() {
    const server = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}

const [run, admin, app] = [await freePort(), await freePort(), await freePort()];
const log = openSync(join(directory, 'log'), 'a');
const hookline = spawn(process.env.HOOKLINE_BIN, [], {
    env: {
        PATH: process.env.PATH,
        HOOKLINE_LISTEN: `127.0.0.1:${run}`, HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${admin}`, HOOKLINE_DATA_DIR: join(directory, 'data'),
        HOOKLINE_AUTH: 'none', HOOKLINE_APP_URL: `http://127.0.0.1:${app}`, HOOKLINE_SHUTDOWN_DELAY: '0s', HOOKLINE_DRAIN_TIMEOUT: '1s',
        HOOKLINE_APP_COMMAND: `exec python3 ${fileURLToPath(new URL('busy_app.py', import.meta.url))}`,
        HOOKLINE_APP_HEALTH_PATH: '/health', HOOKLINE_APP_RESTART_AFTER: `${after}s`, HOOKLINE_APP_STOP_TIMEOUT: '2s', HOOKLINE_APP_KEEPALIVE: 'off',
        BUSY_S: `${after / 3}`, BURNERS: '1',
    },
    stdio: ['ignore', log, log],
});
const metrics = async () => (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
/** By `why`. */
const starts = async () => Object.fromEntries(
    [...(await metrics()).matchAll(/^hookline_app_starts_total\{why="(\w+)"\} (\d+)$/gm)].map(([, why, n]) => [why, Number(n)]));
const ready = async () => fetch(`http://127.0.0.1:${admin}/readyz`).then(({ ok }) => ok, () => false);
const call = async (path) => fetch(`http://127.0.0.1:${run}${path}`, { method: 'POST', body: '{}' }).then(
    async (answer) => { await answer.arrayBuffer(); return answer.status; }, () => 0);

while (!(await ready())) await sleep(100);
let isOver = false;
const statuses = {};
const callers = Array.from({ length: CALLERS }, async () => {
    while (!isOver) {
        const status = await call('/v4/p/busy/run');
        statuses[status] = (statuses[status] ?? 0) + 1;
    }
});
let [checks, good] = [0, 0]; // of our own, with a second's patience, as an orchestrator's
const checker = (async () => {
    while (!isOver) {
        checks++;
        const answer = await fetch(`http://127.0.0.1:${app}/health`, { signal: AbortSignal.timeout(1000) }).catch(() => null);
        good += answer?.ok ? 1 : 0;
        await sleep(1000);
    }
})();
await sleep(minutes * 60_000);
const before = await starts();
console.log(`${minutes} minutes: starts ${JSON.stringify(before)}; calls by status ${JSON.stringify(statuses)}; ${good} of ${checks} health checks were answered within a second`);
isOver = true;
await Promise.all([...callers, checker]);
while (!(await ready())) await sleep(100);
const began = performance.now();
const hung = call('/hang');
let after_hang = before;
while (after_hang.unhealthy === before.unhealthy && performance.now() - began < 10 * after * 1000) {
    await sleep(200);
    after_hang = await starts();
}
console.log(`hung: started again after ${((performance.now() - began) / 1000).toFixed(1)} s; its call got ${await hung}; starts ${JSON.stringify(after_hang)}`);
hookline.kill('SIGTERM');
const isGood = before.unhealthy === 0 && before.exit === 0 && after_hang.unhealthy === 1;
console.log(isGood ? 'no false restart' : 'WRONG', directory);
process.exit(isGood ? 0 : 1);
