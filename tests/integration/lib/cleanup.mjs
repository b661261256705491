// cleanup.mjs - what a test started is ended when the test ends, last started first.

const stacks = new WeakMap();

/** Runs `close` after the test `t`; an error in it fails the test. */
export function atEnd(t, close) {
    if (!stacks.has(t)) {
        stacks.set(t, []);
        t.after(() => closeAll(stacks.get(t)));
    }
    stacks.get(t).push(close);
}

async function closeAll(stack) {
    const errors = [];
    while (stack.length) {
        try {
            await stack.pop()();
        } catch (error) {
            errors.push(error);
        }
    }
    if (errors.length) throw errors[0];
}
