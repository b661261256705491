// rolling.mjs - rolling restarts of two pods under load behind HAProxy, whose retries are off: how many calls failed.
//
//   node rolling.mjs app-as-sidecar|hookline-as-sidecar [RESTARTS (20)] [RATE (2000)]
//
// Needs root, iproute2, haproxy, curl; HOOKLINE_BIN. README.md has what it said last.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { render } from '../../integration/lib/kustomize.mjs';
import { engineOf } from './engine.mjs';
import { ownNetwork, Pod } from './kubelet.mjs';

const PORT = 8180;
const [layout = '', restarts = 20, rate = 2000] = process.argv.slice(2);
const EXAMPLE = fileURLToPath(new URL(`../../../deploy/components/examples/${layout}`, import.meta.url));

const proxy = (pods) => `
global
    nbthread 1
    maxconn 4000
defaults
    mode http
    retries 0
    no option redispatch
    timeout connect 5s
    timeout client 75s
    timeout server 75s
    option http-keep-alive
    option httpchk GET /_hookline/readyz
    http-check expect status 200
    default-server check inter 1s fall 2 rise 1
listen calls
    bind 127.0.0.1:${PORT}
    balance roundrobin
${pods.map(({ address }, i) => `    server pod${i} ${address}:8080`).join('\n')}
`;

await ownNetwork();
const objects = await render(EXAMPLE);
const { spec } = objects.find((one) => one.spec.template).spec.template;
const directory = mkdtempSync(join(tmpdir(), 'hookline-rolling-'));
const engine = engineOf(directory, { HOOKLINE_AUTH: 'none' });
const pods = [new Pod(spec, 0, engine), new Pod(spec, 1, engine)];
for (const pod of pods) {
    await pod.plugIn();
    await pod.start();
    await pod.ready();
}
writeFileSync(join(directory, 'haproxy.cfg'), proxy(pods));
const haproxy = spawn('haproxy', ['-db', '-f', join(directory, 'haproxy.cfg')], { stdio: ['ignore', 'ignore', 'ignore'] });
await sleep(3_000); // it has looked at both
const load = spawn(process.execPath, [fileURLToPath(new URL('load.mjs', import.meta.url)), PORT, rate], { stdio: ['ignore', 'pipe', 'inherit'] });
let output = '';
load.stdout.setEncoding('utf8').on('data', (text) => (output += text));
await sleep(2_000);
const stops = [];
for (let i = 0; i < Number(restarts); i++) {
    for (const pod of pods) {
        const { ms, ends } = await pod.stop();
        stops.push(ms);
        if (Object.values(ends).some((end) => end !== 0)) console.log(`restart ${i + 1}: pod ${pod.index} ended with`, ends);
        await pod.start();
        await pod.ready();
        await sleep(2_500); // it is one of HAProxy's again
    }
    console.log(`${new Date().toISOString()} restart ${i + 1}`);
}
load.kill('SIGTERM');
await once(load, 'close');
haproxy.kill('SIGTERM');
await Promise.all(pods.map((pod) => pod.stop()));
pods.forEach((pod) => pod.unplug());
stops.sort((a, b) => a - b);
const { calls, answered, took, p50, p99, failed, first } = JSON.parse(output);
console.log(`${layout}: ${restarts} rolling restarts of ${pods.length} pods, ${(calls / took).toFixed(0)} calls/s for ${took.toFixed(0)} s`);
console.log(`calls ${calls}, answered ${answered}, failed ${failed}; beyond the app's own time p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
console.log(`a pod's end took ${(stops[0] / 1000).toFixed(1)} to ${(stops.at(-1) / 1000).toFixed(1)} s`);
for (const one of first) console.log('failed:', JSON.stringify(one));
console.log(`logs: ${directory}`);
process.exit(failed > 0 ? 1 : 0);
