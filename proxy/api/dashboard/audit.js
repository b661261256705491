// audit.js - who changed what: accounts, webhooks sent again, others' runs, keys, settings; newest first.
import * as api from './api.js';
import { showChips } from './chips.js';
import { addStyle, busy, button, fill, h, note, refill } from './dom.js';
import { exportButton } from './export_button.js';
import { fillAround, timeBounds } from './filter.js';
import { plural, time, visible } from './format.js';
import { ListFilter, listed, timeField } from './list_filter.js';

await addStyle('list.css');

const PAGE = 100;
const HEADS = ['When', 'What', 'Who', 'From', 'On what', 'More'];
const WORDS = {
    account_made: 'made an API key',
    account_limited: 'changed the limits of an API key',
    account_revoked: 'revoked an API key',
    delivery_redelivered: 'sent a webhook again',
    delivery_resent: 'sent a webhook to another URL',
    webhook_tested: 'tested a webhook’s receiver',
    deliveries_redelivered: 'sent webhooks again',
    run_cancelled: 'cancelled another’s run',
    run_rerun: 'ran another’s run again',
    session_opened: 'opened the dashboard',
    key_rotated: 'changed the key that encrypts',
    settings_changed: 'started with other settings',
    drain_begun: 'began to stop',
    drain_cancelled: 'took that back',
    job_made: 'made a job',
    job_stopped: 'stopped a job',
    job_ended: 'a job ended',
};

const FILTER = new ListFilter('audit', [timeField('When'), listed('action', 'What', Object.entries(WORDS))]);

export function show(main) {
    const gone = new AbortController();
    const filter = FILTER.read();
    const asked = { action: filter.action, ...timeBounds(filter) };
    const problem = h('div');
    const body = h('tbody', { role: 'rowgroup' });
    const table = makeTable(body);
    const rest = h('div.rest');
    let count = 0;
    const saving = exportButton({
        name: 'audit',
        path: '/audit',
        rows: 'audit',
        query: () => asked,
        about: 'Of what matches this page’s filters all that is kept: for 90 days, or for as long as runs are, if that is longer.',
    });
    const line = h('div.filters.narrow', { id: 'filters-audit' }, showChips(FILTER.line(filter)));
    fillAround(main, line, [h('h1', { id: 'audit' }, 'Audit')], [h('div.actions.tools', {}, saving), FILTER.showIgnored(), problem, table, rest]);
    table.hidden = true;

    async function load(cursor) {
        try {
            const query = { ...asked, limit: PAGE, cursor };
            const { audit, next_cursor: next } = await api.get('/audit', { query, signal: gone.signal });
            fill(problem);
            body.append(...audit.map(makeRow));
            count += audit.length;
            table.hidden = count === 0;
            refill(rest, showRest(next));
        } catch (error) {
            const why = note('error', 'The list could not be loaded', h('p', {}, error.message));
            if (error.name !== 'AbortError') fill(problem, why);
        }
    }

    function showRest(cursor) {
        if (!count && FILTER.isOn(filter)) return [note('empty', 'No change matches these filters', h('p', {}, h('a', { href: '#/audit' }, 'Show all changes'), ' or choose others.'))];
        if (!count) return [note('empty', 'No changes yet', h('p', {}, 'What admins change is listed here.'))];
        return [h('span.count', {}, plural(count, 'change')), cursor ? button('Show more', ({ target }) => busy(target, () => load(cursor))) : null];
    }

    load();
    return () => gone.abort();
}

function makeTable(body) {
    const heads = HEADS.map((text) => h('th', { scope: 'col', role: 'columnheader' }, text));
    return h(
        'table.keys',
        { 'aria-labelledby': 'audit', role: 'table' },
        h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads)),
        body,
    );
}

function makeRow(row) {
    const cell = (of, ...content) => h('td', { role: 'cell', 'data-label': of }, content);
    const count = row.count === null ? null : h('span.sub', {}, row.action === 'job_ended' ? `done to ${row.count}` : plural(row.count, 'webhook'));
    return h(
        'tr',
        { role: 'row' },
        cell('When', time(row.at)),
        cell('What', WORDS[row.action] ?? visible(row.action), count),
        cell('Who', showWho(row.who)),
        cell('From', visible(row.from ?? row.via ?? '').replaceAll('_', ' ')),
        cell('On what', showTarget(row.target)),
        h('td.more', { role: 'cell', 'data-label': 'More' }, h('span.sub', {}, row.detail ? visible(words(row.detail)) : '')),
    );
}

function showWho(who) {
    if (who?.account_id) return [h('strong', {}, visible(who.account_name ?? '')), h('span.sub', { title: 'id' }, who.account_id)];
    if (who?.subject) return visible(who.subject);
    return who?.uid == null ? '–' : `uid ${who.uid}`;
}

function showTarget(target) {
    if (!target) return '–';
    const { kind, id, name } = target;
    const text = visible(`${kind} ${name ?? ''}`);
    const page = { run: 'runs', job: 'jobs' }[kind];
    return [page && id ? h('a', { href: `#/${page}/${id}` }, text) : text, id && h('span.sub', { title: 'id' }, id)];
}

/** `{a: {from: 1, to: null}, b: 'changed'}` as `a: 1 → not set, b: changed`. */
function words(detail) {
    const word = (value) => (value === null ? 'not set' : String(value));
    const one = ([name, value]) => {
        if (name === 'settings') return words(value);
        if (value && typeof value === 'object' && 'to' in value) return `${name}: ${word(value.from)} → ${word(value.to)}`;
        return `${name}: ${value && typeof value === 'object' && !Array.isArray(value) ? words(value) : word(value)}`;
    };
    return Object.entries(detail).map(one).join(', ');
}
