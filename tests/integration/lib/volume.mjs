// volume.mjs - a small volume of a test's own, for tests that fill it.
import { execFile } from 'node:child_process';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { atEnd } from './cleanup.mjs';
import { temporaryDirectory } from './sidecar.mjs';

/** The directory where a volume of `size` bytes is mounted; null where nothing may be mounted. */
export async function mountVolume(t, size) {
    const directory = await temporaryDirectory(t);
    const call = promisify(execFile);
    try {
        await call('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'hookline-test', directory]);
    } catch {
        return null;
    }
    atEnd(t, () => call('umount', ['-l', directory]));
    return directory;
}

/**
 * Takes the free bytes of the volume at `directory`, at most `most`, but for `left`, and beside what it took before; answers
 * what gives all back.
 */
export async function fill(directory, most, left = 0) {
    const path = join(directory, 'filler');
    const file = await open(path, 'a');
    const { size: before } = await file.stat();
    let filled = 0;
    for (let size = 1 << 20; size >= 512; size >>= 1) {
        const bytes = Buffer.alloc(size);
        for (let took = size; took === size; filled += took) {
            took = (await file.write(bytes).catch(() => null))?.bytesWritten ?? 0;
            if (filled + took > most) throw new Error('this is not the small volume');
        }
    }
    await file.truncate(before + Math.max(0, filled - left));
    await file.close();
    return () => rm(path);
}
