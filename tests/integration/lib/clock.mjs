// clock.mjs - a wall clock that a test sets: `env` goes to the sidecar, whose clock then is the machine's and `shift`.
import { execFile } from 'node:child_process';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FILE } from './case.mjs';
import { atEnd } from './cleanup.mjs';
import { temporaryDirectory } from './sidecar.mjs';

const SOURCE = fileURLToPath(new URL('shifted_clock.c', import.meta.url));

function encode(ms) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(ms));
    return bytes;
}

let library;

/** One for all tests of the file. */
async function compile() {
    atEnd(FILE, () => (library = undefined));
    const path = join(await temporaryDirectory(FILE), 'clock.so');
    await promisify(execFile)('cc', ['-shared', '-fPIC', '-O1', '-o', path, SOURCE]);
    return path;
}

/** `{ env, set(ms) }`: whole seconds, from now on, in processes that run too. */
export async function shiftedClock(t) {
    library ??= compile();
    const path = join(await temporaryDirectory(t), 'shift');
    await writeFile(path, encode(0));
    const file = await open(path, 'r+');
    atEnd(t, () => file.close());
    return {
        env: {
            LD_PRELOAD: await library,
            SHIFTED_CLOCK: path,
            ASAN_OPTIONS: 'exitcode=99:detect_leaks=1:quarantine_size_mb=16:verify_asan_link_order=0',
        },
        set: (ms) => file.write(encode(ms), 0, 8, 0),
    };
}
