// sidecar.mjs - runs the real binary (HOOKLINE_BIN) with a data directory and ports of its own, and
// holds it to what every test expects: log lines are JSON, no sanitizer report, exit status 0.
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd, withUs } from './cleanup.mjs';
import { assertDescribed, isDescribed } from './openapi.mjs';
import { parseMetrics } from './prometheus.mjs';
import { onFailure } from './case.mjs';
import { LogLines } from './loglines.mjs';
import { rowsOf } from './sqlite.mjs';
import { until } from './until.mjs';

export const BINARY = process.env.HOOKLINE_BIN ?? '/usr/local/bin/hookline';
const SANITIZER = /(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:)/;

/** What a test gets unless it says otherwise: callers without tokens, loopback receivers allowed, a quick end. */
const DEFAULTS = {
    HOOKLINE_AUTH: 'none',
    HOOKLINE_WORKERS: '2',
    HOOKLINE_LOG_FORMAT: 'json',
    HOOKLINE_LOG_LEVEL: 'debug',
    HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8',
    HOOKLINE_SHUTDOWN_DELAY: '0s',
    HOOKLINE_DRAIN_TIMEOUT: '500ms',
};

/** Nothing of the machine's own environment: a proxy variable there must not decide a test. */
const surroundings = {
    PATH: process.env.PATH,
    ASAN_OPTIONS: 'exitcode=99:detect_leaks=1:quarantine_size_mb=16',
    UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
    TSAN_OPTIONS: 'exitcode=99',
};

/**
 * A TCP port that nothing listens on, below the range that outgoing connections take theirs from. The
 * UDP port of the same number is held as long as this process lives: no other test gets it.
 */
export async function freePort() {
    for (;;) {
        const port = 12_000 + Math.floor(Math.random() * 20_000);
        const lock = createSocket('udp4').unref();
        if (!(await binds(lock, (done) => lock.bind({ port, address: '127.0.0.1' }, done))))
            continue;
        const probe = net.createServer();
        if (!(await binds(probe, (done) => probe.listen(port, '127.0.0.1', done)))) continue;
        await new Promise((resolve) => probe.close(resolve));
        return port;
    }
}

function binds(socket, bind) {
    return new Promise((resolve) => {
        socket.once('error', () => resolve(false));
        bind(() => resolve(true));
    });
}

/** For a start that nothing is said about: the usual ports may be another's, for as long as that runs. */
const ANY_PORTS = { HOOKLINE_LISTEN: '127.0.0.1:0', HOOKLINE_ADMIN_LISTEN: '127.0.0.1:0' };

/** Runs the binary to its end: `{ code, stdout, stderr }`. `killed`: once that is resolved, by SIGKILL. */
export async function run(args, env = {}, { input, killed, interrupted } = {}) {
    const limits = { timeout: 60_000, killSignal: 'SIGKILL' }; // one that does not end must not outlive its test
    const opens = args.length === 0 || args[0] === 'serve' || args[1] === 'check'; // which looks whether ports are free
    const ports = opens ? ANY_PORTS : {};
    const child = spawn(BINARY, args, { env: { ...surroundings, ...ports, ...env }, stdio: 'pipe', ...limits });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) {
        child[name].setEncoding('utf8').on('data', (text) => (output[name] += text));
    }
    child.stdin.on('error', () => {}); // it may end without having read its input
    child.stdin.end(input);
    killed?.then(() => child.kill('SIGKILL'));
    interrupted?.then(() => child.kill('SIGINT'));
    const [code, signal] = await once(child, 'close');
    if (SANITIZER.test(output.stderr)) throw new Error(output.stderr);
    return { code, signal, ...output };
}

/** A GET on a connection of its own; null when nothing answers. */
function get(url) {
    return new Promise((resolve) => {
        const request = http.get(url, { agent: false, timeout: 20_000 }, (response) => {
            let text = '';
            response.setEncoding('utf8').on('data', (piece) => (text += piece));
            response.on('end', () =>
                resolve({ status: response.statusCode, headers: response.headers, text }),
            );
            response.on('error', () => resolve(null));
        });
        request.on('timeout', () => request.destroy());
        request.on('error', () => resolve(null));
    });
}

/** The lines of a metric's family: the whole is a thousand, and waits ask again and again. */
function familyIn(text, name) {
    const family = name.replace(/_(bucket|sum|count)$/, '');
    const isIts = (line) => line.startsWith(family, line.startsWith('# ') ? '# HELP '.length : 0);
    return text.split('\n').filter(isIts).map((line) => `${line}\n`).join('');
}

/** Anything that looks like a token or a webhook secret, and what this sidecar's own secrets are. */
const SECRETS = /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|\bwhsec_[\w+/=]{16,}|-----BEGIN [A-Z ]*PRIVATE/;

/** The first secret that stands in an output, or undefined: all of every sidecar's output goes through here. */
export function findSecret(text, env) {
    const own = ['JWT_SECRET', 'WEBHOOK_SECRET', 'KEY', 'PREVIOUS_KEY'].map((name) => env[`HOOKLINE_${name}`]);
    own.push(passwordOf(env.HOOKLINE_POSTGRES_URL));
    return SECRETS.exec(text)?.[0] ?? own.find((secret) => secret && text.includes(secret));
}

/** Of a URI or of keywords (libpq has both); undefined where there is none. */
function passwordOf(url = '') {
    const [, inUri, asKeyword] = /:\/\/[^:@/]*:([^@/]+)@|\bpassword='?([^\s'&]+)/.exec(url) ?? [];
    return inUri ?? asKeyword;
}

export class Sidecar {
    #child;
    #exit;
    #output = new LogLines();
    /** Log lines, parsed. */
    log = this.#output.log;
    /** Lines on stderr that are no JSON objects. */
    noise = this.#output.noise;

    /** It is not started again: a test that was given up may go on and try. */
    isOver = false;

    constructor(env, dataDir, command = [BINARY]) {
        this.env = env;
        this.dataDir = dataDir;
        this.command = command;
    }

    get url() {
        return `http://127.0.0.1:${this.port}`;
    }

    get adminUrl() {
        return `http://127.0.0.1:${this.adminPort}`;
    }

    get pid() {
        return this.#child.pid;
    }

    get isRunning() {
        return this.#child.exitCode === null && this.#child.signalCode === null;
    }

    /** Everything that went to stderr, over all starts. */
    get stderr() {
        return this.#output.text;
    }

    /** Starts it and waits until `until` (healthz, readyz, or nothing) answers 200. */
    async start(wait = 'readyz') {
        this.port ??= await freePort();
        this.adminPort ??= await freePort();
        if (this.isOver) throw new Error('the test has ended');
        const [program, ...args] = this.command;
        const child = spawn(program, args, {
            env: {
                ...surroundings,
                ...DEFAULTS,
                HOOKLINE_LISTEN: `127.0.0.1:${this.port}`,
                HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${this.adminPort}`,
                HOOKLINE_DATA_DIR: this.dataDir,
                ...this.env,
            },
            stdio: ['ignore', 'inherit', 'pipe'],
        });
        this.#child = withUs(child);
        this.#output.read(child.stderr);
        this.#exit = once(this.#child, 'close');
        if (wait) await this.until(wait);
        return this;
    }

    /** Waits until `/_hookline/<path>` answers `status`; fails at once when the process ends instead. */
    async until(path, status = 200) {
        await until(`${path} answers ${status}`, async () => {
            if (!this.isRunning) {
                await this.exited(); // what it said last has been read then
                throw new Error(`hookline ended:\n${this.stderr}`);
            }
            return (await this.probe(`/_hookline/${path}`)) === status;
        });
    }

    /** The status of a GET on the run listener, or null when nothing answers. */
    async probe(path) {
        return (await get(this.url + path))?.status ?? null;
    }

    /** The admin listener's answer to a GET: `{ status, headers, text }`. */
    async admin(path) {
        const answer = await get(this.adminUrl + path);
        if (answer && isDescribed(path)) assertDescribed('GET', path, { ...answer, body: answer.text });
        return answer;
    }

    /** Metric families as prometheus.mjs reads them. */
    async metrics() {
        return parseMetrics((await this.admin('/metrics')).text);
    }

    /** The sum of a metric's samples that carry these labels; undefined when there is no such metric. */
    async metric(name, labels = {}) {
        const { text } = await this.admin('/metrics');
        const ofFamily = familyIn(text, name);
        if (!ofFamily) return undefined;
        const samples = parseMetrics(ofFamily)
            .flatMap((family) => family.samples)
            .filter(
                (s) =>
                    s.name === name && Object.entries(labels).every(([k, v]) => s.labels[k] === v),
            );
        return samples.length ? samples.reduce((sum, { value }) => sum + value, 0) : undefined;
    }

    /** The first line of the log that fits: a thread writes it, so it may come after what it speaks of. */
    logged(fits) {
        return until('a line in the log', () => this.log.find(fits));
    }

    signal(name) {
        this.#child.kill(name);
    }

    /** `{ code, signal }` once the process has ended. */
    async exited() {
        const [code, signal] = await this.#exit;
        return { code, signal };
    }

    /** SIGTERM, and a second one when it does not end soon; anything but exit status 0, or 3 where the drain limit has cut something, is a failure. */
    async stop() {
        if (this.isRunning) {
            this.signal('SIGTERM');
            const again = setTimeout(() => this.signal('SIGTERM'), 8_000);
            const last = setTimeout(() => this.signal('SIGABRT'), 50_000);
            const { code, signal } = await this.exited();
            clearTimeout(again);
            clearTimeout(last);
            const isCut = code === 3 && this.stderr.includes('HOOKLINE_DRAIN_TIMEOUT has passed');
            if (code !== 0 && !isCut)
                throw new Error(`hookline ended with ${code ?? signal}:\n${this.tail()}`);
        }
        this.check();
    }

    /** For good. */
    end() {
        this.isOver = true;
        return this.stop();
    }

    async kill() {
        this.signal('SIGKILL');
        await this.exited();
    }

    /** Starts again on the same data directory and ports. */
    async restart(env = {}, wait = 'readyz') {
        if (this.isRunning) await this.stop();
        Object.assign(this.env, env);
        return this.start(wait);
    }

    check() {
        if (SANITIZER.test(this.stderr)) throw new Error(this.noise.join('\n'));
        const leak = findSecret(this.stderr, { ...DEFAULTS, ...this.env });
        if (leak) throw new Error(`a secret is in the log: ${leak}`);
        if (this.env.HOOKLINE_LOG_FORMAT === 'text') return;
        if (this.noise.length) throw new Error(`not a JSON log line: ${this.noise[0]}`);
    }

    tail(lines = 40) {
        return this.stderr.split('\n').slice(-lines).join('\n');
    }

    /** Anonymous memory in bytes. */
    async rssAnon() {
        const status = await readFile(`/proc/${this.pid}/status`, 'utf8');
        return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)[1]) * 1024;
    }

    /** Rows of the database, as objects. Only while no process has it open for writing. */
    async sql(query) {
        const names = await readdir(this.dataDir);
        const file = names.find((name) => /\.(db|sqlite3?)$/.test(name));
        return rowsOf(join(this.dataDir, file), query);
    }
}

/**
 * Starts a sidecar that ends with the test. Options: `env`, `wait` (see Sidecar.start), `dataDir`,
 * `command` (one that becomes the binary, in other surroundings).
 */
export async function startSidecar(t, { env = {}, wait = 'readyz', dataDir, command } = {}) {
    const directory = dataDir ?? (await temporaryDirectory(t));
    const sidecar = new Sidecar({ ...env }, directory, command);
    atEnd(t, () => sidecar.end());
    onFailure(t, () => sidecar.tail());
    await sidecar.start(wait);
    return sidecar;
}

export async function temporaryDirectory(t) {
    const directory = await mkdtemp(join(tmpdir(), 'hookline-test-'));
    atEnd(t, () => rm(directory, { recursive: true, force: true }));
    return directory;
}
