// main.mjs - hookline-functions: imports a file and serves what it exports.
import { Worker } from 'node:worker_threads';
import fs from 'node:fs';
import { parseArgs } from 'node:util';
import { current } from './context.mjs';
import { Host, failCurrent, kindOfError } from './host.mjs';
import { CannotStart, endpointsOf, load } from './loader.mjs';
import * as log from './log.mjs';
import { BadSetting, readSettings } from './settings.mjs';

const USAGE = `usage: hookline-functions [options] [FILE]

Serves the exported functions of a JavaScript file: POST /NAME with a JSON object calls NAME with it.

  FILE           the file that holds the functions (main.mjs)
  --host ADDRESS address to listen on (HOOKLINE_FUNCTION_HOST, 127.0.0.1)
  --port PORT    port to listen on (PORT, 8000)
  --socket PATH  unix socket to listen on instead (HOOKLINE_FUNCTION_SOCKET)
  --list         print the functions' names and end
  --version      print the version and end

HOOKLINE_FUNCTION_CONCURRENCY=N lets N calls run at once; runtime/README.md has the other settings.
`;
const FAILED_END_MS = 5000;
const BLOCKED_MS = 500; // longer than a set-up may take, so that one which is busy is ended from outside

const version = () => JSON.parse(fs.readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

function readCommand(args) {
    const text = { type: 'string' };
    const flag = { type: 'boolean' };
    try {
        const options = { host: text, port: text, socket: text, list: flag, version: flag, help: flag };
        const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
        if (positionals.length > 1) throw new Error(`one file is served, not ${positionals.length}`);
        return { ...values, file: positionals[0] ?? 'main.mjs' };
    } catch (error) {
        process.stderr.write(`hookline-functions: ${error.message}\n${USAGE}`);
        process.exit(2);
    }
}

function readAll(command) {
    try {
        const options = { '--host': command.host, '--port': command.port, '--socket': command.socket };
        return readSettings(options, process.env);
    } catch (error) {
        if (!(error instanceof BadSetting)) throw error;
        process.stderr.write(`hookline-functions: ${error.message}\n`);
        process.exit(1);
    }
}

const exit = process.exit.bind(process);

/** Nobody waits for a process that failed, but somebody wants to know why. */
function end(status) {
    log.finish(status ? FAILED_END_MS : undefined);
    exit(status);
}

/**
 * process.exit() of a function ends its call, as any other error does: the process is everybody's. So it does with the
 * start. What is of no call, a timer of the file's own say, may end the host, and is told of.
 */
function guardExit() {
    let isServing = false;
    process.exit = (code = process.exitCode) => {
        const error = new Error(`process.exit(${code ?? ''}) ends no function host`);
        error.name = 'ProcessExit';
        if (current() || !isServing) throw error;
        error.message = `process.exit(${code ?? ''}) outside of a call`;
        log.write('warn', 'the host ends: the file asks for it', { traceback: log.stackOf(error) });
        end(code);
    };
    process.reallyExit = ((really) => (code) => {
        log.finish();
        really.call(process, code);
    })(process.reallyExit);
    return () => {
        isServing = true;
    };
}

/** What nobody caught ends neither the host nor the calls of others. */
function guardErrors() {
    process.on('uncaughtException', (error) => {
        if (!failCurrent(error)) log.writeError(`nobody caught ${kindOfError(error)}`, error);
    });
    process.on('unhandledRejection', (error) =>
        log.writeError(
            `nobody caught ${error instanceof Error ? 'the ' : ''}${kindOfError(error)} of a promise`,
            error,
        ),
    );
}

/** Before the first call; a setup() that awaits for ever is ended here, one that keeps this thread busy by the server's. */
async function setUp(setup, server, { setupTimeout }) {
    if (typeof setup !== 'function') return;
    let timer;
    const tooLong = new Promise((resolve, reject) => {
        const why = `setup() has not ended within ${setupTimeout / 1000} s (HOOKLINE_FUNCTION_SETUP_TIMEOUT)`;
        if (setupTimeout) timer = setTimeout(() => reject(new CannotStart(why)), setupTimeout);
    });
    server.postMessage(['watch', setupTimeout && setupTimeout + BLOCKED_MS]);
    try {
        await Promise.race([setup(), tooLong]);
    } catch (error) {
        throw error instanceof CannotStart ? error : new CannotStart('setup() failed', error);
    } finally {
        clearTimeout(timer);
        server.postMessage(['watch', 0]);
    }
}

function refuse(error) {
    if (!(error instanceof CannotStart)) throw error;
    if (error.error === undefined) log.write('error', error.message);
    else log.writeError(error.message, error.error);
    end(1);
}

function startServer(settings) {
    const shared = {
        logOwner: new Int32Array(new SharedArrayBuffer(4)),
        gone: new Int32Array(new SharedArrayBuffer(4 * settings.concurrency)),
    };
    log.start(settings, shared.logOwner, 1, current);
    const server = new Worker(new URL('server.mjs', import.meta.url), {
        workerData: { settings, shared },
        execArgv: [],
        env: { ...process.env, NODE_OPTIONS: '' }, // what is preloaded is for the author's code
        stdin: false,
        stdout: true,
        stderr: true,
    });
    server.on('error', (error) => {
        log.writeError('the server failed', error);
        end(1);
    });
    return { server, shared };
}

/** The first SIGTERM or SIGINT lets everything end in order; the second is what it is by itself. */
function takeSignals(server) {
    let isStopping = false;
    const onSignal = (signal) => {
        if (!isStopping) {
            isStopping = true;
            server.postMessage(['stop']);
            return;
        }
        log.write('warn', 'a second signal: ending at once');
        log.finish();
        process.removeAllListeners(signal);
        process.kill(process.pid, signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
}

function serve(server, host, names, { concurrency }) {
    server.on('message', (message) => {
        const [kind, text] = message;
        if (kind === 'listening')
            log.write('info', 'listening', { address: text, functions: names.join(', '), concurrency });
        else if (kind === 'failed') {
            log.write('error', text);
            end(1);
        } else if (kind === 'stopped') {
            log.write('info', 'stopped');
            end(0);
        } else host.take(message);
    });
}

export async function main(args) {
    const command = readCommand(args);
    if (command.help || command.version) {
        process.stdout.write(command.help ? USAGE : `hookline-functions ${version()}\n`);
        return;
    }
    const settings = readAll(command);
    const onEarlySignal = () => exit(143);
    if (process.pid === 1) process.on('SIGTERM', onEarlySignal); // the kernel gives process 1 no default action
    const { server, shared } = startServer(settings);
    const stdout = process.stdout;
    log.takeOutput();
    const setServing = guardExit();
    guardErrors();
    try {
        process.argv.splice(1, process.argv.length, command.file);
        const exports = await load(command.file);
        const endpoints = endpointsOf(command.file, exports);
        const names = endpoints.map(({ name }) => name);
        if (command.list) {
            stdout.write(`${names.join('\n')}\n`, () => end(0));
            return;
        }
        await setUp(exports.setup, server, settings);
        setServing();
        serve(server, new Host(server, endpoints, settings, shared.gone), names, settings);
        process.off('SIGTERM', onEarlySignal);
        takeSignals(server);
        server.postMessage(['listen', endpoints.map(({ name, input }) => ({ name, input }))]);
    } catch (error) {
        refuse(error);
    }
}
