// What the process does when the machine gives it no more descriptors, threads or memory.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { BINARY } from './lib/sidecar.mjs';
import { connect, request } from './lib/raw.mjs';
import { gate, until } from './lib/until.mjs';

/** The binary with this many descriptors, and no way to get more. */
const withDescriptors = (n) => ['/bin/sh', '-c', `ulimit -n ${n}; exec "$0"`, BINARY];

test('callers without end take no descriptor from health checks, and calls go on when some have left', async (t) => {
    const doors = gate();
    const { call, sidecar } = await stage(t, {
        command: withDescriptors(160),
        env: { HOOKLINE_MAX_CONNECTIONS: '10000', HOOKLINE_STREAM_KEEP: 'all' },
        app: async (x) => {
            if (x.head.target === '/calm') return x.send(200);
            await x.respond(200, { 'Content-Type': 'text/event-stream' });
            await x.chunk('data: 1\n\n');
            await doors.promise;
            await x.chunk('');
        },
    });
    const callers = [];
    for (let i = 0; i < 200; i++) {
        callers.push(await connect(t, sidecar));
        void callers[i].send(request('POST', RUN, { 'X-Run-Keep': 'true' }, ''));
    }
    for (let i = 0; i < 5; i++) {
        await sidecar.until('healthz');
        assert.equal((await sidecar.admin('/healthz')).status, 200);
        assert.equal((await sidecar.admin('/metrics')).status, 200);
    }
    for (const caller of callers) caller.socket.destroy();
    doors.open();
    await until('calls go on', async () => (await call('/v4/p/a/calm')).status === 200);
});
