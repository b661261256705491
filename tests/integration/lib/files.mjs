// files.mjs - what stands in a data directory.
import { readdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/** The paths of all files below `directory`, however deep; none when it is not there. */
export async function filesBelow(directory) {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    const lists = entries.map((entry) => {
        const path = join(directory, entry.name);
        return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? [path] : [];
    });
    return (await Promise.all(lists)).flat();
}

/** How many bytes all files below `directory` have. */
export async function sizeOf(directory) {
    let n = 0;
    for (const path of await filesBelow(directory)) n += (await stat(path).catch(() => ({ size: 0 }))).size; // gone meanwhile
    return n;
}

/** All files below `directory` were last written long ago. */
export async function makeOld(directory) {
    for (const path of await filesBelow(directory)) await utimes(path, 0, 0).catch(() => {}); // gone meanwhile
}
