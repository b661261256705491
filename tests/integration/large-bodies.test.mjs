// A hundred large asynchronous calls at once: all accepted, memory stays small, every byte reaches the app.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from './lib/case.mjs';
import { isSanitized } from './lib/sanitized.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const MIB = 1 << 20;
const CALLS = 100;
/** A sanitizer's own memory counts too. All bodies together are many times what may be in memory, in either case. */
const [SIZE, BOUND] = isSanitized ? [8 * MIB, 256 * MIB] : [32 * MIB, 64 * MIB];

/** The status of an asynchronous call; it may take as long as the machine needs. */
function upload(sidecar, body) {
    return new Promise((resolve, reject) => {
        const request = http.request(`${sidecar.url}${RUN}?async=true`, {
            method: 'POST',
            agent: false,
            headers: { 'content-length': body.length },
        });
        request.on('error', reject);
        request.on('response', (response) => {
            response.resume();
            resolve(response.statusCode);
        });
        request.end(body);
    });
}

test(`a hundred asynchronous calls of ${SIZE / MIB} MiB at once stay under ${BOUND / MIB} MiB of RssAnon`, { limit: 400_000 }, async (t) => {
    const body = Buffer.alloc(SIZE);
    for (let i = 0; i < SIZE; i += 4) body.writeUInt32LE((i * 2654435761) >>> 0, i);
    const seen = new Map(); // whether it came as it was sent
    const { sidecar } = await stage(t, {
        env: { HOOKLINE_ASYNC_CONCURRENCY: '2', HOOKLINE_LOG_LEVEL: 'info' },
        app: async (x) => {
            let size = 0;
            let isSame = true;
            for await (const piece of x.pieces()) {
                isSame &&= piece.equals(body.subarray(size, size + piece.length));
                size += piece.length;
                x.chunks.length = 0;
            }
            seen.set(x.id, isSame && size === SIZE);
            await x.send(200, {}, 'ok');
        },
    });
    let most = 0;
    let isDone = false;
    const watch = (async () => {
        while (!isDone) {
            most = Math.max(most, await sidecar.rssAnon());
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
    })();
    const calls = Array.from({ length: CALLS }, () => upload(sidecar, body));
    for (const status of await Promise.all(calls)) assert.equal(status, 202);
    await until('all have run', () => seen.size === CALLS, 300_000);
    isDone = true;
    await watch;
    assert.deepEqual(new Set(seen.values()), new Set([true]));
    t.diagnostic(`RssAnon at most ${(most / MIB).toFixed(1)} MiB`);
    assert.ok(most < BOUND, `RssAnon was ${(most / MIB).toFixed(1)} MiB`);
});
