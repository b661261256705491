// A machine on which few ports are free for connections to the app: those that are kept make room for new ones.
import assert from 'node:assert/strict';
import http from 'node:http';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { isInside, runInside } from './lib/machine.mjs';
import { freePort } from './lib/sidecar.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const NAME = 'where 20 ports are free, 60 calls at once are all answered, again and again';
const CALLS = 60;

/** The status of a POST; each of the sidecar's ports has 20 of ours. */
const post = (port, agent) =>
    new Promise((resolve, reject) => {
        const options = { method: 'POST', host: '127.0.0.1', port, path: RUN, agent };
        const request = http.request(options, (response) => {
            response.resume();
            response.on('end', () => resolve(response.statusCode));
        });
        request.on('error', reject);
        request.end('{}');
    });

async function allAreAnswered(t) {
    await promisify(execFile)('ip', ['link', 'set', 'lo', 'up']);
    const ports = await Promise.all(Array.from({ length: 4 }, freePort));
    const { sidecar } = await stage(t, {
        wait: false,
        env: {
            HOOKLINE_WORKERS: '2',
            HOOKLINE_LISTEN: ports.map((port) => `127.0.0.1:${port}`).join(','),
        },
        app: async (x) => {
            await x.body();
            await x.send(200, { 'Keep-Alive': 'timeout=1' }); // soon too old for a POST
        },
    });
    await until('it is ready', async () => (await sidecar.admin('/readyz'))?.status === 200);
    const agent = new http.Agent({ keepAlive: true });
    atEnd(t, () => agent.destroy());
    await writeFile('/proc/sys/net/ipv4/ip_local_port_range', '20000 20019');
    for (let round = 0; round < 4; round++) {
        const calls = Array.from({ length: CALLS }, (_, i) => post(ports[i % ports.length], agent));
        const statuses = await Promise.all(calls);
        const failed = statuses.filter((status) => status !== 200);
        assert.deepEqual(failed, [], `round ${round}`);
    }
}

if (isInside) test(NAME, allAreAnswered);
else test(NAME, (t) => runInside(t, fileURLToPath(import.meta.url)));
