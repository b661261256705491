// machine.mjs - another machine: a program in a network namespace of its own, at the other end of a cable that a test can
// cut. The test runs in a namespace of its own as well, so that nothing of this is seen outside.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { atEnd } from './cleanup.mjs';
import { LogLines } from './loglines.mjs';
import { until } from './until.mjs';

const INSIDE = 'HOOKLINE_TEST_OWN_NETWORK';
const HERE = '10.99.0.1';
const THERE = '10.99.0.2';
const run = promisify(execFile);
const ip = (...words) => run('ip', words);

/** Whether this process has a network of its own. */
export const isInside = Boolean(process.env[INSIDE]);

/** Runs a file of tests in a network of its own; skips `t` with the reason where the machine does not allow that. */
export async function runInside(t, file) {
    try {
        await run('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up']);
        await run('unshare', ['--net', 'ip', 'link', 'add', 'here', 'type', 'veth']);
    } catch (error) {
        return t.skip(`a network of its own is not possible here: ${error.message.trim()}`);
    }
    const { NODE_TEST_CONTEXT, ...env } = process.env; // its output is for people
    void NODE_TEST_CONTEXT;
    const child = spawn('unshare', ['--net', process.execPath, file], {
        env: { ...env, [INSIDE]: '1' },
        stdio: ['ignore', 'pipe', 'inherit'],
    });
    atEnd(t, () => child.kill('SIGKILL'));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(output);
}

/** What a command begins with that is to run there. */
export const THERE_RUN = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];

/** Starts `node ARGUMENTS…` there: `{ address, output, cut() }`. Only inside. */
export async function startMachine(t, args) {
    const [program, ...rest] = [...THERE_RUN, process.execPath, ...args];
    const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
    atEnd(t, () => child.kill('SIGKILL'));
    const output = new LogLines();
    output.read(child.stdout);
    await until('it runs', () => output.text.includes('listening'));
    return { output, ...(await plugIn(child.pid)) };
}

/** The cable to the machine on which this process runs: `{ address, cut(), mend() }`. Only inside, and only one. */
export async function plugIn(pid) {
    const there = (...words) => run('nsenter', ['-t', String(pid), '-n', 'ip', ...words]);
    await ip('link', 'set', 'lo', 'up');
    await ip('link', 'add', 'here', 'type', 'veth', 'peer', 'name', 'there');
    await ip('link', 'set', 'there', 'netns', String(pid));
    await there('addr', 'add', `${THERE}/24`, 'dev', 'there');
    await there('link', 'set', 'there', 'up');
    await ip('addr', 'add', `${HERE}/24`, 'dev', 'here');
    await ip('link', 'set', 'here', 'up');
    const { stdout } = await there('-o', 'link', 'show', 'there');
    const mac = /link\/ether (\S+)/.exec(stdout)[1]; // known for good: that it is gone is told by nobody
    await ip('neigh', 'replace', THERE, 'lladdr', mac, 'dev', 'here', 'nud', 'permanent');
    return {
        address: THERE,
        cut: () => there('link', 'set', 'there', 'down'),
        mend: () => there('link', 'set', 'there', 'up'),
    };
}
