import { startSidecar } from './lib/sidecar.mjs';
import { test } from './lib/case.mjs';
const n = Number(process.env.N ?? 10);
for (let i = 0; i < n; i++) test(`t${i}`, async (t) => { await startSidecar(t, { wait: 'healthz', env: { HOOKLINE_APP_URL: 'http://127.0.0.1:1' } }); });
