// case.mjs - node:test's `test` with four additions: nothing hangs, a failed test shows what its sidecar logged, tests that
// wait wait beside the others, and what a file's tests share ends with the last of them.
import { test as nodeTest } from './runner.mjs';
import { atEnd } from './cleanup.mjs';
import { PATIENCE, within } from './until.mjs';

/** How long a test may take that says nothing of it, ms. */
const LIMIT = 3 * PATIENCE;

/** How long a file may live after its last test, and the end of what that started (cleanup.mjs), ms. */
const REST = 5_000;

/** With a pattern of names nobody knows which test is the last: each one ends what the file has, and waits alone. */
const IS_FILTERED = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((option) => /--test-(name-pattern|only)/.test(option));

const reports = new WeakMap();
const early = []; // tests that wait and have not begun
const fileEnds = [];
let waiting = 0; // tests that have not ended
let watchdog;

/** What several tests share ends as what one started does (`atEnd(FILE, close)`): with the file's last test, which an error in it fails. */
export const FILE = { after: (close) => fileEnds.push(close) };

/** Gives the test `t` something to show when it fails: `report()` answers a text. */
export function onFailure(t, report) {
    if (!reports.has(t)) reports.set(t, []);
    reports.get(t).push(report);
}

/**
 * `options.limit`: ms after which the test has failed, for one that does very much. `options.waits`: it waits much longer than it works; all tests of the
 * file that do begin with the file, beside the others, and each is told of in its turn.
 */
export function test(name, ...rest) {
    const body = rest.pop();
    const { limit = LIMIT, waits = false, ...options } = rest[0] ?? {};
    const run = async (t) => within('the test', body(t), limit);
    const own = waits && !options.skip && !IS_FILTERED ? new EarlyTest(run) : null;
    if (own) early.push(own);
    if (!options.skip) waiting++;
    nodeTest(name, options, async (t) => {
        clearTimeout(watchdog);
        atEnd(t, endOfTest); // behind all that the test itself ends
        for (const one of early.splice(0)) one.begin();
        try {
            await (own ? own.end(t) : run(t));
        } catch (error) {
            for (const report of reports.get(own ?? t) ?? []) t.diagnostic(report());
            throw error;
        }
    });
}

/** Stands for `t` in a test that begins before its turn. */
class EarlyTest {
    #run;
    #closings = [];
    #texts = [];

    constructor(run) {
        this.#run = run;
    }

    begin() {
        this.#run = this.#run(this);
        this.#run.catch(() => {}); // it is told of in its turn
    }

    after(close) {
        this.#closings.push(close);
    }

    diagnostic(text) {
        this.#texts.push(text);
    }

    /** Its turn: `t` tells what came of it. */
    async end(t) {
        for (const close of this.#closings.splice(0)) atEnd(t, close);
        this.after = (close) => atEnd(t, close);
        for (const text of this.#texts.splice(0)) t.diagnostic(text);
        this.diagnostic = (text) => t.diagnostic(text);
        await this.#run;
    }
}

async function endOfTest() {
    waiting--;
    if (waiting > 0 && !IS_FILTERED) return;
    try {
        for (const close of fileEnds.splice(0)) await close();
    } finally {
        if (waiting === 0) watchdog = setTimeout(giveUp, REST).unref();
    }
}

/** What is still open would keep this process, and with it the whole run of tests, for ever. Its tests have their results. */
function giveUp() {
    console.error(`${process.argv[1]} does not end; still open: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit();
}
