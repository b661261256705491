// signature.mjs - what a function without a schema takes, as far as its first parameter says: `({ prompt, n = 1 })`.
// It is shown to those who make calls, and not held.

const COMMENTS = /\/\*[^]*?\*\/|\/\/[^\n]*/g;
const MEMBER = /^(?:([A-Za-z_$][\w$]*)|'([^'\\]*)'|"([^"\\]*)")\s*(?::[^=]*)?(?:=([^]*))?$/;
const OPENING = '({[';
const CLOSING = ')}]';

/** The parts of what stands behind `begin` up to the bracket that closes it, cut at commas; undefined: it is too odd. */
function partsOf(text, begin) {
    const parts = [];
    let depth = 0;
    let part = begin;
    for (let at = begin; at < text.length; at++) {
        const c = text[at];
        if (c === '"' || c === "'" || c === '`') {
            at = text.indexOf(c, at + 1);
            if (at < 0 || text[at - 1] === '\\') return undefined;
        } else if (OPENING.includes(c)) depth++;
        else if ((c === ',' && depth === 0) || (CLOSING.includes(c) && depth-- === 0)) {
            parts.push(text.slice(part, at).trim());
            if (c !== ',') return parts;
            part = at + 1;
        }
    }
    return undefined;
}

/** A JSON Schema of the members that a function takes out of its body; null where it does not say. */
export function schemaOf(run) {
    const text = Function.prototype.toString.call(run).replace(COMMENTS, '');
    const head = /^[^(){}=]*\(\s*\{/.exec(text);
    const parts = head && partsOf(text, head[0].length);
    if (!parts) return null;
    const properties = {};
    const required = [];
    for (const part of parts) {
        if (part === '' || part.startsWith('...')) continue;
        const [, plain, single, double, value] = MEMBER.exec(part) ?? [];
        const name = plain ?? single ?? double;
        if (name === undefined || name === '__proto__') return null;
        properties[name] = {};
        if (value === undefined) required.push(name);
        else Object.assign(properties[name], defaultOf(value.trim()));
    }
    return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

/** `{ default }` where the source has plain JSON, or a text in single quotes. */
function defaultOf(source) {
    try {
        return { default: JSON.parse(/^'[^'"\\]*'$/.test(source) ? `"${source.slice(1, -1)}"` : source) };
    } catch {
        return {};
    }
}
