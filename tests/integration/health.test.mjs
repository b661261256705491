// hookline health: what a container's health check is told.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { stage } from './lib/stage.mjs';
import { freePort, run } from './lib/sidecar.mjs';
import { startServer } from './lib/server.mjs';

test('hookline health is 0 when ready and 1 when not', async (t) => {
    const port = await freePort();
    const { sidecar } = await stage(t, {
        app: null,
        env: { HOOKLINE_APP_URL: `http://127.0.0.1:${port}` },
    });
    const env = {
        HOOKLINE_LISTEN: `127.0.0.1:${sidecar.port}`,
        HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${sidecar.adminPort}`,
    };
    assert.equal((await run(['health'], env)).code, 1);
    const elsewhere = { ...env, HOOKLINE_DATA_DIR: sidecar.dataDir, HOOKLINE_ADMIN_LISTEN: '127.0.0.1:1' };
    assert.match((await run(['health'], elsewhere)).stderr, /^not ready: the control socket: 503 /, 'it is not told of an address where nobody is');
    await startServer(t, (x) => x.send(200), port);
    await sidecar.until('readyz');
    assert.equal((await run(['health'], env)).code, 0);
    assert.equal((await run(['health'], elsewhere)).code, 0, 'the data directory says where it is');
    await sidecar.stop();
    assert.equal((await run(['health'], env)).code, 1, 'nobody listens');
});
