// schedule.mjs - runs the programs of unit tests and the files of integration tests side by side, as many as the machine
// takes, the long ones first, and says where the time went.
//
//   node tests/schedule.mjs BUILD [PROGRAM…] [FILE…]
//
// PROGRAM: a name that ctest knows, as `store`; FILE: the path of integration tests. BUILD has the programs, and gets `test-logs/`: what each of them
// wrote, the times of all tests, and `sum`. While it runs there is a line a program or file (on a terminal one that moves);
// what failed is shown. The last line, which is also in `sum`, is "N passed, N failed"; the exit status says the same.
// Ctrl-C ends all that runs.
//
// Variables: JOBS (places; a light file takes one of them, what starts a browser or a cluster two; default: three a
// processor, and for light ones as many more while the processors idle, for many of them only wait).
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, openSync, closeSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, getPriority } from 'node:os';
import { basename, join, resolve } from 'node:path';

/** After that it is ended, and has failed, ms. */
const LIMIT = 15 * 60_000;
/** A file that takes longer is named at the end, ms. */
const SLOW = 60_000;

const [build, ...names] = process.argv.slice(2);
if (!build || names.length === 0) {
    console.error('usage: node tests/schedule.mjs BUILD [PROGRAM…] [FILE…]');
    process.exit(2);
}

const processors = availableParallelism?.() ?? cpus().length;
const places = Number(process.env.JOBS) || 3 * processors;
/** More of them than that, for light jobs, where a processor has nothing to do: if all that the machine counts are ours. */
const morePlaces = process.env.JOBS || cpus().length > processors ? 0 : 3 * processors;
/** How long it looks what the processors do, ms; and the part of that in which one has to be without work. */
const LOOK = 1500, IDLE = 0.4;
const outputs = join(build, 'test-logs');
const memory = join(build, 'test-times.json'); // how long what took the last time

// --- what there is to do ---------------------------------------------------------------------------------------

/**
 * What is known to take long, and so begins before the others, in seconds: with a build that has run before, what it
 * took then.
 */
const LONG = {
    'unit store memory': 100, 'unit store recovery': 150, 'unit store postgres n-z': 120, 'unit store postgres a-m': 110, 'unit store others': 90,
    'unit store sqlite': 80, 'unit run': 60, 'unit app': 55, 'unit webhook': 50, 'unit loop': 30, 'unit body': 30,
    memory: 75, killpoints: 75, 'webhook-isolation': 65, 'dashboard-streams': 55, vanished: 55, limits: 55, 'dashboard-trouble': 55, overview: 50,
    'dashboard-admin': 45, 'replicas-death': 45, 'dashboard-runs': 45, supervision: 45, 'dashboard-run': 45, 'replicas-view': 40,
    'streams-follow': 40, 'replicas-faults': 40, 'dashboard-overview': 40, 'replicas-events': 40, clock: 40, 'webhook-dns': 35, 'slow-disk': 35,
    'replicas-streams': 35, retention: 35, 'store-cli': 35, 'dashboard-following': 35, 'name-lookup': 35, backpressure: 35, 'replicas-doubt': 35,
    'webhook-retry': 35, 'replicas-failover': 35, 'replicas-webhooks': 30, diskfull: 30, 'dashboard-habits': 30, 'dashboard-lists': 30, commands: 30,
    'http/request': 30, 'function-c': 30, streams: 30, dev: 30, readiness: 30, frameworks: 25, 'webhook-egress': 25, jwks: 25, 'webhook-kills': 25,
    'idle-exit': 50, 'replicas-idle': 40, 'rest-destinations': 25, 'streams-cut': 25, 'postgres-start': 25, 'rest-deliveries': 25, 'dashboard-progress': 25, cli: 25,
    logs: 25, 'streams-limits': 25, 'webhook-envelope': 25, 'app-gate': 25, 'dashboard-people': 20, auth: 20, 'store-backup': 20,
    'dashboard-playground': 20, lifecycle: 20, async: 20, kill: 20, 'webhook-policy': 20, 'streams-kill': 20,
};

/** The store's program is run several times: its suites on PostgreSQL, and what is killed, take as long as all others. */
const KILLED = 'recovery|power_loss|fault|model|shed';
const PARTS = {
    store: {
        'postgres a-m': ['--filter', 'postgres/[a-m]*'], 'postgres n-z': ['--filter', '@(postgres/[!a-m]*|postgres_*/*)'],
        sqlite: ['--filter', 'sqlite/*'], memory: ['--filter', 'memory/*'], recovery: ['--filter', `@(${KILLED})/*`],
        others: ['--filter', `!(postgres*|sqlite|memory|${KILLED})/*`],
    },
};

function jobsOf(name) {
    if (name.endsWith('.test.mjs')) return [integration(name)];
    const program = programs().get(name);
    if (!program) throw new Error(`there is no program of tests called ${name}`);
    const parts = PARTS[name] ?? { '': [] };
    return Object.entries(parts).map(([part, filter]) => unit(`unit ${name}${part && ` ${part}`}`, program, filter));
}

/** name → { command, cwd }: as CMake has told ctest. */
function programs() {
    const text = execFileSync('ctest', ['--test-dir', build, '--show-only=json-v1'], { encoding: 'utf8' });
    const directory = (properties) => properties.find(({ name }) => name === 'WORKING_DIRECTORY')?.value;
    return new Map(JSON.parse(text).tests.map(({ name, command, properties }) =>
        [name, { command, cwd: directory(properties) ?? build }]));
}

/** Criterion runs a program's cases in turn: it leaks a little when it runs them side by side. */
function unit(name, { command, cwd }, filter) {
    return {
        name, weight: 1, command: [...command, ...filter], cwd,
        env: { CRITERION_JOBS: '1', CRITERION_VERBOSITY_LEVEL: '1' }, read: readCriterion,
    };
}

function integration(path) {
    const text = readFileSync(path, 'utf8');
    const name = basename(path, '.test.mjs');
    const tap = join(outputs, `${name}.tap`);
    return {
        name: path.includes('/http/') ? `http/${name}` : name,
        weight: /lib\/(browser|replicas|refusing)\.mjs|\bcluster\(/.test(text) ? 2 : 1,
        command: [process.execPath, '--test-reporter=tap', `--test-reporter-destination=${tap}`, path],
        cwd: process.cwd(), env: {}, tap, read: readTap,
    };
}

// --- what came of it -------------------------------------------------------------------------------------------

/**
 * "[PASS] suite::case: (0.01s)" and "[====] Synthesis: Tested: 41 | Passing: 41 | Failing: 0 | Crashing: 0". A program
 * without that line is one test; one that fails although its cases all passed (a leak at its end) is a failure more, as
 * is a case that passed and then crashed in what ends it, of which criterion only warns, or leaked, of which it says
 * nothing. (One that failed leaks what it would have freed.)
 */
function readCriterion({ text, status }) {
    const tests = [...text.matchAll(/^\[(PASS|FAIL)\] (\S+?)(?:: \((\d+\.\d+)s\))?$/gm)]
        .map(([, , name, seconds]) => ({ name, ms: 1000 * Number(seconds ?? 0) }));
    const sum = /Synthesis: .*Tested: .*Passing: .*?(\d+).*Failing: .*?(\d+).*Crashing: .*?(\d+)/.exec(plain(text));
    if (!sum) return { tests, passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1 };
    const [, passed, failing, crashing] = sum.map(Number);
    const late = plain(text).match(/ed during its setup or teardown/g)?.length ?? 0;
    const leaks = text.match(/ERROR: LeakSanitizer/g)?.length ?? 0;
    const failed = failing + crashing + late || leaks;
    return { tests, passed, failed: status !== 0 && failed === 0 ? 1 : failed };
}

const plain = (text) => text.replace(/\x1b\[[\d;]*m/g, '');

/** What Node's test runner wrote of a file; one that did not come to its end has failed. */
function readTap({ job, status, text }) {
    let tap = '';
    try {
        tap = readFileSync(job.tap, 'utf8');
    } catch {} // it ended before it had said anything
    const tests = [...tap.matchAll(/^( *)(?:not )?ok \d+ - (.*)\n\1  ---\n\1  duration_ms: ([\d.]+)/gm)]
        .map(([, , name, ms]) => ({ name, ms: Number(ms) }));
    const count = (what) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(tap)?.[1] ?? NaN);
    if (Number.isNaN(count('pass')) && /does not end; still open/.test(text)) return countLines(tap, tests); // case.mjs: all tests are over
    if (Number.isNaN(count('pass'))) return { tests, passed: 0, failed: 1, shown: `it did not come to its end\n${tap.split('\n').slice(-15).join('\n')}\n` };
    const failed = count('fail') + count('cancelled');
    return {
        tests, tap, passed: count('pass'), skipped: count('skipped'), failed: failed || (status === 0 ? 0 : 1), shown: failuresOf(tap),
    };
}

function countLines(tap, tests) {
    const count = (pattern) => tap.match(pattern)?.length ?? 0;
    const skipped = count(/^ok \d+ - .* # SKIP/gm);
    return { tests, tap, passed: count(/^ok /gm) - skipped, skipped, failed: count(/^not ok /gm), shown: failuresOf(tap) };
}

/** The parts of it that tell of what failed. */
function failuresOf(tap) {
    const blocks = tap.match(/^( *)not ok .*\n(?:\1  ---\n[^]*?\n\1  \.\.\.\n)?(?:\1# (?!Subtest).*\n)*/gm) ?? [];
    return blocks.join('').split('\n').map(shorten).join('\n');
}

// --- running ---------------------------------------------------------------------------------------------------

const running = new Set();
let isEnding = false;

/** Resolves with { status, text, ms, cpu }. */
function run(job) {
    const file = join(outputs, `${job.name.replace(/\W+/g, '-')}.log`);
    const log = openSync(file, 'w');
    const times = 'exec 4>&2; TIMEFORMAT="%U %S"; { time "$@" 2>&4; } 2>&3';
    const began = performance.now();
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined, ...job.env }; // each Node would read the machine's for 30 ms
    const child = spawn('bash', ['-c', times, '-', ...job.command], {
        cwd: job.cwd, env, stdio: ['ignore', log, log, 'pipe'], detached: true,
    });
    closeSync(log);
    let spent = '';
    child.stdio[3].setEncoding('utf8').on('data', (text) => (spent += text));
    running.add(child);
    const timer = setTimeout(() => end(child), LIMIT);
    return new Promise((done) => child.once('exit', (code) => {
        clearTimeout(timer);
        running.delete(child);
        setImmediate(() => {
            child.stdio[3].destroy(); // what the job left behind may hold its other end
            const cpu = spent.trim().split(/\s+/).reduce((sum, s) => sum + Number(s), 0) || 0;
            done({ job, status: code ?? 1, text: readFileSync(file, 'utf8'), ms: performance.now() - began, cpu });
        });
    }));
}

/** With all that it has started; what is left of those after 3 s is killed. (Criterion makes process groups of its own.) */
function end(child) {
    const signal = (name) => execFile('pkill', [`-${name}`, '-s', String(child.pid)], () => {});
    signal('TERM');
    setTimeout(() => signal('KILL'), 3000);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => {
        isEnding = true;
        running.forEach(end);
    });

function byLength(jobs) {
    let known = {};
    try {
        known = JSON.parse(readFileSync(memory, 'utf8'));
    } catch {} // the first run
    const length = ({ name, weight }) => known[name] ?? LONG[name] ?? 10 * weight;
    return jobs.sort((a, b) => length(b) - length(a));
}

/** How many processors, on the average, had no work since it was asked last; where we are not nice, what is nice counts as none. */
function idleMeter() {
    const givesWay = getPriority() > 0 ? 0 : 1;
    const read = () => cpus().reduce((sum, { times: { user, nice, sys, idle, irq } }) => ({
        idle: sum.idle + idle + givesWay * nice, all: sum.all + user + nice + sys + idle + irq,
    }), { idle: 0, all: 0 });
    let last = read();
    return () => {
        const now = read(), before = last;
        last = now;
        return (cpus().length * (now.idle - before.idle)) / (now.all - before.all || 1);
    };
}

const results = [];

async function runAll(jobs) {
    const queue = byLength(jobs);
    const total = queue.length;
    const free = { places, more: morePlaces };
    const idle = idleMeter();
    let watch;
    await new Promise((done) => {
        const next = () => {
            while (!isEnding && queue.length && (free.places >= queue[0].weight || running.size === 0)) begin(queue.shift());
            if (running.size === 0 && (isEnding || queue.length === 0)) done();
        };
        const beginMore = () => {
            const light = queue.findIndex(({ weight }) => weight === 1);
            if (idle() >= IDLE && !isEnding && light >= 0 && free.more > 0) begin(queue.splice(light, 1)[0], 'more');
        };
        watch = setInterval(beginMore, LOOK);
        const begin = async (job, from = 'places') => {
            free[from] -= job.weight;
            const outcome = run(job);
            tell.running(job.name, true);
            const ended = await outcome;
            const result = { ...ended, ...job.read(ended) };
            results.push(result);
            free[from] += job.weight;
            tell.running(job.name, false);
            tell.line(result, results.length, total);
            next();
        };
        next();
    });
    clearInterval(watch);
    return total;
}

// --- telling ---------------------------------------------------------------------------------------------------

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

const tell = {
    now: new Set(),
    running(name, is) {
        if (is) this.now.add(name);
        else this.now.delete(name);
        if (process.stdout.isTTY) this.move();
    },
    /** On a terminal one line says what runs. */
    move() {
        const width = process.stdout.columns ?? 80;
        process.stdout.write(`\r\x1b[K${`${results.length} done; ${[...this.now].join(' ')}`.slice(0, width - 1)}`);
    },
    line({ job, passed, failed, skipped, ms, shown, text }, n, total) {
        const counts = [`${passed} passed`, failed && `${failed} FAILED`, skipped && `${skipped} skipped`].filter(Boolean);
        if (process.stdout.isTTY && !failed) return this.move();
        if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
        console.log(`[${String(n).padStart(3)}/${total}] ${seconds(ms).padStart(8)}  ${job.name}: ${counts.join(', ')}`);
        if (failed) console.log(indent(`${shown ?? ''}${shown && !text ? '' : lastOf(text)}`));
    },
};

const indent = (text) => text.trimEnd().replace(/^/gm, '    ');

/** A sidecar's whole log may stand in one line. */
const shorten = (line) => (line.length > 2000 ? `${line.slice(0, 1000)} … ${line.slice(-1000)}` : line);

/** What a program said of its failures, else its last lines. */
function lastOf(text) {
    const lines = plain(text).split('\n');
    const telling = lines.filter((line) => /^\[(FAIL|----)\]|Synthesis|Sanitizer|runtime error|setup or teardown/.test(line));
    return (telling.length ? telling.slice(0, 60) : lines.slice(-40)).map(shorten).join('\n');
}

function tellTimes() {
    const tests = results.flatMap(({ job, tests }) => tests.map((test) => ({ ...test, file: job.name })));
    const longest = (list, n) => list.sort((a, b) => b.ms - a.ms).slice(0, n);
    const table = (title, rows) => console.log(`\n${title}\n${rows.join('\n')}`);
    table('The slowest tests:', longest(tests, 25).map(({ ms, file, name }) => `${seconds(ms).padStart(9)}  ${file}: ${name}`));
    table('The slowest files (and what they computed):', longest([...results], 10).map(({ ms, cpu, job }) =>
        `${seconds(ms).padStart(9)}  (${cpu.toFixed(1)} s)  ${job.name}`));
    const slow = results.filter(({ ms }) => ms > SLOW).map(({ job }) => job.name);
    if (slow.length) console.log(`\nToo slow, over ${SLOW / 1000} s: ${slow.join(', ')}`);
    const cpu = results.reduce((sum, result) => sum + result.cpu, 0);
    const beside = ofPostgres();
    console.log(`\n${tests.length} times are in ${memory}; all together computed ${Math.round(cpu)} s${
        beside ? `, the PostgreSQL that they share ${Math.round(beside)} s` : ''}.`);
    writeFileSync(memory, JSON.stringify(Object.fromEntries(results.map(({ job, ms }) => [job.name, ms / 1000]))));
    writeFileSync(join(outputs, 'times.json'),
        JSON.stringify(results.map(({ job, ms, cpu, tests, passed, failed, skipped }) => ({ name: job.name, ms, cpu, passed, failed, skipped, tests }))));
}

/** What the server computed that tests/run.sh has started, in seconds: its sessions are nobody's who waits here. 0: there is none. */
function ofPostgres() {
    const spent = (pid, of) => of.reduce((sum, field) =>
        sum + Number(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ')[field]), 0);
    try {
        const [main] = readFileSync(join(process.env.HOOKLINE_TEST_CLUSTER, 'data', 'postmaster.pid'), 'utf8').split('\n');
        const sessions = readFileSync(`/proc/${main}/task/${main}/children`, 'utf8').trim().split(' ').filter(Boolean);
        const ticks = sessions.reduce((sum, pid) => sum + spent(pid, [11, 12]), spent(main, [11, 12, 13, 14]));
        return ticks / 100;
    } catch {
        return 0; // none, or a session has just ended
    }
}

/** Once more at the end, where whoever sees only that finds them. */
function tellFailures() {
    const names = ({ tap, text }) => [
        ...(tap ?? '').matchAll(/^ *not ok \d+ - (.*)/gm), ...text.matchAll(/^\[FAIL\] (\S+?):?(?: |$)/gm),
    ].map(([, name]) => name);
    const lines = results.filter(({ failed }) => failed).map((result) => `${result.job.name}: ${names(result).join('; ') || 'see above'}`);
    if (lines.length) console.log(`\nFailed:\n${lines.join('\n')}`);
}

rmSync(outputs, { recursive: true, force: true });
mkdirSync(outputs, { recursive: true });
const total = await runAll([...new Set(names.map((name) => (name.endsWith('.mjs') ? resolve(name) : name)))].flatMap(jobsOf));
if (isEnding) await new Promise((done) => setTimeout(done, 3500)); // what is left is killed
if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
if (results.length) tellTimes();
tellFailures();
const sum = (what) => results.reduce((all, result) => all + result[what], 0);
const failed = sum('failed') + (results.length < total ? 1 : 0);
const line = `${sum('passed')} passed, ${failed} failed`;
writeFileSync(join(outputs, 'sum'), `${line}\n`);
console.log(`\n${line}`);
process.exit(failed ? 1 : 0);
