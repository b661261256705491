// function.mjs - runs a function host (hookline-function, or another command that speaks like it), and
// holds it to what every test expects: log lines are JSON, no sanitizer report, exit status 0.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { atEnd, withUs } from './cleanup.mjs';
import { onFailure } from './case.mjs';
import { requestGroups } from '../http/cases/index.mjs';
import { connect } from './raw.mjs';
import { BINARY, temporaryDirectory } from './sidecar.mjs';
import { until, within } from './until.mjs';

export const FUNCTION_BINARY =
    process.env.HOOKLINE_FUNCTION_BIN ?? join(dirname(BINARY), 'hookline-function');
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SANITIZER = /(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:)/;

/** Compiles functions as a user does, with warnings as errors; answers the path of the object. */
export async function compile(t, source, { flags = [] } = {}) {
    const output = join(await temporaryDirectory(t), 'functions.so');
    const strict = ['-Wall', '-Wextra', '-Wpedantic', '-Werror'];
    const args = [...strict, ...flags, '-O2', '-shared', '-fPIC', '-o', output, source];
    await promisify(execFile)('cc', [`-I${join(ROOT, 'include')}`, ...args]);
    return output;
}

/** Functions given as text. */
export async function compileText(t, text) {
    const path = join(await temporaryDirectory(t), 'functions.c');
    await writeFile(path, text);
    return compile(t, path);
}

/** A file of the repository. */
export const inRepository = (path) => join(ROOT, path);

/** Runs the host to its end: `{ code, signal, stdout, stderr }`. */
export async function runHost(args, env = {}, command = FUNCTION_BINARY) {
    const host = new Host(command, args, env);
    host.start();
    return { ...(await host.exited()), stdout: host.stdout, stderr: host.stderr };
}

/** Starts `command args` with `env` and waits until it listens. Ends it with the test. */
export async function startHost(t, args, env = {}, command = FUNCTION_BINARY) {
    const host = new Host(command, args, env);
    onFailure(t, () => host.stderr);
    atEnd(t, () => host.stop());
    host.start();
    await until('the function host listens', () => {
        if (!host.isRunning) throw new Error(`the host ended:\n${host.stderr}`);
        return host.address;
    });
    return host;
}

/** All that the proxy refuses of requests, sent to a host: it refuses them as well. */
export async function sendHostile(t, host) {
    const hostile = requestGroups
        .flatMap(({ title, cases }) => cases.map((c) => ({ ...c, title })))
        .filter(({ allow, send, end }) => allow && send && !end && Object.keys(allow).join() === 'refused')
        // Refused for what a proxy does, and not for what the bytes are: these methods and upgrades.
        .filter(({ title }) => !/upgrade/i.test(title));
    assert.ok(hostile.length > 100, `${hostile.length} cases`);
    for (const { title, name, send, allow } of hostile) {
        const client = await connect(t, host);
        await client.send(send);
        const head = await within(name, client.responseHead()).catch(() => null);
        const allowed = allow.refused === true ? null : [allow.refused].flat();
        if (head) assert.ok(head.status >= 400, `${title}: ${name}: ${head.status}`);
        if (head && allowed) {
            assert.ok(
                allowed.includes(head.status) || [404, 405].includes(head.status),
                `${title}: ${name}: ${head.status}, allowed ${allowed}`,
            );
        }
        client.close();
    }
}

export class Host {
    #child;
    #exit;
    stdout = '';
    stderr = '';
    /** Set by a test that makes the host end badly. */
    mayFail = false;

    constructor(command, args, env) {
        this.command = [command, ...args];
        this.env = env;
    }

    start() {
        const [command, ...args] = this.command;
        const child = spawn(command, args, {
            env: {
                PATH: process.env.PATH,
                ASAN_OPTIONS: 'exitcode=99:detect_leaks=1:quarantine_size_mb=16',
                UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
                PORT: '0',
                HOOKLINE_LOG_FORMAT: 'json',
                ...this.env,
            },
            stdio: ['ignore', 'pipe', 'pipe'],
        });
        this.#child = withUs(child);
        for (const name of ['stdout', 'stderr']) {
            this.#child[name].setEncoding('utf8').on('data', (text) => (this[name] += text));
        }
        this.#exit = once(this.#child, 'close');
    }

    get pid() {
        return this.#child.pid;
    }

    get isRunning() {
        return this.#child.exitCode === null && this.#child.signalCode === null;
    }

    /** Log lines, parsed; what is no JSON object is left out. */
    get log() {
        const lines = this.stderr.split('\n').filter((line) => line.startsWith('{'));
        return lines.flatMap((line) => {
            try {
                return [JSON.parse(line)];
            } catch {
                return [];
            }
        });
    }

    /** Where it listens, as its log says: "127.0.0.1 port 4711", "127.0.0.1:4711" or "unix:/path". */
    get address() {
        return this.log.find(({ msg }) => msg === 'listening')?.address;
    }

    get port() {
        return Number(this.address.match(/(?: port |:)(\d+)$/)[1]);
    }

    /** What HOOKLINE_APP_URL takes. */
    get url() {
        return this.address.startsWith('unix:') ? this.address : `http://127.0.0.1:${this.port}`;
    }

    /** One request on a connection of its own: `{ status, headers, text, json() }`. */
    call(name, input, { method = 'POST', headers = {}, signal } = {}) {
        const where = this.address.startsWith('unix:')
            ? { socketPath: this.address.slice(5) }
            : { port: this.port, host: '127.0.0.1' };
        const isText = input === undefined || typeof input === 'string' || Buffer.isBuffer(input);
        const body = isText ? input : JSON.stringify(input);
        return new Promise((resolve, reject) => {
            const json = body === undefined ? {} : { 'Content-Type': 'application/json' };
            const options = { ...where, path: `/${name}`, method, agent: false, signal };
            const request = http.request(
                { ...options, headers: { ...json, ...headers } },
                (response) => {
                    const chunks = [];
                    response.on('data', (chunk) => chunks.push(chunk));
                    response.on('error', reject);
                    response.on('end', () => {
                        const bytes = Buffer.concat(chunks);
                        resolve({
                            status: response.statusCode,
                            headers: response.headers,
                            body: bytes,
                            text: bytes.toString(),
                            json: () => JSON.parse(bytes),
                        });
                    });
                },
            );
            request.on('error', reject);
            request.end(body);
        });
    }

    signal(name) {
        this.#child.kill(name);
    }

    /** `{ code, signal }` once the process has ended. */
    async exited() {
        const [code, signal] = await this.#exit;
        if (SANITIZER.test(this.stderr) && !this.mayFail) throw new Error(this.stderr);
        return { code, signal };
    }

    /** SIGTERM; anything but exit status 0 is a failure, unless the test said so. */
    async stop() {
        if (this.isRunning) this.signal('SIGTERM');
        const last = setTimeout(() => this.signal('SIGKILL'), 50_000);
        const { code, signal } = await this.exited();
        clearTimeout(last);
        if (code !== 0 && !this.mayFail) {
            throw new Error(`the host ended with ${code ?? signal}:\n${this.stderr}`);
        }
    }
}
