// openapi.mjs - holds what hookline answers to the description of its interface (proxy/api/openapi.json).
// The description lets answers have further members, for clients that are older than what they talk to; here such a
// member is a fault, so that the description never lags behind.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

export const FILE = new URL('../../../proxy/api/openapi.json', import.meta.url);
export const description = JSON.parse(readFileSync(FILE));

const PROBLEM = 'application/problem+json';
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

const require = createRequire(import.meta.url);
const validators = new Map();
let ajv;

/** Made when something is judged first: it takes as long as all else that a file loads. */
function judge() {
    if (ajv) return ajv;
    const { default: Ajv } = require('ajv/dist/2020.js');
    // What it makes runs a few times; of what it is given only the parts are schemas, and those it never held to a schema of schemas.
    ajv = new Ajv({ strict: false, allErrors: true, meta: false, validateSchema: false, code: { optimize: false } });
    require('ajv-formats').default(ajv);
    return ajv.addSchema(closed(description), 'openapi');
}

/** A copy in which objects have the members that are named for them, and no others. */
function closed(node) {
    if (Array.isArray(node)) return node.map(closed);
    if (node === null || typeof node !== 'object') return node;
    const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
    return node.type === 'object' && node.properties ? { unevaluatedProperties: false, ...copy } : copy;
}

/** What is wrong with a value that a schema of the description, by its JSON pointer, should fit: texts. */
export function faultsOf(pointer, value) {
    if (!validators.has(pointer)) validators.set(pointer, judge().compile({ $ref: `openapi#${pointer}` }));
    const validate = validators.get(pointer);
    return validate(value) ? [] : validate.errors.map((e) => `${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`);
}

const escape = (text) => text.replaceAll('~', '~0').replaceAll('/', '~1');
export const pointerTo = (...names) => encodeURI(names.map((name) => `/${escape(name)}`).join(''));

/** What a reference stands for, or the node itself. */
export function resolve(node, pointer) {
    if (!node?.$ref) return { node, pointer };
    const names = node.$ref.slice(2).split('/');
    return { node: names.reduce((at, name) => at[name], description), pointer: `/${names.join('/')}` };
}

const paths = Object.keys(description.paths).map((path) => ({
    path,
    // what is written out comes before what stands for something
    rank: path.split('/').filter((segment) => segment.startsWith('{')).length,
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace('{path}', '.+').replace(/\{\w+\}/g, '[^/]+')}$`),
})).sort((a, b) => a.rank - b.rank);

/** The paths of the description that a request's path fits. */
const fitting = (path) => paths.filter(({ pattern }) => pattern.test(path)).map(({ path: found }) => found);

/** Method, path and what stands there for every operation. */
export const operations = Object.entries(description.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ method: method.toUpperCase(), path, operation: item[method], item })));

/** Whether the description has something at that path. */
export const isDescribed = (target) => fitting(target.split('?')[0]).length > 0;

/** The response of an operation that has this status, with its pointer; undefined: there is none. */
function responseOf(path, method, status) {
    const { responses } = description.paths[path][method];
    const key = [String(status), `${String(status)[0]}XX`, 'default'].find((name) => responses[name]);
    return key && { key, ...resolve(responses[key], pointerTo('paths', path, method, 'responses', key)) };
}

const typeOf = (headers) => (headers['content-type'] ?? '').split(';')[0].trim();

function contentOf(response, type) {
    const key = [type, `${type.split('/')[0]}/*`, '*/*'].find((name) => response.node.content?.[name]);
    return key && { isAny: key === '*/*', pointer: `${response.pointer}${pointerTo('content', key, 'schema')}` };
}

function faultsOfBody(pointer, type, body) {
    if (!/[/+]json$/.test(type)) return [];
    try {
        return faultsOf(pointer, JSON.parse(body));
    } catch (error) {
        return [`no JSON: ${error.message}`];
    }
}

function faultsOfFields(response, headers) {
    return Object.keys(response.node.headers ?? {}).flatMap((name) => {
        const field = resolve(response.node.headers[name]);
        const value = headers[name.toLowerCase()];
        if (value === undefined) return [];
        const { type } = resolve(field.node.schema).node;
        return faultsOf(`${field.pointer}/schema`, type === 'integer' ? Number(value) : value).map((fault) => `${name}: ${fault}`);
    });
}

/** Asserts that an answer is what the description says of its request. `headers`: with names in lower case. */
export function assertDescribed(method, target, { status, headers, body }) {
    const where = `${method} ${target}: ${status}`;
    const found = fitting(target.split('?')[0]);
    const key = method.toLowerCase() === 'head' ? 'get' : method.toLowerCase();
    const path = found.find((one) => description.paths[one][key]);
    const type = typeOf(headers);
    if (method === 'OPTIONS') return; // a browser's question, which is answered before any path is looked at
    if (!path) {
        assert.ok(status >= 400, `${where}: nothing is described there`);
        if (type === PROBLEM && method !== 'HEAD')
            assert.deepEqual(faultsOfBody('/components/schemas/Problem', type, body), [], where);
        return;
    }
    const response = responseOf(path, key, status);
    assert.ok(response, `${where}: ${path} has no such status`);
    // A refusal is a problem; what succeeds has a status of its own.
    assert.ok(status >= 400 || response.key !== 'default', `${where}: ${path} does not say so`);
    assert.deepEqual(faultsOfFields(response, headers), [], where);
    if (method === 'HEAD' || !body.length) return;
    const content = contentOf(response, type);
    const shown = String(body).slice(0, 4000);
    assert.ok(content, `${where}: ${path} says nothing of ${type}\n${shown}`);
    if (content.isAny) return; // somebody else's bytes, whatever their type says
    assert.deepEqual(faultsOfBody(content.pointer, type, body), [], `${where}\n${shown}`);
}

/** The same for an answer of the run listener, of which only what is hookline's is judged: the rest is the app's. */
export function assertCallDescribed(method, target, answer) {
    const isOwn = /^\/v2\/(projects|openapi\.json)\b/.test(target) || target.startsWith('/_hookline/');
    const isAccepted = answer.status === 202 && answer.headers.location?.includes('/v2/projects/');
    if (isOwn || (isAccepted && target.startsWith('/v4/'))) assertDescribed(method, target, answer);
}

/** Asserts that a webhook's body is what the description says of it. */
export function assertWebhookDescribed(bytes) {
    const pointer = '/webhooks/runEnded/post/requestBody/content/application~1json/schema';
    assert.deepEqual(faultsOfBody(pointer, 'application/json', bytes), [], `webhook\n${bytes}`);
}

/** The same of an alert's. */
export function assertAlertDescribed(bytes) {
    const pointer = '/webhooks/alert/post/requestBody/content/application~1json/schema';
    assert.deepEqual(faultsOfBody(pointer, 'application/json', bytes), [], `alert\n${bytes}`);
}
