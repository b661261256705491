// monitoring.mjs - the files of deploy/monitoring, and what they ask Prometheus for.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export const pathOf = (name) => fileURLToPath(new URL(`../../../deploy/monitoring/${name}`, import.meta.url));

export const read = (name) => readFile(pathOf(name), 'utf8');

/** All expressions of the rules or of the board. */
export async function expressions(name) {
    const text = await read(name);
    if (name.endsWith('.json')) return JSON.parse(text).panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    return [...text.matchAll(/^ +expr: '(.*)'$/gm)].map(([, quoted]) => quoted.replaceAll("''", "'"));
}
