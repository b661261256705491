// until.mjs - waiting: always for a condition, never for a time.

/** How long a condition may take to come true, ms: on a machine that does much else all takes long, and where all is well nobody waits. */
export const PATIENCE = 120_000;

/** Asks `condition` until it answers something truthy, and returns that; the less often the longer it has waited. */
export async function until(what, condition, timeout = PATIENCE) {
    const began = Date.now();
    for (;;) {
        const value = await condition();
        if (value) return value;
        const waited = Date.now() - began;
        if (waited > timeout) throw new Error(`${timeout} ms passed, still not so: ${what}`);
        await new Promise((resolve) => setTimeout(resolve, Math.min(50, Math.max(10, waited / 10))));
    }
}

/** A promise with its handles: a gate that a scripted app waits at until the test opens it. */
export function gate() {
    let open, fail;
    const promise = new Promise((resolve, reject) => ([open, fail] = [resolve, reject]));
    return { promise, open, fail };
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The promise's value, if it comes in time. */
export async function within(what, promise, timeout = PATIENCE) {
    let timer;
    const late = new Promise((_, reject) => {
        const fail = () => reject(new Error(`${timeout} ms passed, still waiting for: ${what}`));
        timer = setTimeout(fail, timeout);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

/** Writes bytes; resolves when the socket takes more, or never will. */
export function write(socket, bytes) {
    return new Promise((resolve) => {
        if (socket.destroyed || socket.write(bytes)) return void resolve();
        const go = () => {
            socket.off('drain', go).off('close', go);
            resolve();
        };
        socket.on('drain', go).on('close', go);
    });
}
