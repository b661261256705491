// upload.mjs - what a function gets of a form: its fields by what they take, its files as objects to read.
import fs from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { BadBody, noName, valueOf } from './json.mjs';

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

/** A text that is no JSON is itself; one that no body may have inside has the error in place of a value. */
function asJson(value, callee) {
    try {
        return typeof value === 'string' ? valueOf(value, callee) : value;
    } catch (error) {
        return error instanceof BadBody ? error : value;
    }
}

/** What the values of one name may stand for, the likeliest first: a text, the JSON that it is, a list of either. */
function readings(values, callee) {
    const read = values.map((value) => asJson(value, callee));
    return values.length === 1 ? [values[0], read[0], values, read] : [values, read];
}

/** The members of a form: of each what `isGood(name, value)` takes, if any reading is that. Throws BadBody. */
export function membersOfForm(parts, isGood, callee) {
    const values = new Map();
    for (const [name, part] of parts) {
        const value = typeof part === 'string' ? part : new FormFile(part);
        if (name === '__proto__') throw noName(callee);
        if (values.has(name)) values.get(name).push(value);
        else values.set(name, [value]);
    }
    const members = {};
    for (const [name, all] of values) {
        const options = readings(all, callee);
        const value = options.find((option) => isGood(name, option)) ?? options[0];
        const bad = [value].flat().find((one) => one instanceof BadBody);
        if (bad) throw bad;
        members[name] = value;
    }
    return members;
}
