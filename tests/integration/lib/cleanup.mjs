// cleanup.mjs - what a test started is ended when the test ends, last started first.
import { within } from './until.mjs';

const stacks = new WeakMap();
const children = new Set();
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

/** Runs `close` after the test `t`; an error in it fails the test. */
export function atEnd(t, close) {
    if (!stacks.has(t)) {
        stacks.set(t, []);
        t.after(() => closeAll(stacks.get(t)).finally(() => stacks.delete(t)));
    }
    stacks.get(t).push(close);
}

/** A process that does not outlive this one, whatever happens; answers it. */
export function withUs(child) {
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
}

async function closeAll(stack) {
    const errors = [];
    while (stack.length) {
        try {
            await within('the end of what the test started', Promise.resolve(stack.pop()()));
        } catch (error) {
            errors.push(error);
        }
    }
    if (errors.length) throw errors[0];
}
