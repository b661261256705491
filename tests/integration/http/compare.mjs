// compare.mjs - runs the whole suite against hookline and its peers and prints how many cases of each
// group they pass, as the table in README.md has it. With --failures: each case that failed, and why.
import { requestGroups, responseGroups } from './cases/index.mjs';
import { startStage } from './lib/proxy.mjs';
import { DELIVERIES, runCase } from './lib/run-case.mjs';

const PROXIES = { hookline: 'hookline', haproxy: 'HAProxy', nginx: 'nginx' };
const GROUPS = [...requestGroups, ...responseGroups];
const AT_ONCE = 4;

/** How many cases of the group the proxy passes, in every delivery. */
async function count(proxy, { cases }) {
    const ends = [];
    const stage = await startStage({ after: (end) => ends.push(end) }, proxy);
    let passed = 0;
    for (const theCase of cases) passed += await passes(stage, theCase, proxy);
    for (const end of ends) await end();
    return passed;
}

async function passes(stage, theCase, proxy) {
    for (const delivery of DELIVERIES) {
        try {
            await runCase(stage, theCase, delivery);
        } catch (error) {
            if (process.argv.includes('--failures')) console.error(`${proxy}: ${error.message}\n`);
            return false;
        }
    }
    return true;
}

async function countAll(proxy) {
    const counts = new Map();
    const waiting = [...GROUPS];
    const work = async () => {
        for (let group; (group = waiting.shift());) counts.set(group, await count(proxy, group));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return counts;
}

const results = [];
for (const proxy of Object.keys(PROXIES)) results.push(await countAll(proxy));

const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
row('group', 'cases', ...Object.values(PROXIES));
row('---', '---:', ...Object.keys(PROXIES).map(() => '---:'));
for (const group of GROUPS)
    row(group.title, group.cases.length, ...results.map((r) => r.get(group)));
row('**all**', sum(GROUPS.map((g) => g.cases.length)), ...results.map((r) => sum([...r.values()])));
