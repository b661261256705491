// suite.mjs - groups of cases as tests: a sidecar a group, the cases of a group one after the other.
import { describe, test } from '../../lib/runner.mjs';
import { DELIVERIES, runCase } from './run-case.mjs';
import { startStage } from './proxy.mjs';

export function suite(name, groups) {
    describe(name, { concurrency: 4 }, () => {
        for (const { title, cases } of groups) {
            test(title, async (t) => {
                const stage = await startStage(t);
                for (const theCase of cases) {
                    await t.test(`${theCase.name} [${theCase.rfc}]`, async () => {
                        for (const delivery of DELIVERIES) await runCase(stage, theCase, delivery);
                    });
                }
            });
        }
    });
}
