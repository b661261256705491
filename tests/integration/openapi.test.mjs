// The description of the interface is served and sound, says what the tables of routes say, and clients made from it work.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import openapiTS, { astToString } from 'openapi-typescript';
import { InputData, JSONSchemaInput, quicktype } from 'quicktype-core';
import ts from 'typescript';
import { test } from './lib/case.mjs';
import { FILE, description, faultsOf, operations, resolve } from './lib/openapi.mjs';
import { assertRefused, control, rest } from './lib/rest.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, stage } from './lib/stage.mjs';

const PATH = '/v2/openapi.json';
const JWT = { HOOKLINE_AUTH: 'jwt', HOOKLINE_PROJECT_ID: 'p', HOOKLINE_APP_NAME: 'a' };
const MODULES = fileURLToPath(new URL('node_modules', import.meta.url));
const run = promisify(execFile);
const source = (path) => readFile(new URL(`../../proxy/${path}`, import.meta.url), 'utf8');

/** An admin's token for project p. */
async function makeToken(sidecar) {
    const body = { name: 'client', expires_at: new Date(Date.now() + 3_600_000).toISOString(), role: 'admin' };
    return (await control(sidecar)('POST', '/v2/projects/p/service-accounts', { body })).json().token;
}

test('it is served by every listener, to whoever asks, and not again to who has it', async (t) => {
    const { sidecar, app } = await stage(t, { env: JWT });
    const file = await readFile(FILE);
    for (const ask of [rest(sidecar), rest(sidecar, { admin: true }), control(sidecar)]) {
        const whole = await ask('GET', PATH);
        assert.equal(whole.status, 200);
        assert.ok(whole.body.equals(file));
        assert.equal(whole.headers['content-type'], 'application/json');
        assert.equal(whole.headers['cache-control'], 'no-cache');
        const { etag } = whole.headers;
        const known = await ask('GET', PATH, { headers: { 'if-none-match': `"x", W/${etag}` } });
        assert.deepEqual([known.status, known.body.length, known.headers.etag], [304, 0, etag]);
        const head = await ask('HEAD', PATH);
        assert.deepEqual([head.status, head.headers['content-length']], [200, String(file.length)]);
        assertRefused(await ask('POST', PATH), 405);
    }
    assert.equal(app.requests.filter((r) => r.path.startsWith(PATH)).length, 0);
});

test('it is sound OpenAPI 3.1, and the version is the one of the contract', async () => {
    const config = await createConfig({ extends: ['recommended'], rules: { 'no-server-example.com': 'off' } });
    const faults = await lintFromString({ source: JSON.stringify(description), absoluteRef: '/openapi.json', config });
    assert.deepEqual(faults.map((p) => `${p.message} ${p.location[0]?.pointer}`), []);
    assert.match(description.openapi, /^3\.1\./);
    assert.equal(description.info.version, '1.0.0');
});

/** The tables of routes: `METHOD path` with braces of any name, and the query parameters that are read there. */
async function readRoutes() {
    const [routes, params, endpoints, header, passed] = await Promise.all(
        ['api/rest_route.c', 'api/rest_param.c', 'api/endpoint.c', 'route/description.h', 'api/admin_pass.c'].map(source));
    const names = [...params.matchAll(/\{(HL_REST_\w+(?: \| HL_REST_\w+)*), "(\w+)", read_/g)];
    const macros = new Map([...routes.replaceAll('\\\n', ' ').matchAll(/#define (\w+)\s+\(([^)]*)\)/g)].map(([, name, value]) => [name, value]));
    const expand = (flags) => flags.replace(/\b(?!HL_)[A-Z_]+\b/g, (word) => (macros.has(word) ? expand(macros.get(word)) : word));
    const read = (flags) => expand(flags).match(/HL_REST_\w+/g) ?? [];
    const rows = [...routes.matchAll(/\{HL_METHOD_(\w+), "([^"]+)", HL_REST_\w+, ([^,]+), /g)].map(([, method, path, flags]) => ({
        key: `${method} ${path.replace(/\{\w+\}/g, '{}')}`,
        query: read(flags).flatMap((flag) => names.filter(([, groups]) => groups.split(' | ').includes(flag)).map(([, , name]) => name)).sort(),
    }));
    const own = header.match(/HL_DESCRIPTION_PATH "([^"]+)"/)[1];
    const fixed = [...endpoints.matchAll(/\{HL_METHOD_(\w+), (?:"([^"]+)"|HL_DESCRIPTION_PATH), /g)].map(([, method, path]) => ({
        key: `${method} ${path ?? own}`,
        query: path === '/v2/now' ? ['after', 'newest'] : [],
    }));
    assert.ok(rows.length > 40 && fixed.length > 4 && names.length > 10, 'the tables are read');
    const listing = passed.match(/HL_STR\("(\/v2\/[a-z]+)"\)/)[1];
    return [...rows, ...fixed, { key: `GET ${listing}`, query: [] }];
}

/** The parameters of an operation that stand in a place, by name. */
const paramsOf = ({ operation, item }, where) =>
    [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((p) => resolve(p).node).filter((p) => p.in === where).map((p) => p.name).sort();

test('every route of the tables is described with its parameters, and nothing else is', async () => {
    const routes = await readRoutes();
    const isElsewhere = ({ path }) => path.startsWith('/v4/') || path.startsWith('/_hookline/');
    const described = operations.filter((one) => !isElsewhere(one)).map((one) => ({
        key: `${one.method} ${one.path.replace(/\{\w+\}/g, '{}')}`,
        query: paramsOf(one, 'query'),
    }));
    const sorted = (list) => [...list].sort((a, b) => (a.key < b.key ? -1 : 1));
    assert.deepEqual(sorted(described), sorted(routes));
    for (const one of operations)
        assert.deepEqual(paramsOf(one, 'path'), [...one.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(), one.path);
    const plan = await source('route/plan.c');
    for (const { path } of operations.filter(isElsewhere)) {
        const fixed = path.startsWith('/_hookline') ? path : '/v4';
        assert.ok(plan.includes(`HL_STR("${fixed}")`), path);
    }
    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
});

test('words that are shown are those of the tables', async () => {
    const [record, priority] = [await source('store/record.h'), await source('base/priority.h')];
    const words = (text, map) => [...text.match(new RegExp(`#define ${map}\\(X\\)(?:.*\\\\\n)*.*`))[0].matchAll(/X\(\w+, "(\w+)"\)/g)].map(([, word]) => word).sort();
    const shown = (name, member) => {
        const schema = description.components.schemas[name];
        return (member ? schema.properties[member] : schema).enum.filter((word) => word !== null).sort();
    };
    for (const [text, map, name, member] of [
        [record, 'HL_RUN_STATE_MAP', 'RunState'],
        [record, 'HL_RUN_REASON_MAP', 'Run', 'reason'],
        [record, 'HL_ROLE_MAP', 'Role'],
        [record, 'HL_DELIVERY_STATE_MAP', 'DeliveryState'],
        [record, 'HL_ATTEMPT_VERDICT_MAP', 'DeliveryAttempt', 'outcome'],
        [priority, 'HL_PRIORITY_MAP', 'Priority'],
    ])
        assert.deepEqual(shown(name, member), words(text, map), name);
});

test('what does not fit a schema is found', () => {
    assert.deepEqual(faultsOf('/components/schemas/RunAccepted', { run_id: '01a201a0-7ddc-7120-be8f-0d98886c0abe' }), []);
    for (const wrong of [{}, { run_id: 1 }, { run_id: 'x' }, { run_id: '01a201a0-7ddc-7120-be8f-0d98886c0abe', more: 1 }])
        assert.equal(faultsOf('/components/schemas/RunAccepted', wrong).length, 1, JSON.stringify(wrong));
});

const TYPESCRIPT = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api';
type Run = components['schemas']['Run'];

export async function work(baseUrl: string, token: string, webhookEndpoint: string): Promise<Run> {
    const client = createClient<paths>({ baseUrl, headers: { Authorization: 'Bearer ' + token } });
    const path = { project_id: 'p', app_name: 'a' };
    const accepted = await client.POST('/v4/{project_id}/{app_name}/run', { params: { path, query: { async: 'true', webhookEndpoint } }, body: { x: 1 } as never });
    const location = accepted.response.headers.get('Location') ?? '';
    const run_id = location.slice(location.lastIndexOf('/') + 1);
    const { data, error } = await client.GET('/v2/projects/{project_id}/runs/{run_id}', { params: { path: { project_id: 'p', run_id }, query: { wait: 20 } } });
    if (!data) throw new Error(error.detail);
    const list = await client.GET('/v2/projects/{project_id}/runs', { params: { path: { project_id: 'p' }, query: { state: 'success', limit: 5 } } });
    if (list.data?.runs[0]?.run_id !== data.run_id) throw new Error('it is not in the list');
    const nowhere = await client.GET('/v2/projects/{project_id}/runs/{run_id}', { params: { path: { project_id: 'p', run_id: '01a201a0-7ddc-7120-be8f-0d98886c0abe' } } });
    if (nowhere.error?.status !== 404) throw new Error('a run that is not there');
    return data;
}
`;

/** Compiles strictly; texts of what is wrong. */
function compile(directory, main) {
    const program = ts.createProgram([join(directory, main)], {
        strict: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
        lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'], types: [], skipLibCheck: true, outDir: directory,
    });
    const { diagnostics } = program.emit();
    return [...ts.getPreEmitDiagnostics(program), ...diagnostics].map((d) => ts.flattenDiagnosticMessageText(d.messageText, '\n'));
}

test('a TypeScript client that is made from it compiles strictly and works', async (t) => {
    const { sidecar, receiver } = await stage(t, { env: JWT });
    const directory = await temporaryDirectory(t);
    await writeFile(join(directory, 'api.d.ts'), astToString(await openapiTS(FILE)));
    await writeFile(join(directory, 'client.ts'), TYPESCRIPT);
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    await symlink(MODULES, join(directory, 'node_modules'));
    assert.deepEqual(compile(directory, 'client.ts'), []);
    const { work } = await import(pathToFileURL(join(directory, 'client.js')).href);
    const shown = await work(sidecar.url, await makeToken(sidecar), receiver.url());
    assert.deepEqual([shown.state, shown.mode, shown.deliveries.length], ['success', 'async', 1]);
    await receiver.delivered();
});

const PYTHON = `
import json, sys, urllib.error, urllib.parse, urllib.request
from api import Problem, Run, RunAccepted, RunPage, RunState, Webhook
base, token, hook = sys.argv[1:4]

def ask(method, path):
    request = urllib.request.Request(base + path, method=method, headers={"Authorization": "Bearer " + token})
    try:
        return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as refused:
        return json.load(refused)

accepted = RunAccepted.from_dict(ask("POST", "/v4/p/a/run?async=true&webhookEndpoint=" + urllib.parse.quote(hook, safe="")))
run = Run.from_dict(ask("GET", f"/v2/projects/p/runs/{accepted.run_id}?wait=20"))
page = RunPage.from_dict(ask("GET", "/v2/projects/p/runs?limit=5"))
problem = Problem.from_dict(ask("GET", "/v2/projects/p/runs/x"))
assert page.runs[0].run_id == accepted.run_id == run.run_id
assert run.state == RunState.SUCCESS and run.created_at <= run.finished_at
assert len(run.deliveries) == 1 and page.next_cursor is None
webhook = Webhook.from_dict(json.loads(sys.stdin.readline()))
assert webhook.run_id == run.run_id
print(json.dumps([problem.status, webhook.status.value, run.to_dict()["attempts"]]))
`;

/** Classes for some of the schemas, without those for times and ids: they need a package that is not Python's own. */
async function makePython() {
    const isFormat = (key, value) => key === 'format' && typeof value === 'string';
    const { schemas } = JSON.parse(JSON.stringify(description.components, (key, value) => (isFormat(key, value) ? undefined : value)));
    const members = { RunAccepted: 'run_accepted', Run: 'run', RunPage: 'run_page', Problem: 'problem', WebhookPayload: 'webhook' };
    const properties = Object.fromEntries(Object.entries(members).map(([name, member]) => [member, { $ref: `#/components/schemas/${name}` }]));
    const input = new JSONSchemaInput(undefined);
    await input.addSource({ name: 'Answers', schema: JSON.stringify({ type: 'object', properties, components: { schemas } }) });
    const inputData = new InputData();
    inputData.addInput(input);
    return (await quicktype({ inputData, lang: 'python', rendererOptions: { 'python-version': '3.7' } })).lines.join('\n');
}

test('Python classes that are made from it hold what is answered', async (t) => {
    const { sidecar, receiver } = await stage(t, { env: JWT });
    const directory = await temporaryDirectory(t);
    await writeFile(join(directory, 'api.py'), await makePython());
    await writeFile(join(directory, 'client.py'), PYTHON);
    const token = await makeToken(sidecar);
    const client = run('/usr/bin/python3', [join(directory, 'client.py'), sidecar.url, token, receiver.url()]);
    const delivery = await receiver.delivered();
    client.child.stdin.end(`${delivery.bytes}\n`);
    assert.deepEqual(JSON.parse((await client).stdout), [404, 'success', 1]);
});
