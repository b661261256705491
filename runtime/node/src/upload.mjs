// upload.mjs - what a function gets of a form: its fields by what they take, its files as objects to read.
import fs from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';

/** A file of a form. `name` is what the caller calls it, without directories; after the call `path` is gone. */
export class FormFile {
    constructor({ name, type, size, path }) {
        this.name = name;
        this.type = type;
        this.size = size;
        this.path = path;
    }

    async bytes() {
        return new Uint8Array(await readFile(this.path));
    }

    async arrayBuffer() {
        return (await this.bytes()).buffer;
    }

    text() {
        return readFile(this.path, 'utf8');
    }

    stream() {
        return Readable.toWeb(fs.createReadStream(this.path));
    }

    get [Symbol.toStringTag]() {
        return 'FormFile';
    }
}

function asJson(value) {
    try {
        return typeof value === 'string' ? JSON.parse(value) : value;
    } catch {
        return value;
    }
}

/** What the values of one name may stand for, the likeliest first: a text, the JSON that it is, a list of either. */
function readings(values) {
    const read = values.map(asJson);
    return values.length === 1 ? [values[0], read[0], values, read] : [values, read];
}

/** The members that a form stands for: of each what `isGood(name, value)` takes, if any reading is that. */
export function membersOfForm(parts, isGood) {
    const values = new Map();
    for (const [name, part] of parts) {
        const value = typeof part === 'string' ? part : new FormFile(part);
        if (values.has(name)) values.get(name).push(value);
        else values.set(name, [value]);
    }
    const members = {};
    for (const [name, all] of values) {
        const options = readings(all);
        const value = options.find((option) => isGood(name, option)) ?? options[0];
        Object.defineProperty(members, name, { value, writable: true, enumerable: true, configurable: true });
    }
    return members;
}
