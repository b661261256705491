// replicas.js - who shares the store with this hookline: who is alive, since when, with how much in hand.
import * as api from './api.js';
import { badge, fill, h, renew } from './dom.js';
import { duration, number, visible } from './format.js';
import { showStale } from './stale.js';

const EVERY = 5000;
const KINDS = { alive: 'success', silent: 'running', dead: 'failure' };

/** Fills `section` and keeps it up to date. Answers `{ stop }`. */
export function showReplicas(section) {
    const problem = h('div');
    const body = h('tbody', { role: 'rowgroup' });
    fill(section, h('h2', { id: 'replicas' }, 'Replicas'), problem, makeTable(body));

    async function turn(signal) {
        const { replicas } = await api.get('/replicas', { signal });
        const rows = replicas.map(makeRow);
        renew(body, rows);
        fill(problem);
    }

    return api.poll(EVERY, turn, (error, at) => showStale(problem, 'The replicas are', error, at));
}

function makeTable(body) {
    const names = ['Name', 'Role', 'State', 'Version', 'Up for', 'Last heard', 'Runs', 'Webhooks'];
    const heads = names.map((text) => h('th', { scope: 'col', role: 'columnheader' }, text));
    return h(
        'table.keys',
        { 'aria-labelledby': 'replicas', role: 'table' },
        h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads)),
        body,
    );
}

function makeRow(replica) {
    const cell = (of, ...content) => h('td', { role: 'cell', 'data-label': of }, content);
    const id = h('span.sub', { title: 'id' }, replica.replica_id);
    const isDead = replica.state === 'dead';
    return h(
        'tr',
        { role: 'row' },
        h('td.name', { role: 'cell' }, h('strong', {}, visible(replica.name)), id),
        cell('Role', replica.role),
        cell('State', badge(KINDS[replica.state] ?? 'queued', replica.state)),
        cell('Version', visible(replica.version)),
        cell('Up for', isDead ? '–' : duration(replica.age_seconds * 1000)),
        cell('Last heard', `${duration(replica.beat_seconds * 1000)} ago`),
        cell('Runs', number(replica.runs)),
        cell('Webhooks', number(replica.deliveries)),
    );
}
