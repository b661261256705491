// fill.mjs - a data directory with a busy week in it: 100,000 runs of eleven apps with errors, tags, webhooks, dead
// letters, made by calls of a hookline whose clock stands where the week is. README.md says how to use it.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { answerOf, chance, makeRun, makeSteps, RECEIVERS } from './traffic.mjs';

const PROJECT = 'demo';
const BINARY = process.env.HOOKLINE_BIN ?? '/usr/local/bin/hookline';
const CLOCK = fileURLToPath(new URL('../../integration/lib/shifted_clock.c', import.meta.url));
/** Where it is looked at: what fails is tried again, requests are kept, and there is a log. */
const SERVED = {
    HOOKLINE_RUN_ATTEMPTS: '3',
    HOOKLINE_RUN_RETRY_ON: 'unreachable,reset,500,502,503',
    HOOKLINE_KEEP_REQUESTS: 'all',
    HOOKLINE_LOG_LEVEL: 'info',
};
const HOUR_MS = 3_600_000;
const LOOK_MS = 10;
const agent = new http.Agent({ keepAlive: true, maxSockets: 128 });

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A server on a port of the kernel's choice, or on `port`. */
async function listen(handler, port = 0) {
    const server = http.createServer(handler).listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
}

async function readBody(request) {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    return text;
}

/** The apps, all behind one port: what each run is to do stands in its body. */
function startApp() {
    return listen(async (request, response) => {
        const body = await readBody(request);
        if (request.method !== 'POST' || !body) return response.end('ok');
        const task = JSON.parse(body);
        await sleep(task.ms);
        const answer = answerOf(task.app, task);
        if (!answer) return request.socket.destroy();
        response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body);
    });
}

/** One server for each host of theirs, on the ports that it had before: `kept`. `week.hours`: how far its end is. */
async function startReceivers(next, week, kept) {
    const ports = existsSync(kept) ? JSON.parse(readFileSync(kept)) : [];
    const hosts = [];
    for (const { host } of RECEIVERS)
        hosts[host] ??= await listen(async (request, response) => {
            const { status, fails = 0, downFrom = 0 } = RECEIVERS.find(({ path }) => path === request.url) ?? {};
            await readBody(request);
            if (week.hours < downFrom) return request.socket.destroy();
            response.writeHead(status ?? (next() < fails ? 500 : 200)).end(next() < 0.01 ? 'thank you' : '');
        }, ports[host]);
    writeFileSync(kept, JSON.stringify(hosts.map((server) => server.address().port)));
    const urls = RECEIVERS.map(({ name, host, path }) => [name, `http://127.0.0.1:${hosts[host].address().port}${path}`]);
    return { hosts, urls: Object.fromEntries(urls) };
}

/** `{ status, text }` of an answer; status 0: there was none. */
function ask(url, { method = 'GET', headers = {}, body } = {}) {
    return new Promise((resolve) => {
        const request = http.request(url, { method, agent, headers }, async (response) => {
            const text = await readBody(response).catch(() => '');
            resolve({ status: response.statusCode, text });
        });
        request.on('error', () => resolve({ status: 0, text: '' }));
        request.end(body);
    });
}

/** A port that was free a moment ago: hookline tells the one that it was given, not the one that the kernel chose. */
async function freePort() {
    const server = await listen(() => {});
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}

/** `more`: of its environment. */
async function startHookline(dataDir, appPort, more = {}) {
    const at = { run: `127.0.0.1:${await freePort()}`, admin: `127.0.0.1:${await freePort()}` };
    const env = {
        PATH: process.env.PATH,
        HOOKLINE_APP_URL: `http://127.0.0.1:${appPort}`,
        HOOKLINE_DATA_DIR: dataDir,
        HOOKLINE_LISTEN: at.run,
        HOOKLINE_ADMIN_LISTEN: at.admin,
        HOOKLINE_AUTH: 'none',
        HOOKLINE_PROJECT_ID: PROJECT,
        HOOKLINE_RETENTION: '720h',
        HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8',
        HOOKLINE_LOG_LEVEL: 'error',
        HOOKLINE_SHUTDOWN_DELAY: '0s',
        ...more,
    };
    const child = spawn(BINARY, ['serve'], { env, stdio: ['ignore', 'ignore', openSync(join(dirname(dataDir), 'log'), 'a')] });
    const gone = once(child, 'exit').then(() => assert.ok(isStopping, 'hookline has ended'));
    let isStopping = false;
    const stop = () => {
        isStopping = true;
        child.kill('SIGTERM');
        return gone;
    };
    const isReady = async () => (await ask(`http://${at.admin}/readyz`)).status === 200;
    while (!(await Promise.race([isReady(), gone]))) await sleep(50);
    return { run: `http://${at.run}`, admin: `http://${at.admin}`, stop };
}

async function call(hookline, urls, run) {
    const query = new URLSearchParams({
        ...(!run.isSync && { async: 'true' }),
        ...(run.receiver && { webhookEndpoint: urls[run.receiver] }),
    });
    const headers = { 'content-type': 'application/json', 'x-run-tag': run.tags, ...(run.timeout && { 'x-run-timeout': run.timeout }) };
    const body = JSON.stringify({ ...run.body, app: run.app });
    const { status, text } = await ask(`${hookline.run}/v4/${PROJECT}/${run.app}${run.path}?${query}`, { method: 'POST', headers, body });
    if (run.isCancelled && status === 202)
        await ask(`${hookline.run}/v2/projects/${PROJECT}/apps/${run.app}/runs/${JSON.parse(text).run_id}/cancel`, { method: 'POST' });
}

/** Nothing is under way, twice: a run on its way from the queue to a worker is in no count. What waits for its time waits. */
async function settle(hookline) {
    for (let calm = 0; calm < 2; ) {
        const { current } = JSON.parse((await ask(`${hookline.admin}/v2/now?after=1`)).text);
        const { runs_queued, runs_in_flight, calls_in_flight, deliveries_in_flight } = current;
        calm = runs_queued + runs_in_flight + calls_in_flight + deliveries_in_flight ? 0 : calm + 1;
        await sleep(LOOK_MS);
    }
}

/** A clock for hookline, in a file that it reads: `set(ms)` moves it. */
function makeClock(dataDir) {
    const library = join(dirname(dataDir), 'shifted_clock.so'), path = join(dirname(dataDir), 'shift');
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, CLOCK]);
    writeFileSync(path, Buffer.alloc(8));
    const file = openSync(path, 'r+');
    return {
        env: { LD_PRELOAD: library, SHIFTED_CLOCK: path, ASAN_OPTIONS: 'verify_asan_link_order=0:detect_leaks=0' },
        set(ms) {
            const bytes = Buffer.alloc(8);
            bytes.writeBigInt64LE(BigInt(Math.round(ms)));
            writeSync(file, bytes, 0, 8, 0);
        },
    };
}

/** Plays the week, and stops. `tell`: how far it is. */
async function play(stage, { runs, days, dataDir, tell }) {
    const clock = makeClock(dataDir);
    const end = Date.now();
    const steps = makeSteps(runs, days);
    const place = (hours) => clock.set(end - hours * HOUR_MS - Date.now());
    place(steps[0][0]);
    const hookline = await startHookline(dataDir, stage.app.address().port, clock.env);
    const next = chance();
    let number = 0,
        kept = 0;
    for (const [hours, until] of steps) {
        stage.week.hours = hours;
        place(hours);
        const calls = [];
        while (kept < until) {
            const run = makeRun(next, number++, hours);
            calls.push(call(hookline, stage.urls, run));
            kept += isKept(run);
        }
        await Promise.all(calls);
        await settle(hookline);
        tell(kept);
    }
    await hookline.stop();
}

/** A synchronous call without a webhook is counted, and gone. */
function isKept({ isSync, receiver }) {
    return !isSync || receiver !== null;
}

/** As it is now, with a call each `every` ms (0: none), until somebody ends it. */
async function goOn(stage, dataDir, every) {
    const hookline = await startHookline(dataDir, stage.app.address().port, SERVED);
    stage.week.hours = 0;
    console.log(`dashboard: ${hookline.admin}/`);
    const next = chance(Date.now());
    let number = 1_000_000;
    const timer = every && setInterval(() => call(hookline, stage.urls, makeRun(next, number++, 0)), every);
    await Promise.race(['SIGINT', 'SIGTERM'].map((name) => once(process, name)));
    clearInterval(timer);
    await hookline.stop();
}

const { values } = parseArgs({
    options: {
        dir: { type: 'string' },
        runs: { type: 'string', default: '100000' },
        days: { type: 'string', default: '7' },
        serve: { type: 'boolean', default: false },
        only: { type: 'boolean', default: false },
        every: { type: 'string', default: '300' },
    },
});
if (!values.dir || (values.only && !values.serve)) {
    console.error('usage: fill.mjs --dir DIRECTORY [--runs 100000] [--days 7] [--serve [--only] [--every 300]]');
    process.exit(2);
}
const dataDir = join(values.dir, 'data');
mkdirSync(dataDir, { recursive: true });
const week = { hours: Infinity };
const stage = { app: await startApp(), week, ...(await startReceivers(chance(11), week, join(values.dir, 'ports'))) };
if (!values.only) {
    const began = Date.now();
    const tell = (n) => process.stderr.write(`\r${n} runs, ${Math.round((Date.now() - began) / 1000)} s`);
    await play(stage, { runs: Number(values.runs), days: Number(values.days), dataDir, tell });
    console.log(`\nin ${dataDir}`);
}
if (values.serve) await goOn(stage, dataDir, Number(values.every));
process.exit(0);
