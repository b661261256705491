// json.mjs - a request's body as the members of one JSON object, and what is wrong with one that is none.
export const MAX_DEPTH = 512;

/** Why a body is none; `status` goes with it. */
export class BadBody extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a body; throws BadBody where it is not UTF-8. */
export function textOf(bytes) {
    try {
        return strict.decode(bytes);
    } catch {
        const given = Buffer.from(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength);
        const good = Buffer.from(given.toString());
        let at = 0;
        while (at < given.length && given[at] === good[at]) at++;
        throw new BadBody(400, `The body is not JSON: there is an error at byte ${at + 1}.`);
    }
}

/** A JSON text inside a form: none that a body might not have. Throws BadBody, and what JSON.parse() throws. */
export function valueOf(text, name) {
    const value = JSON.parse(text);
    if (value !== null && typeof value === 'object') checkInside(value, text, name);
    return value;
}

/** The members of the object that the text is; none for an empty text. Throws BadBody. */
export function membersOf(text, name) {
    if (text === '' || text.trim() === '') {
        if (text === '') return {};
        throw new BadBody(400, `The body is not JSON: it ends too early, after ${text.length} bytes.`);
    }
    let value;
    try {
        value = JSON.parse(text);
    } catch {
        throw fault(text);
    }
    if (value === null || typeof value !== 'object' || Array.isArray(value))
        throw new BadBody(422, "The body must be a JSON object: its members are the function's parameters.");
    checkInside(value, text, name);
    return value;
}

function checkInside(value, text, name) {
    const count = countMembers(value, 1, name);
    // Each member has one '":', unless blanks stand between: where there are others, look closely.
    if (count !== countMarks(text) || SPACED.test(text)) findDouble(text, name);
}

const SPACED = /"[ \t\r\n]+:/;

function countMarks(text) {
    let count = 0;
    for (let at = text.indexOf('":'); at >= 0; at = text.indexOf('":', at + 2)) count++;
    return count;
}

export const noName = (name) =>
    new BadBody(422, `${name}(): the body has a member '__proto__', which is no name here`);

/** Members of the value and of all inside it. */
function countMembers(value, depth, name) {
    if (depth > MAX_DEPTH) throw new BadBody(400, `The body's JSON is nested deeper than ${MAX_DEPTH} levels.`);
    let count = 0;
    if (Array.isArray(value)) {
        for (const item of value)
            if (item !== null && typeof item === 'object') count += countMembers(item, depth + 1, name);
        return count;
    }
    const keys = Object.keys(value);
    for (const key of keys) {
        // Who copies such an object with Object.assign gives the copy another prototype.
        if (key === '__proto__') throw noName(name);
        const item = value[key];
        if (item !== null && typeof item === 'object') count += countMembers(item, depth + 1, name);
    }
    return count + keys.length;
}

const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const NUMBER_BEGUN = /-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*|(?:\.[0-9]+)?[eE][+-]?)?)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const ESCAPE_BEGUN = /\\(?:u[0-9a-fA-F]{0,3})?/y;
const WORDS = ['true', 'false', 'null'];

/** Walks through the text, from token to token. */
class Scanner {
    at = 0;

    constructor(text) {
        this.text = text;
    }

    match(pattern) {
        pattern.lastIndex = this.at;
        const found = pattern.exec(this.text);
        if (found) this.at += found[0].length;
        return found?.[0];
    }

    /** Behind the string that begins here; false: there is something wrong, at `at`. */
    skipString() {
        const { text } = this;
        for (this.at++; this.at < text.length;) {
            const code = text.charCodeAt(this.at);
            if (code === 0x22) {
                this.at++;
                return true;
            }
            if (code < 0x20) return false;
            if (code !== 0x5c) this.at++;
            else if (this.match(ESCAPE) === undefined) {
                this.match(ESCAPE_BEGUN);
                return false;
            }
        }
        return false;
    }

    /** The same of a number or a word. */
    skipScalar() {
        const begin = this.at;
        if (this.match(NUMBER) !== undefined) {
            const end = this.at;
            this.at = begin;
            this.match(NUMBER_BEGUN); // "1." and "1e" go further than the number in them
            if (this.at > end) return false;
            this.at = end;
            return true;
        }
        if (this.match(NUMBER_BEGUN)) return false;
        const word = WORDS.find((candidate) => candidate[0] === this.text[begin]);
        for (const letter of word ?? '') {
            if (this.text[this.at] !== letter) return false;
            this.at++;
        }
        return word !== undefined;
    }
}

/** What is wrong with a text that is no JSON, and where: as runtime/core/take.c says it. */
function fault(text) {
    const scanner = new Scanner(text);
    const open = []; // brackets
    let wants = 'value';
    const tooDeep = () => new BadBody(400, `The body's JSON is nested deeper than ${MAX_DEPTH} levels.`);
    const wrong = () => {
        const bytes = Buffer.byteLength(text.slice(0, scanner.at));
        return scanner.at >= text.length
            ? new BadBody(400, `The body is not JSON: it ends too early, after ${bytes} bytes.`)
            : new BadBody(400, `The body is not JSON: there is an error at byte ${bytes + 1}.`);
    };
    for (;;) {
        scanner.match(SPACE);
        const c = text[scanner.at];
        if (c === undefined) return wrong();
        if (wants === 'value' || wants === 'value or ]') {
            if (c === ']' && wants === 'value or ]') {
                open.pop();
                wants = 'next';
                scanner.at++;
            } else if (c === '{' || c === '[') {
                if (open.push(c) > MAX_DEPTH) return tooDeep();
                wants = c === '{' ? 'name or }' : 'value or ]';
                scanner.at++;
            } else if (c === '"' ? scanner.skipString() : scanner.skipScalar()) wants = 'next';
            else return wrong();
        } else if (wants === 'name' || wants === 'name or }') {
            if (c === '}' && wants === 'name or }') {
                open.pop();
                wants = 'next';
                scanner.at++;
            } else if (c === '"' && scanner.skipString()) wants = ':';
            else return wrong();
        } else if (wants === ':') {
            if (c !== ':') return wrong();
            wants = 'value';
            scanner.at++;
        } else if (open.length > 0 && c === ',') {
            wants = open.at(-1) === '{' ? 'name' : 'value';
            scanner.at++;
        } else if (open.length > 0 && c === (open.at(-1) === '{' ? '}' : ']')) {
            open.pop();
            scanner.at++;
        } else return wrong();
    }
}

/** Throws BadBody if an object of this JSON text has two members of one name. */
function findDouble(text, name) {
    const scanner = new Scanner(text);
    const open = []; // of an object the names in it, of an array null
    while (scanner.at < text.length) {
        const c = text[scanner.at];
        if (c === '{') open.push(new Set());
        else if (c === '[') open.push(null);
        else if (c === '}' || c === ']') open.pop();
        if (c !== '"') {
            scanner.at++;
            continue;
        }
        const begin = scanner.at;
        scanner.skipString();
        const end = scanner.at;
        scanner.match(SPACE);
        const names = open.at(-1);
        if (text[scanner.at] !== ':' || !names) continue;
        const member = JSON.parse(text.slice(begin, end));
        if (names.has(member)) throw new BadBody(422, `${name}(): the body has two members '${cut(member)}'`);
        names.add(member);
    }
}

const LONGEST = 60;

/** A text, short enough to be shown. */
export function cut(text) {
    return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}\u2026`;
}
