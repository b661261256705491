// suite.mjs - groups of cases as tests: a sidecar a group, the cases of a group one after the other.
import { test } from '../../lib/runner.mjs';
import { DELIVERIES, runCase } from './run-case.mjs';
import { startStage } from './proxy.mjs';

export function suite(name, groups) {
    test(name, { concurrency: 4 }, async (t) => {
        await Promise.all(groups.map(({ title, cases }) => t.test(title, (t) => runGroup(t, cases))));
    });
}

async function runGroup(t, cases) {
    const stage = await startStage(t);
    for (const theCase of cases) {
        await t.test(`${theCase.name} [${theCase.rfc}]`, async () => {
            for (const delivery of DELIVERIES) await runCase(stage, theCase, delivery);
        });
    }
}
