// schema.mjs - the JSON Schemas (2020-12) that a file exports, as checks of a call's body.
// A schema that cannot be held ends the start: one that is none, or that has a keyword which asks for something that is
// not looked at here.
import { cut } from './json.mjs';
import { FormFile } from './upload.mjs';
import { isDeepStrictEqual } from 'node:util';

export class BadSchema extends Error {}

const MOST_FAULTS = 20; // of one call; the others are counted
const ANNOTATIONS = new Set([
    ...['$schema', '$id', '$comment', '$anchor', '$defs', 'definitions', 'title', 'description', 'default', 'examples'],
    ...['deprecated', 'readOnly', 'writeOnly', 'format', 'contentEncoding', 'contentMediaType', 'contentSchema'],
]);
const isFile = (value) => value instanceof FormFile;
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && !isFile(value);
const TYPES = {
    null: [(value) => value === null, 'null'],
    boolean: [(value) => typeof value === 'boolean', 'true or false'],
    integer: [(value) => Number.isInteger(value), 'an integer'],
    number: [(value) => Number.isFinite(value), 'a number'],
    string: [(value) => typeof value === 'string', 'a string'],
    array: [Array.isArray, 'an array'],
    object: [isObject, 'an object'],
};

/** What a JSON value is, in words that a caller in any language knows. */
function kindOf(value) {
    if (value === null) return 'null';
    if (Array.isArray(value)) return 'an array';
    if (isFile(value)) return 'a file';
    if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a number with a fraction';
    return { boolean: `${value}`, string: 'a string' }[typeof value] ?? 'an object';
}

/** The value, if it is a short thing to say: a text, a number. */
function show(value) {
    if (typeof value === 'string') return JSON.stringify(cut(value));
    return typeof value === 'number' ? String(value) : '';
}

function expected(what, value) {
    const kind = kindOf(value);
    const text = show(value);
    if (what.includes(kind)) return `must be ${what}${text && `, not ${text}`}`;
    return `must be ${what}, not ${kind}${text && ` (${text})`}`;
}

const said = (value) =>
    isObject(value) || Array.isArray(value)
        ? JSON.stringify(value)
        : typeof value === 'string'
          ? `'${value}'`
          : String(value);
const plural = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

// ---- the keywords: each gives a check, `(value, path, faults) => void`, from its own value; throws BadSchema ----

const count = (value, name) => {
    if (!Number.isInteger(value) || value < 0)
        throw new BadSchema(`'${name}' must be a number of things, not ${said(value)}`);
    return value;
};
const number = (value, name) => {
    if (!Number.isFinite(value)) throw new BadSchema(`'${name}' must be a number, not ${said(value)}`);
    return value;
};
const list = (value, name) => {
    if (!Array.isArray(value) || value.length === 0)
        throw new BadSchema(`'${name}' must be a list, not ${said(value)}`);
    return value;
};

/** A check of values of one kind: `isBad(value)`, and what is said then. */
const rule = (isKind, isBad, claim) => (value, path, faults) => {
    if (isKind(value) && isBad(value)) faults.push([path, expected(claim, value)]);
};
const bound = (n, isGood, claim) => rule(isNumber, (value) => !isGood(value), claim);
const isNumber = (value) => typeof value === 'number';
const isText = (value) => typeof value === 'string';
const lengthOf = (text) => [...text].length; // characters, not halves of them

const KEYWORDS = {
    type(wanted, compile, siblings) {
        const names = Array.isArray(wanted) ? list(wanted, 'type') : [wanted];
        for (const name of names)
            if (!Object.hasOwn(TYPES, name))
                throw new BadSchema(`there is no type ${said(name)}: ${Object.keys(TYPES).join(', ')}`);
        const claim = names.map((name) => TYPES[name][1]).join(' or ');
        const takesFiles =
            names.includes('string') && (siblings.format === 'binary' || siblings.contentMediaType !== undefined);
        return (value, path, faults) => {
            if (takesFiles && isFile(value)) return;
            if (!names.some((name) => TYPES[name][0](value))) faults.push([path, expected(claim, value)]);
        };
    },
    enum(values) {
        list(values, 'enum');
        return (value, path, faults) => {
            if (!values.some((one) => one === value || isDeepStrictEqual(one, value)))
                faults.push([path, expected(`one of ${values.map(said).join(', ')}`, value)]);
        };
    },
    const(wanted) {
        return (value, path, faults) => {
            if (wanted !== value && !isDeepStrictEqual(wanted, value))
                faults.push([path, expected(said(wanted), value)]);
        };
    },
    minimum: (n) => bound(number(n, 'minimum'), (value) => value >= n, `at least ${n}`),
    maximum: (n) => bound(number(n, 'maximum'), (value) => value <= n, `at most ${n}`),
    exclusiveMinimum: (n) => bound(number(n, 'exclusiveMinimum'), (value) => value > n, `more than ${n}`),
    exclusiveMaximum: (n) => bound(number(n, 'exclusiveMaximum'), (value) => value < n, `less than ${n}`),
    multipleOf(n) {
        if (!(number(n, 'multipleOf') > 0)) throw new BadSchema(`'multipleOf' must be above 0, not ${n}`);
        const isMultiple = (value) => Math.abs(value / n - Math.round(value / n)) < 1e-9;
        return rule(isNumber, (value) => !isMultiple(value), `a multiple of ${n}`);
    },
    minLength: (n) =>
        rule(
            isText,
            (value) => lengthOf(value) < n,
            `a string of at least ${plural(count(n, 'minLength'), 'character')}`,
        ),
    maxLength: (n) =>
        rule(
            isText,
            (value) => lengthOf(value) > n,
            `a string of at most ${plural(count(n, 'maxLength'), 'character')}`,
        ),
    pattern(text) {
        let pattern;
        try {
            pattern = new RegExp(text, 'u');
        } catch (error) {
            throw new BadSchema(`'pattern' cannot be read: ${error.message}`);
        }
        return rule(isText, (value) => !pattern.test(value), `a string that matches ${text}`);
    },
    minItems: (n) =>
        rule(
            Array.isArray,
            (value) => value.length < n,
            `an array of at least ${plural(count(n, 'minItems'), 'item')}`,
        ),
    maxItems: (n) =>
        rule(Array.isArray, (value) => value.length > n, `an array of at most ${plural(count(n, 'maxItems'), 'item')}`),
    uniqueItems(isAsked) {
        const isDouble = (value) => new Set(value.map((item) => JSON.stringify(item))).size < value.length;
        return rule(Array.isArray, (value) => isAsked && isDouble(value), 'an array without doubles');
    },
    minProperties: (n) =>
        rule(
            isObject,
            (value) => Object.keys(value).length < n,
            `an object of at least ${plural(count(n, 'minProperties'), 'member')}`,
        ),
    maxProperties: (n) =>
        rule(
            isObject,
            (value) => Object.keys(value).length > n,
            `an object of at most ${plural(count(n, 'maxProperties'), 'member')}`,
        ),
    required(names) {
        if (!Array.isArray(names) || !names.every(isText))
            throw new BadSchema(`'required' must be a list of names, not ${said(names)}`);
        return (value, path, faults) => {
            if (!isObject(value)) return;
            for (const name of names) if (!Object.hasOwn(value, name)) faults.push([member(path, name), 'is missing']);
        };
    },
    properties(schemas, compile) {
        if (!isObject(schemas)) throw new BadSchema(`'properties' must be an object of schemas, not ${said(schemas)}`);
        const checks = Object.entries(schemas).map(([name, schema]) => [name, compile(schema, `.${name}`)]);
        return (value, path, faults) => {
            if (!isObject(value)) return;
            for (const [name, check] of checks)
                if (Object.hasOwn(value, name)) check(value[name], member(path, name), faults);
        };
    },
    additionalProperties(schema, compile, siblings) {
        const known = new Set(Object.keys(siblings.properties ?? {}));
        const check = schema === false ? undefined : compile(schema, '.*');
        return (value, path, faults) => {
            if (!isObject(value)) return;
            for (const name of Object.keys(value)) {
                if (known.has(name)) continue;
                if (check) check(value[name], member(path, name), faults);
                else
                    faults.push([
                        member(path, name),
                        `is not a ${path === '' ? 'parameter' : 'member'}${suggestion(name, known)}`,
                    ]);
            }
        };
    },
    prefixItems(schemas, compile) {
        const checks = list(schemas, 'prefixItems').map((schema, i) => compile(schema, `[${i}]`));
        return (value, path, faults) => {
            if (Array.isArray(value))
                checks.forEach((check, i) => i < value.length && check(value[i], `${path}[${i}]`, faults));
        };
    },
    items(schema, compile, siblings) {
        const check = compile(schema, '[*]');
        const first = siblings.prefixItems?.length ?? 0;
        return (value, path, faults) => {
            for (let i = first; Array.isArray(value) && i < value.length; i++) check(value[i], `${path}[${i}]`, faults);
        };
    },
    allOf(schemas, compile) {
        const checks = list(schemas, 'allOf').map((schema) => compile(schema, ''));
        return (value, path, faults) => checks.forEach((check) => check(value, path, faults));
    },
    anyOf: (schemas, compile) => choice(schemas, compile, 'anyOf', (good) => good > 0, 'any'),
    oneOf: (schemas, compile) => choice(schemas, compile, 'oneOf', (good) => good === 1, 'exactly one'),
    not(schema, compile) {
        const check = compile(schema, '');
        return (value, path, faults) => {
            const inside = [];
            check(value, path, inside);
            if (inside.length === 0) faults.push([path, 'is of a form that is not allowed']);
        };
    },
};

function choice(schemas, compile, keyword, isGood, word) {
    const checks = list(schemas, keyword).map((schema) => compile(schema, ''));
    const types = schemas.map((schema) => TYPES[schema?.type]?.[1]);
    return (value, path, faults) => {
        const results = checks.map((check) => {
            const inside = [];
            check(value, path, inside);
            return inside;
        });
        if (isGood(results.filter((inside) => inside.length === 0).length)) return;
        // What is wrong inside the one that the value is of, or else which kinds there are.
        const ofKind = schemas.findIndex((schema) => TYPES[schema?.type]?.[0](value));
        if (ofKind >= 0 && results[ofKind].length > 0) faults.push(...results[ofKind]);
        else if (types.every(Boolean) && ofKind < 0)
            faults.push([path, expected([...new Set(types)].join(' or '), value)]);
        else faults.push([path, `must be of ${word} of ${checks.length} forms`]);
    };
}

const member = (path, name) => (path === '' ? cut(name) : `${path}.${cut(name)}`);

function suggestion(name, known) {
    for (const other of known)
        if (distance(name, other) <= (other.length > 3 ? 2 : 1)) return ` (did you mean '${other}'?)`;
    return '';
}

/** How many letters differ (Levenshtein); a great number for texts of other lengths. */
function distance(a, b) {
    if (Math.abs(a.length - b.length) > 2 || a.length > 128) return Infinity;
    let row = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; i++) {
        const next = [i];
        for (let j = 1; j <= b.length; j++)
            next.push(Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
        row = next;
    }
    return row[b.length];
}

/** What a JSON pointer of the same schema leads to: "#/$defs/x". */
function follow(root, pointer) {
    if (typeof pointer !== 'string' || (pointer !== '#' && !pointer.startsWith('#/')))
        throw new BadSchema(
            `'$ref' must lead to a place of the same schema, as in "#/$defs/x", not to ${said(pointer)}`,
        );
    let at = root;
    for (const step of pointer.split('/').slice(1)) {
        const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
        if (at === null || typeof at !== 'object' || !Object.hasOwn(at, name))
            throw new BadSchema(`'$ref' leads to ${pointer}, which is not there`);
        at = at[name];
    }
    return at;
}

/** A check of bodies, `(value, path, faults) => void`. Throws BadSchema, whose text says where. */
function compileSchema(root) {
    const known = new Map(); // by schema: its check, or where it stands while that is made
    const compile = (schema, where) => {
        if (schema === true) return () => {};
        if (schema === false) return (value, path, faults) => faults.push([path, 'is not allowed']);
        if (!isObject(schema)) throw new BadSchema(`${said(schema)} is no schema${where && `, at ${where}`}`);
        if (known.get(schema) === where) throw new BadSchema('it leads to itself, and so to nothing that can be held');
        if (known.has(schema)) return (...it) => known.get(schema)(...it);
        known.set(schema, where);
        const checks = [];
        for (const [keyword, value] of Object.entries(schema)) {
            try {
                if (value === undefined || ANNOTATIONS.has(keyword)) continue;
                if (keyword === '$ref') checks.push(compile(follow(root, value), where));
                else if (Object.hasOwn(KEYWORDS, keyword))
                    checks.push(KEYWORDS[keyword](value, (inner, step) => compile(inner, where + step), schema));
                else throw new BadSchema(`the keyword '${keyword}' cannot be held`);
            } catch (error) {
                if (error instanceof BadSchema && where && !/, at /.test(error.message))
                    error.message += `, at ${where}`;
                throw error;
            }
        }
        const check = (value, path, faults) => {
            for (const one of checks) one(value, path, faults);
        };
        known.set(schema, check);
        return check;
    };
    return compile(root, '');
}

/**
 * `check(members)` gives what is wrong as one text, or undefined; `takes(member, value)` says whether that member of a form
 * may be that. Throws BadSchema.
 */
export function checksOf(name, schema) {
    const check = compileSchema(schema);
    return { takes: (member, value) => takes(check, member, value), check: (members) => textOf(name, check, members) };
}

function takes(check, member, value) {
    const faults = [];
    check({ [member]: value }, '', faults);
    return !faults.some(([path]) => path === member || path.startsWith(`${member}.`) || path.startsWith(`${member}[`));
}

function textOf(name, check, members) {
    const faults = [];
    check(members, '', faults);
    if (faults.length === 0) return undefined;
    const texts = faults
        .slice(0, MOST_FAULTS)
        .map(([path, claim]) => `${path === '' ? 'the body' : `'${path}'`} ${claim}`);
    const more = faults.length > MOST_FAULTS ? `; and ${faults.length - MOST_FAULTS} more` : '';
    return `${name}(): ${texts.join('; ')}${more}`;
}
