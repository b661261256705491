// case.mjs - node:test's `test` with two additions: no test hangs, and a failed one shows what its sidecar logged.
import { test as nodeTest } from 'node:test';
import { within } from './until.mjs';

const reports = new WeakMap();

/** Gives the test `t` something to show when it fails: `report()` answers a text. */
export function onFailure(t, report) {
    if (!reports.has(t)) reports.set(t, []);
    reports.get(t).push(report);
}

/** `options.limit`: ms after which the test has failed. */
export function test(name, ...rest) {
    const body = rest.pop();
    const { limit = 60_000, ...options } = rest[0] ?? {};
    nodeTest(name, options, async (t) => {
        try {
            await within('the test', Promise.resolve(body(t)), limit);
        } catch (error) {
            for (const report of reports.get(t) ?? []) t.diagnostic(report());
            throw error;
        }
    });
}
