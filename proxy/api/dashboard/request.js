// request.js - what a run was called with: the fields and the body that the app got, and the call as a command.
// Promise: no value of a field that may be secret is here, and no token: the server gives out harmless ones only.
import * as api from './api.js';
import { isJsonType, isTextType, showBody } from './body.js';
import { fill, h } from './dom.js';
import { plural, visible } from './format.js';

const LINE_MAX = 16 * 1024; /* bytes of a body that stand in the command; a longer one is a file beside it */
const UNFIT = /(?![\t\n])[\p{Cc}\p{Cf}\ufffd]/u; /* what a terminal obeys when it is pasted, and what was no text */
const SENT = /^(accept|content-type|content-encoding|content-language)$/i;

/** Fills the section of a run, once: what a run was called with does not change. */
export function showRequest(section, run, path, { signal }) {
    if (!run.request_fields) return fill(section, h('p.hint', {}, whyNot(run)));
    const parts = run.request_bytes ? showBody(bodyOf(run, path), { signal }) : null;
    return fill(
        section,
        parts ? h('div.title-row', {}, h('span.hint', {}, `${run.method} ${visible(run.path)}`), parts.actions) : h('p.hint', {}, 'It had no body.'),
        parts ? parts.view : null,
        showFields(run.request_fields),
        h('p.hint', {}, leftOut(run)),
    );
}

/** Opens the form for a new run, filled with this one's request. Throws ApiError. */
export async function editRequest(run, path) {
    const text = run.request_bytes ? await (await api.request('GET', bodyOf(run, path).path)).text() : '';
    const { prefill } = await api.part(() => import('./playground.js'));
    prefill({ app: run.app_name, path: run.path.replace(/^\/+/, ''), method: run.method, mode: run.async ? 'async' : 'sync', body: indented(text) });
    location.hash = '#/new';
}

/** As it was, if it is not what it says that it is. */
function indented(text) {
    try {
        return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
        return text;
    }
}

function whyNot(run) {
    if (!('request_fields' in run)) return 'Only admins and whoever made the run can see it.';
    if (!run.async) return 'The request of a synchronous run is not kept.';
    return 'It is not kept. HOOKLINE_KEEP_REQUESTS says of which runs it is kept after their end; when the store is full, requests go first.';
}

function field(run, wanted) {
    return run.request_fields.find(({ name }) => name.toLowerCase() === wanted)?.value ?? '';
}

function bodyOf(run, path) {
    const type = field(run, 'content-type');
    return {
        path: `${path}/request`,
        size: run.request_bytes,
        type,
        encoding: field(run, 'content-encoding'),
        isJson: isJsonType(type),
        isText: isTextType(type),
        name: 'request',
        file: `${run.run_id}.request`,
        title: 'tab-input',
    };
}

/* ---- its fields ---- */

function showFields(fields) {
    const row = ({ name, value }) =>
        h(
            'tr',
            {},
            h('th', { scope: 'row' }, visible(name)),
            h('td', {}, value === null ? h('span.none', {}, 'not shown') : visible(value)),
        );
    return h(
        'details',
        {},
        h('summary', {}, plural(fields.length, 'header field')),
        h('table.header-fields', { 'aria-label': 'Header fields' }, h('tbody', {}, fields.map(row))),
    );
}

/* ---- the call as a command ---- */

/** What the command does not say, for hookline does not. */
function leftOut({ request_fields: fields }) {
    const secret = fields.filter(({ value, name }) => value === null && !/^(host|authorization|via|x-forwarded-.*|forwarded)$/i.test(name));
    const names = secret.map(({ name }) => visible(name)).join(', ');
    return `The command has $TOKEN in the place of a token. Not in it: the query and the webhook, if there were any${names ? `, and ${names}, as their values are not shown` : ''}.`;
}

/** The call as a command of curl. */
export async function asCommand(run, path) {
    const body = bodyOf(run, path);
    const text = run.request_bytes ? await shortText(body) : '';
    const { project } = api.session;
    const target = `/v4/${project}/${run.app_name}${run.path}${run.async ? '?async=true' : ''}`;
    const lines = [`curl -i -X ${run.method} ${quote(api.runListener() + target)}`];
    if (api.session.token) lines.push('-H "Authorization: Bearer $TOKEN"');
    for (const { name, value } of run.request_fields)
        if (value !== null && SENT.test(name)) lines.push(`-H ${quote(`${name}: ${value}`)}`);
    if (run.request_bytes) lines.push(text === null ? `--data-binary @${fileOf(body)}` : `--data-binary ${quote(text)}`);
    return lines.join(' \\\n  ');
}

/** As it is called when it is downloaded. */
function fileOf({ file, isJson, isText }) {
    return `${file}.${isJson ? 'json' : isText ? 'txt' : 'bin'}`;
}

/** null: it is too long for a command, or nothing that a shell could be given. */
async function shortText({ path, size, isText, encoding }) {
    if (size > LINE_MAX || !isText || !isPlain({ encoding })) return null;
    const text = await (await api.request('GET', path)).text();
    return UNFIT.test(text) || text.startsWith('@') ? null : text;
}

function isPlain({ encoding }) {
    return !encoding || encoding === 'identity';
}

/** For a POSIX shell. */
function quote(text) {
    return `'${text.replaceAll("'", "'\\''")}'`;
}
