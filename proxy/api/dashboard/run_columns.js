// run_columns.js - what the list of runs says of each: its columns, which of them are shown, their cells.
// Not here: choosing them (views.js), the rows' order (run_list.js).
import { now } from './clock.js';
import { badge, h, s } from './dom.js';
import { parametersOf } from './filter.js';
import { bytes, cutName, id, time, visible } from './format.js';
import { REASONS, modeChip, ranFor, runPath, tagChips } from './state.js';

const KEY = 'hookline-run-columns';
const LONGEST = 3_600_000; /* ms: a bar as long as it can be */
const BAR = 32; /* px */
const PATH_END = 12;
const END = 8; /* characters of a name that stay in a narrow column */

/** `name`: of its class, too. `isOwn`: shown unless somebody wants it otherwise; `isFixed`: always. */
export const COLUMNS = [
    { name: 'state', label: 'State', isFixed: true, cell: (run) => badge(run.state, run.state) },
    { name: 'app', label: 'App', isOwn: true, cell: (run) => cut('app-name', run.app_name) },
    { name: 'run', label: 'Call', isFixed: true, cell: (run) => cut('path', `${run.method} ${run.path}`, PATH_END) },
    { name: 'error', label: 'Error', isOwn: true, cell: errorCell },
    { name: 'tags', label: 'Tags', cell: tagChips },
    { name: 'mode', label: 'Mode', isOwn: true, cell: modeChip },
    { name: 'code', label: 'Status', isOwn: true, kind: 'num', cell: (run) => run.status_code ?? none() },
    { name: 'delivery', label: 'Webhook', isOwn: true, cell: (run) => showDelivery(run.deliveries) },
    { name: 'priority', label: 'Priority', cell: (run) => run.priority },
    { name: 'attempts', label: 'Attempts', kind: 'num', cell: (run) => run.attempts },
    { name: 'size', label: 'In → out', kind: 'num', cell: (run) => `${bytes(run.request_bytes)} → ${bytes(run.response_bytes)}` },
    { name: 'replica', label: 'Replica', cell: (run) => cut('replica', run.replica) },
    { name: 'who', label: 'Who', cell: (run) => cut('who-made', run.subject) },
    { name: 'took', label: 'Duration', isOwn: true, kind: 'num', cell: tookCell },
    { name: 'time', label: 'Accepted', cell: (run) => time(run.created_at) },
    { name: 'age', label: 'Age', isOwn: true, kind: 'num', cell: (run) => age(run.created_at) },
    { name: 'id', label: 'Run', isFixed: true, cell: (run) => h('a', { href: runPath(run), draggable: 'false' }, id(run.run_id)) },
];

const none = () => h('span.none', {}, '–');

/** What may be longer than its column, and which ends tell apart: of what is as narrow as an app's, fewer characters. */
function cut(name, text, end = END) {
    return text ? h(`span.cut.${name}`, { title: visible(text) }, cutName(text, end)) : none();
}

function errorCell({ reason, error }) {
    if (!reason && !error) return [];
    const saysMore = reason && !(error && reason === 'app_error');
    return h(
        'div.cut',
        {},
        saysMore ? h('span.reason', { title: REASONS[reason] }, reason) : null,
        error ? h('span.went-wrong', { title: visible(error) }, visible(error)) : null,
    );
}

function showDelivery({ pending, delivered, dead }) {
    const parts = [
        [dead, 'failure', 'dead'],
        [pending, 'retry', 'pending'],
        [delivered, 'success', 'delivered'],
    ].filter(([n]) => n > 0);
    if (!parts.length) return h('span.none', { title: 'no webhook' }, '–');
    const show = ([n, kind, word]) => badge(kind === 'retry' ? 'running' : kind, n > 1 ? `${n} ${word}` : word, kind);
    return [h('span.of-webhook', {}, 'webhook '), parts.map(show)];
}

/** A bar on a log scale, from a millisecond to an hour, with the number beside it. */
function tookCell(run) {
    if (!run.started_at) return none();
    const ms = (run.finished_at ? Date.parse(run.finished_at) : now()) - Date.parse(run.started_at);
    const share = Math.log10(Math.max(ms, 0) + 1) / Math.log10(LONGEST);
    const width = Math.max(1, Math.min(1, share) * BAR).toFixed(1);
    const bar = s('rect', { width, height: 6, rx: 1, class: `took is-${run.state}` });
    const text = h(`span${run.state === 'running' ? '.live' : ''}`, {}, ranFor(run));
    return [s('svg.took-bar', { viewBox: `0 0 ${BAR} 6`, 'aria-hidden': 'true' }, bar), text];
}

/** As all times are told; what is copied of a table knows it. */
function age(at) {
    const element = time(at);
    element.classList.add('age');
    return element;
}

/* ---- which are shown ---- */

const nameOf = ({ name }) => name;
const find = (name) => COLUMNS.find((column) => column.name === name);

/** Storage that is full or not allowed costs the memory, not the page. */
function remembered(key) {
    try {
        return localStorage.getItem(key);
    } catch {
        return null;
    }
}

function remember(key, value) {
    try {
        localStorage.setItem(key, value);
    } catch {
        return;
    }
}

function known(text) {
    const names = text?.split(',').filter(find);
    return names?.length ? names : null;
}

/** Names of those that somebody chose, in the address or here before; null: nobody did. */
const choice = () => known(parametersOf().get('cols')) ?? known(remembered(KEY));

/** Such are shown where there is room for a table of them. */
export const areChosen = () => choice() !== null;

/** Names of those that are chosen, by somebody or by themselves. */
export function chosenColumns() {
    return choice() ?? COLUMNS.filter(({ isOwn, isFixed }) => isOwn || isFixed).map(nameOf);
}

export function rememberColumns(names) {
    remember(KEY, `${names}`);
}

/** In the order in which they stand. `hasApps`: there are several, so that each row names its own. */
export function shownColumns(names, hasApps) {
    return COLUMNS.filter(({ name, isFixed }) => isFixed || (names.includes(name) && (name !== 'app' || hasApps)));
}

/* ---- the table ---- */

const classOf = ({ name, kind }) => `c-${name}${kind ? ` ${kind}` : ''}`;

export function headOf(columns) {
    const heads = columns.map((column) => h('th', { scope: 'col', class: classOf(column) }, column.label));
    return h('thead', {}, h('tr', {}, heads));
}

export function cellsOf(run, columns) {
    return columns.map((column) => h('td', { class: classOf(column) }, column.cell(run)));
}

/** What is selected in a table, as text: ids are whole and times exact. Null: nothing of it. */
export function copiedText(table) {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) return null;
    const range = selection.getRangeAt(0);
    const rows = [...table.tBodies[0].rows].filter((row) => range.intersectsNode(row));
    const cells = (row) => [...row.cells].filter((cell) => range.intersectsNode(cell) && cell.getClientRects().length);
    if (!rows.length || (rows.length === 1 && cells(rows[0]).length === 1 && !cells(rows[0])[0].querySelector('.age, .id'))) return null;
    return rows.map((row) => cells(row).map(textOf).join('\t')).join('\n');
}

function textOf(cell) {
    const whole = cell.querySelector('.age, .id, .cut[title]');
    return whole ? whole.title : cell.innerText.trim().replace(/\s+/g, ' ');
}
