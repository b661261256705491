// value.mjs - from what a function returns or yields to the text that is sent.
// JSON.stringify is quick, and silent about what it loses: NaN, what is in a Map, a typed array's kind. A text that may
// have lost something is written anew, value by value.

/** A value, or something inside it, that JSON has no form for; the text says what and where. */
export class NotJson extends Error {}

const LONGEST_PATH = 1000; // characters of a path that is told
// What a lost value leaves behind: null of NaN and invalid dates; {} of a Map, a Set, an Error, a Promise, an ArrayBuffer;
// members named 0, 1, … of a typed array; what Buffer makes of itself.
const LOSSES = /null|\{\}|\{"0":|"type":"Buffer"/;
const TOO_LONG = /string length/i;
const SAID_LONG = 'its text is too long for one string';
const isBytes = (value) =>
    ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;

/** The value as JSON text; undefined is null. Throws NotJson, and what a toJSON() of the author's throws. */
export function toJson(value) {
    if (value === undefined || value === null) return 'null';
    let text;
    try {
        text = JSON.stringify(value);
    } catch (error) {
        if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
        if (TOO_LONG.test(error.message)) throw new NotJson(`${nameOf(value)} (${SAID_LONG})`);
        return writeAll(value); // a BigInt, a circle, too deep
    }
    return text === undefined || LOSSES.test(text) ? writeAll(value) : text;
}

function writeAll(value) {
    try {
        return write(value, '', new Set());
    } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        const what = TOO_LONG.test(error.message) ? SAID_LONG : 'it is nested too deep';
        throw new NotJson(`${nameOf(value)} (${what})`);
    }
}

/** The bytes of a typed array, a DataView or an ArrayBuffer; undefined for anything else. */
export function bytesOf(value) {
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Uint8Array(value);
    return undefined;
}

/** What a value is, in a word that its author knows. */
export function nameOf(value) {
    if (value === null || typeof value !== 'object') return typeof value;
    try {
        return value.constructor?.name || 'object';
    } catch {
        return 'object';
    }
}

function refuse(what, path) {
    throw new NotJson(path ? `${what}, at ${path}` : what);
}

function write(value, path, above) {
    switch (typeof value) {
        case 'string':
        case 'boolean':
            return JSON.stringify(value);
        case 'number':
            return Number.isFinite(value) ? JSON.stringify(value) : refuse(`number (${value})`, path);
        case 'bigint':
            return `${value}`; // JSON's numbers may have any length
        case 'undefined':
            return 'null';
        case 'object':
            return value === null ? 'null' : writeObject(value, path, above);
        default:
            return refuse(typeof value, path);
    }
}

function writeObject(value, path, above) {
    if (above.has(value)) refuse(`${nameOf(value)} (it contains itself)`, path);
    if (value instanceof Date && Number.isNaN(value.getTime())) refuse('Date (it is invalid)', path);
    if (isBytes(value) && (value instanceof Uint8Array || !ArrayBuffer.isView(value) || value instanceof DataView))
        return JSON.stringify(Buffer.from(bytesOf(value)).toString('base64'));
    if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet)
        refuse(`${nameOf(value)}${value instanceof Promise ? ' (await it)' : ''}`, path);
    if (typeof value[Symbol.asyncIterator] === 'function' || (typeof value.next === 'function' && value[Symbol.iterator]))
        refuse('iterator (values one by one are the whole value, not inside one)', path);
    above.add(value);
    const text = writeInside(value, path.length > LONGEST_PATH ? path.slice(0, LONGEST_PATH) : path, above);
    above.delete(value);
    return text;
}

function writeInside(value, path, above) {
    if (typeof value.toJSON === 'function') return write(value.toJSON(), path, above);
    if (value instanceof String || value instanceof Number || value instanceof Boolean)
        return write(value.valueOf(), path, above);
    if (Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof Set) {
        let i = 0;
        const items = [];
        for (const item of value) items.push(write(item, `${path}[${i++}]`, above));
        return `[${items}]`;
    }
    if (value instanceof Error) return write({ name: value.name, message: value.message, ...value }, path, above);
    const members = [];
    for (const [name, item] of value instanceof Map ? value : Object.entries(value)) {
        if (typeof name === 'object' || typeof name === 'symbol')
            refuse(`${nameOf(value)} (a key of it is no text)`, path);
        // As JSON.stringify has it: a member that is a function or undefined is none.
        if (item === undefined || typeof item === 'function' || typeof item === 'symbol') continue;
        members.push(`${JSON.stringify(String(name))}:${write(item, `${path}.${String(name)}`, above)}`);
    }
    return `{${members}}`;
}
