// destinations.js - where webhooks go: which places do not answer, what waits for them, how the last hour was.
import * as api from './api.js';
import { addStyle, badge, button, fill, h, load, note, renew } from './dom.js';
import { hostOf, receiverName } from './receiver.js';
import { exportButton } from './export_button.js';
import { duration, number, plural, time, visible } from './format.js';
import { showStale } from './stale.js';

await addStyle('deliveries.css');

const EVERY = 10_000;
const PAGE = 200;
const HEADS = ['Destination', 'Pending', 'Dead letters', 'Tried in the last hour', 'Delivered', 'p95', 'Last attempt'];
const TEST = 'Send a test…';

export function show(main) {
    const problem = h('div');
    const body = h('tbody', { role: 'rowgroup' });
    const table = makeTable(body);
    const rest = h('div.rest');
    let pages = 1; // as many as are looked at each time
    const saving = exportButton({
        name: 'destinations',
        path: '/destinations',
        rows: 'destinations',
        query: () => ({}),
        about: 'All destinations of the project’s webhooks.',
    });
    const title = h('div.title-row', {}, h('h1', { id: 'destinations' }, 'Destinations'), saving);
    fill(main, title, problem, table, rest);
    table.hidden = true;

    async function turn(signal) {
        const { all, hasMore } = await readAll(pages, signal);
        const rows = all.sort(worstFirst).map(makeRow);
        renew(body, rows);
        table.hidden = !rows.length;
        renew(rest, rows.length ? showCount(all, hasMore) : [showEmpty()]);
    }

    function showCount(all, hasMore) {
        const counts = [plural(all.length, 'destination'), ...countTroubles(all)];
        const more = () => {
            pages++;
            polling.now();
        };
        return [
            h('span.count', {}, counts.join(', ')),
            hasMore ? button('Show more', more) : null,
        ].filter(Boolean);
    }

    const polling = api.poll(EVERY, turn, (error, at) => showStale(problem, 'The list is', error, at));
    return () => polling.stop();
}

async function readAll(pages, signal) {
    const all = [];
    let cursor = null;
    for (let page = 0; page < pages && (page === 0 || cursor); page++) {
        const answer = await api.get('/destinations', { query: { limit: PAGE, cursor }, signal });
        all.push(...answer.destinations);
        cursor = answer.next_cursor;
    }
    return { all, hasMore: cursor !== null };
}

/** It was tried in the last hour, and nothing was delivered: it may answer, but never with success. */
function isFruitless(row) {
    return row.last_hour.success_rate === 0;
}

/** As the rows are marked: one that fails is counted as that alone. */
function countTroubles(all) {
    const failing = all.filter((row) => row.failing_since).length;
    const others = all.filter((row) => !row.failing_since && isFruitless(row)).length;
    const more = failing ? `${others} more` : others;
    return [`${failing} failing`, ...(others ? [`${more} without any delivery in the last hour`] : [])];
}

function worstFirst(a, b) {
    return (
        Number(Boolean(b.failing_since)) - Number(Boolean(a.failing_since)) ||
        Number(isFruitless(b)) - Number(isFruitless(a)) ||
        b.pending - a.pending ||
        a.destination.localeCompare(b.destination)
    );
}

function makeTable(body) {
    const heads = HEADS.map((text) => h('th', { scope: 'col', role: 'columnheader' }, text));
    return h(
        'table.keys',
        { 'aria-labelledby': 'destinations', role: 'table' },
        h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads, api.isAdmin() ? h('th', { scope: 'col', role: 'columnheader' }, h('span.hidden', {}, 'Test')) : null)),
        body,
    );
}

function makeRow(row) {
    const cell = (of, ...content) => h('td', { role: 'cell', 'data-label': HEADS[of] }, content);
    const { attempts, success_rate: rate, p95_ms: p95 } = row.last_hour;
    return h(
        'tr',
        { role: 'row' },
        h('td.name', { role: 'cell' }, h('strong', { title: visible(row.destination) }, receiverName(row)), showTrouble(row)),
        cell(1, listOf(row, 'pending'), row.oldest_pending_at ? ago('since ', row.oldest_pending_at) : null),
        cell(2, listOf(row, 'dead')),
        cell(3, number(attempts)),
        cell(4, rate === null ? '–' : `${Number((rate * 100).toFixed(1))} %`),
        cell(5, duration(p95)),
        cell(6, time(row.last_attempt_at), row.last_status_code ? h('span.sub', {}, `status ${row.last_status_code}`) : null),
        api.isAdmin() ? h('td', { role: 'cell' }, testButton(row)) : null,
    );
}

/** The receiver that something was sent to last: a destination may have several. */
function testButton({ destination }) {
    const press = async () => {
        const { deliveries } = await api.get('/deliveries', { query: { destination, limit: 1 } }).catch(() => ({ deliveries: [] }));
        const sending = await load(() => import('./send_elsewhere.js'));
        if (deliveries.length) sending?.testReceiver(deliveries[0]);
    };
    return button(TEST, press, 'small', { 'aria-label': `${TEST} to ${hostOf(destination)}` });
}

function ago(word, at) {
    return h('span.sub', {}, word, time(at));
}

/** How many, and the way to them. */
function listOf({ destination: to, ...row }, state) {
    const address = `#/deliveries?${new URLSearchParams({ state, to })}`;
    const name = `${plural(row[state], `${state} delivery`, `${state} deliveries`)} to ${visible(to)}`;
    return row[state] ? h('a', { href: address, 'aria-label': name }, number(row[state])) : '0';
}

/** That it fails, since when, or that nothing gets there; and why an attempt failed last, whenever that was. */
function showTrouble(row) {
    const isBad = row.failing_since || isFruitless(row);
    return [
        row.failing_since ? h('p', {}, badge('failure', 'failing'), ' since ', time(row.failing_since)) : null,
        isBad && !row.failing_since ? h('p', {}, badge('failure', 'none delivered'), ' in the last hour') : null,
        row.last_error ? h(`span.sub${isBad ? '.error' : ''}`, {}, `Last error: ${visible(row.last_error)}`) : null,
    ];
}

function showEmpty() {
    return note('empty', 'No destinations yet', h('p', {}, 'Where webhooks go is listed here once there is one.'));
}
