// python.mjs - runs a function-style Python app: `python3 -m hookline_runtime` of the build that is tested,
// on a main.py that the test writes, in the interpreter that the test names.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { atEnd, withUs } from './cleanup.mjs';
import { onFailure } from './case.mjs';
import { LogLines } from './loglines.mjs';
import { isSanitized } from './sanitized.mjs';
import { BINARY, freePort, temporaryDirectory } from './sidecar.mjs';
import { caller } from './stage.mjs';
import { until } from './until.mjs';

/** The directory that has hookline_runtime in it: beside the binary in a build, else where it is installed. */
export const PACKAGE = [
    process.env.HOOKLINE_PYTHON,
    join(dirname(BINARY), 'python'),
    join(dirname(BINARY), '../lib/hookline/python'),
].find((path) => path && existsSync(join(path, 'hookline_runtime')));

export const DEBIAN = '/usr/bin/python3';
export const DEBUG = '/usr/bin/python3-dbg';
const SANITIZER = /(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:)/;

/** HOOKLINE_TEST_FUNCTION_CORE=python: every app of a test that names none stands on the pure Python core. */
export const isPure = process.env.HOOKLINE_TEST_FUNCTION_CORE === 'python';
export const PURE = { HOOKLINE_FUNCTION_CORE: 'python', LD_PRELOAD: '' };

/** Debian's interpreters, and the machine's own python3 if that is another: what is compiled must fit each. */
export const INTERPRETERS = isPure && !process.env.HOOKLINE_TEST_ALL_CORES ? [DEBIAN] : [DEBIAN, DEBUG, ...ownInterpreter()];

function ownInterpreter() {
    const tell = 'import sys; print(sys.executable if sys.version_info >= (3, 9) else "")';
    const path = execFileSync('python3', ['-c', tell], { encoding: 'utf8' }).trim();
    return !path || realpathSync(path) === realpathSync(DEBIAN) ? [] : [path];
}

/** The environment of the core that is tested: a sanitized extension module needs its run-time library before all else
 * in the interpreter. */
export function coreSettings() {
    if (isPure) return PURE;
    if (!isSanitized) return {};
    const library = execFileSync('gcc', ['-print-file-name=libasan.so'], { encoding: 'utf8' });
    return {
        LD_PRELOAD: realpathSync(library.trim()),
        // An interpreter leaves much to the system at its end; and what is freed must be used again soon.
        ASAN_OPTIONS: 'exitcode=99:detect_leaks=0:quarantine_size_mb=1:verify_asan_link_order=0',
        UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
    };
}

/** A request on a connection of its own; null when nobody answers. */
export function get(url) {
    return new Promise((resolve) => {
        const request = http.get(url, { agent: false, timeout: 20_000 }, (response) => {
            response.resume();
            response.on('end', () => resolve(response.statusCode));
            response.on('error', () => resolve(null));
        });
        request.on('timeout', () => request.destroy());
        request.on('error', () => resolve(null));
    });
}

export class PythonApp {
    #child;
    #closed;
    #output = new LogLines();
    stdout = '';
    /** Log lines, parsed, and lines that are none. */
    log = this.#output.log;
    noise = this.#output.noise;

    constructor(child, port) {
        this.#child = child;
        this.port = port;
        this.#closed = once(child, 'close');
        child.stdout.setEncoding('utf8').on('data', (text) => (this.stdout += text));
        this.#output.read(child.stderr);
    }

    get stderr() {
        return this.#output.text;
    }

    get pid() {
        return this.#child.pid;
    }

    get url() {
        return `http://127.0.0.1:${this.port}`;
    }

    get isRunning() {
        return this.#child.exitCode === null && this.#child.signalCode === null;
    }

    /** The first log line whose message matches, once it is there. */
    async logged(pattern) {
        const find = () => this.log.find((line) => pattern.test(line.msg));
        return until(`a log line like ${pattern}`, find);
    }

    signal(name) {
        this.#child.kill(name);
    }

    /** `{ code, signal }` once it has ended and all its output is read. */
    async exited() {
        const [code, signal] = await this.#closed;
        return { code, signal };
    }

    /** SIGTERM; anything but status 0, or output that is not a log line, is a failure. */
    async stop() {
        if (this.isRunning) this.signal('SIGTERM');
        const last = setTimeout(() => this.signal('SIGABRT'), 50_000);
        const { code, signal } = await this.exited();
        clearTimeout(last);
        if (code !== 0) throw new Error(`Python ended with ${code ?? signal}:\n${this.stderr}`);
        this.check();
    }

    check() {
        if (SANITIZER.test(this.stderr)) throw new Error(this.stderr);
        if (this.noise.length) throw new Error(`not a JSON log line: ${this.noise[0]}`);
        if (this.stdout) throw new Error(`on stdout: ${this.stdout}`);
    }
}

/**
 * Starts Python on `source`, which is written to main.py (null: there is none). Options: `python` (the
 * interpreter), `env`, `files` (others to write, by path), `args` (in place of the file and the port).
 */
export async function spawnPython(t, source, { python = DEBIAN, env = {}, files = {}, args } = {}) {
    const directory = await temporaryDirectory(t);
    const port = await freePort();
    if (source !== null) files = { 'main.py': source, ...files };
    for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(directory, path)), { recursive: true });
        await writeFile(join(directory, path), text);
    }
    const child = spawn(
        python,
        ['-m', 'hookline_runtime', ...(args ?? ['main.py', '--port', `${port}`])],
        {
            cwd: directory,
            env: {
                PATH: process.env.PATH,
                PYTHONPATH: PACKAGE,
                PYTHONDONTWRITEBYTECODE: '1',
                HOOKLINE_LOG_FORMAT: 'json',
                ...coreSettings(),
                ...env,
            },
            stdio: ['ignore', 'pipe', 'pipe'],
        },
    );
    const app = new PythonApp(withUs(child), port);
    app.directory = directory;
    onFailure(t, () => app.stderr);
    return app;
}

/** The same, ready for calls; it ends with the test. `app.call(name, members, options)` makes one. */
export async function startPython(t, source, options = {}) {
    const app = await spawnPython(t, source, options);
    atEnd(t, () => app.stop());
    const isReady = async () => {
        if (!app.isRunning) throw new Error(`Python ended:\n${app.stderr}`);
        return (await get(`${app.url}/healthz`)) === 200;
    };
    await until('the app is ready', isReady);
    const call = caller(t, app);
    app.call = (name, members, { headers = {}, ...rest } = {}) =>
        call(`/${name}`, {
            headers: { 'Content-Type': 'application/json', ...headers },
            body: members === undefined ? undefined : JSON.stringify(members),
            ...rest,
        });
    return app;
}

/** Runs Python on `source` to its end: `{ code, signal, stderr, log }`. */
export async function runPython(t, source, options = {}) {
    const app = await spawnPython(t, source, options);
    const { code, signal } = await app.exited();
    return { code, signal, stderr: app.stderr, stdout: app.stdout, log: app.log };
}
