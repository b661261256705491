// jobs.mjs - a Job with hookline beside it (deploy/components/examples/job): how long after its app hookline ends.
//
//   node jobs.mjs [JOBS (20)]
//
// Needs root, iproute2; HOOKLINE_BIN. Each Job is called ten times, asynchronously too; its app ends by itself behind the last
// call. README.md has what it said last.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { render } from '../../integration/lib/kustomize.mjs';
import { engineOf } from './engine.mjs';
import { ownNetwork, Pod } from './kubelet.mjs';

await ownNetwork();
const [jobs = 20] = process.argv.slice(2);
const objects = await render(fileURLToPath(new URL('../../../deploy/components/examples/job', import.meta.url)));
const { spec } = objects.find(({ kind }) => kind === 'Job').spec.template;
const directory = mkdtempSync(join(tmpdir(), 'hookline-jobs-'));
const pod = new Pod(spec, 0, engineOf(directory, { HOOKLINE_AUTH: 'none' }));
await pod.plugIn();
const ends = [];
for (let i = 0; i < Number(jobs); i++) {
    await pod.start();
    await pod.ready();
    const call = async (query, body) => {
        const answer = await fetch(`http://${pod.address}:8080/v4/p/words/run${query}`, { method: 'POST', body: JSON.stringify(body) });
        if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
        await answer.arrayBuffer();
    };
    for (let n = 0; n < 9; n++) await call(n % 3 === 0 ? '?async=true' : '', { ms: 5 });
    await call('', { ms: 5, last: true });
    const end = await pod.complete();
    if (Object.values(end.ends).some((code) => code !== 0)) throw new Error(JSON.stringify(end));
    ends.push(end.ms);
}
pod.unplug();
ends.sort((a, b) => a - b);
console.log(`${ends.length} Jobs: hookline ended ${ends[0].toFixed(0)} to ${ends.at(-1).toFixed(0)} ms after its app, median ${ends[ends.length >> 1].toFixed(0)} ms`);
process.exit(0);
