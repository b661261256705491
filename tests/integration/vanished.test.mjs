// An app whose machine vanishes, without FIN or RST: its calls end, in whatever they are.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { assertProblem } from './lib/stage.mjs';
import { connect, request } from './lib/raw.mjs';
import { isInside, runInside, startMachine } from './lib/machine.mjs';
import { startSidecar } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

const NAME = 'an app whose machine vanishes: each of its calls ends within a minute';
const PORT = 8000;
const app = fileURLToPath(new URL('apps/machine.mjs', import.meta.url));

async function callsEnd(t) {
    const machine = await startMachine(t, [app, PORT]);
    const sidecar = await startSidecar(t, {
        env: {
            HOOKLINE_APP_URL: `http://${machine.address}:${PORT}`,
            HOOKLINE_APP_HEALTH_PATH: '/health',
            HOOKLINE_WORKERS: '1',
        },
    });
    const call = async (path, body = '') => {
        const client = await connect(t, sidecar, { silence: 0 });
        void client.send(request('POST', `/v4/p/a${path}`, {}, body));
        return client;
    };
    const quick = await call('/quick');
    assert.equal((await quick.response()).status, 200); // it leaves a connection that is kept
    const waiting = {
        computing: await call('/computing', 'all of it was read'),
        deaf: await call('/deaf', Buffer.alloc(8 << 20)),
    };
    const stream = await call('/stream');
    await stream.responseHead();
    await until('all are inside', () =>
        ['/computing', '/deaf', '/stream'].every((p) => machine.output.text.includes(`begun ${p}`)),
    );
    await machine.cut();
    waiting.late = await call('/late', 'on its way');
    const answered = Object.entries(waiting).map(async ([name, client]) => {
        const response = await client.response();
        assertProblem(response, 502);
        assert.match(response.text, /machine no longer answers|No connection|cannot be reached/, name);
    });
    await Promise.all([...answered, stream.reader.gone]);
    await until(
        'none is in flight',
        async () => (await sidecar.metric('hookline_http_requests_in_flight')) === 0,
    );
}

if (isInside) test(NAME, callsEnd);
else
    test(NAME, (t) => runInside(t, fileURLToPath(import.meta.url)));
