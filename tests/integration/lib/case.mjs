// case.mjs - node:test's `test` with two additions: nothing hangs, and a failed test shows what its sidecar logged.
import { test as nodeTest } from 'node:test';
import { within } from './until.mjs';

/** How long a file may live after its last test, and the end of what that started (cleanup.mjs), ms. */
const REST = 5_000;

const reports = new WeakMap();
let waiting = 0; // tests that have not ended
let watchdog;

/** Gives the test `t` something to show when it fails: `report()` answers a text. */
export function onFailure(t, report) {
    if (!reports.has(t)) reports.set(t, []);
    reports.get(t).push(report);
}

/** `options.limit`: ms after which the test has failed. */
export function test(name, ...rest) {
    const body = rest.pop();
    const { limit = 60_000, ...options } = rest[0] ?? {};
    waiting++;
    nodeTest(name, options, async (t) => {
        clearTimeout(watchdog);
        try {
            await within('the test', Promise.resolve(body(t)), limit);
        } catch (error) {
            for (const report of reports.get(t) ?? []) t.diagnostic(report());
            throw error;
        } finally {
            t.after(() => {
                if (--waiting === 0) watchdog = setTimeout(giveUp, REST).unref();
            });
        }
    });
}

/** What is still open would keep this process, and with it the whole run of tests, for ever. Its tests have their results. */
function giveUp() {
    console.error(`${process.argv[1]} does not end; still open: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit();
}
