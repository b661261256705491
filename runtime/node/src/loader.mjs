// loader.mjs - finds and imports the file that holds the functions, and says which of its exports are endpoints.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import module, { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import * as log from './log.mjs';
import { BadSchema, checksOf } from './schema.mjs';
import { schemaOf } from './signature.mjs';

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,127}$/;
const RESERVED = new Set(['setup', 'schema', 'healthz']);
const TYPESCRIPT = /\.[cm]?tsx?$/;
const STRIPS_FROM = '22.18';
const PACKAGE = new URL('..', import.meta.url);

/** Why there is nothing to serve: one line for people, and the error of the author's code behind it, if any. */
export class CannotStart extends Error {
    constructor(message, cause) {
        super(message);
        this.error = cause;
    }
}

/** The exports of a file by name: those of a CommonJS module, and the members of an object that is the default. */
export async function load(file) {
    const full = path.resolve(file);
    const stat = fs.statSync(full, { throwIfNoEntry: false });
    if (!stat?.isFile())
        throw new CannotStart(
            `${file} ${stat ? 'is no file' : 'does not exist'}: name the file that holds the functions, as in hookline-functions main.mjs`,
        );
    if (TYPESCRIPT.test(full) && !process.features.typescript)
        throw new CannotStart(
            `${file} is TypeScript, whose types this Node (${process.version}) does not strip: ${STRIPS_FROM} or newer does`,
        );
    offerPackage(full);
    let namespace;
    try {
        namespace = await import(pathToFileURL(full).href);
    } catch (error) {
        throw new CannotStart(`${full} failed to import`, withPlace(full, error));
    }
    const { default: main, 'module.exports': same, ...named } = namespace; // Node 23 and newer name it twice
    if (typeof main === 'function') return { run: main, ...named };
    const inside = main !== null && typeof main === 'object' ? main : {};
    return { ...inside, ...named };
}

/**
 * An error in a file's syntax does not say where it is: Node itself does, of one that nobody catches. Another process
 * runs into the same, before any of the author's code has run: modules are linked first.
 */
function withPlace(full, error) {
    if (!(error instanceof SyntaxError) || /^\s+at /m.test(log.stackOf(error))) return error;
    const source = `import ${JSON.stringify(pathToFileURL(full).href)}`;
    const options = { encoding: 'utf8', env: { PATH: process.env.PATH }, timeout: 10_000 };
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', source], options);
    const [place, rest] = stderr?.split(/^SyntaxError: /m) ?? [];
    if (rest !== undefined) error.stack = `${place.trimEnd()}\n\nSyntaxError: ${error.message}`;
    return error;
}

/** Files find this package by its name, also where it is not among their own. */
function offerPackage(full) {
    try {
        createRequire(full).resolve('hookline-functions');
        return;
    } catch {
        // it is not installed beside the file
    }
    const entry = { import: new URL('index.mjs', PACKAGE).href, require: new URL('index.cjs', PACKAGE) };
    const resolve = module._resolveFilename; // for require(), which had no other way before Node 22
    module._resolveFilename = function (request, ...rest) {
        return request === 'hookline-functions'
            ? resolve.call(this, entry.require.pathname, ...rest)
            : resolve.call(this, request, ...rest);
    };
    if (module.registerHooks) {
        module.registerHooks({
            resolve: (specifier, context, next) =>
                specifier === 'hookline-functions' && context.conditions.includes('import')
                    ? { url: entry.import, format: 'module', shortCircuit: true }
                    : next(specifier, context),
        });
    } else if (module.register) {
        module.register('./resolver.mjs', { parentURL: import.meta.url, data: { url: entry.import } });
    }
}

const isClass = (value) => /^class\b/.test(Function.prototype.toString.call(value));

/** `{ name, run, check, takes, input }` of each endpoint, as checksOf() has them; a function without a schema has no check. Throws CannotStart. */
export function endpointsOf(file, exports) {
    const schemas = exports.schema ?? {};
    if (typeof schemas !== 'object' || Array.isArray(schemas))
        throw new CannotStart(`${file}: 'schema' must be an object of JSON Schemas by the functions' names`);
    const endpoints = [];
    for (const [name, value] of Object.entries(exports)) {
        if (typeof value !== 'function' || name.startsWith('_')) continue;
        if (name === 'healthz')
            log.write('warn', "healthz() is not an endpoint: /healthz is the host's own, which says that it lives");
        if (RESERVED.has(name)) continue;
        if (isClass(value))
            log.write('info', `${name} is not an endpoint: it is a class; export a function that uses it`);
        else if (!NAME.test(name))
            log.write(
                'warn',
                `${name}() is not an endpoint: a name has letters, digits and '_', a letter first, at most 128 of them`,
            );
        else endpoints.push(endpointOf(file, name, value, Object.hasOwn(schemas, name) ? schemas[name] : undefined));
    }
    const names = new Set(endpoints.map(({ name }) => name));
    for (const name of Object.keys(schemas))
        if (!names.has(name)) throw new CannotStart(`${file}: there is a schema for ${name}(), and no such function`);
    if (endpoints.length === 0)
        throw new CannotStart(
            `${file} exports no function; one is needed, for example: export function run({ prompt }) { return prompt.toUpperCase() }`,
        );
    return endpoints;
}

function endpointOf(file, name, run, schema) {
    if (schema === undefined) return { name, run, takes: () => true, input: JSON.stringify(schemaOf(run)) };
    try {
        return { name, run, ...checksOf(name, schema), input: JSON.stringify(schema) };
    } catch (error) {
        const why = error instanceof BadSchema ? error.message : `it is not JSON (${error.message})`;
        throw new CannotStart(`${file}: the schema of ${name}() cannot be held: ${why}`);
    }
}
