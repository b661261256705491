// runs.js - the list of runs: newest first, live. What is on the page stays where it is: rows change in
// place, new ones wait behind a button until they are asked for.
import * as api from './api.js';
import { announce, badge, button, command, fill, h, isNear, note, select } from './dom.js';
import { TIMES, changeFilter, readFilter, since } from './filter.js';
import { between, duration, id, plural, time, visible } from './format.js';
import { REASONS, isOpen, modeChip, runPath } from './state.js';

const PAGE = 50;
const FEW = 5;
const EVERY = 1500;
const STATES = ['queued', 'running', 'success', 'failure', 'cancelled'];
const OPTIONS = {
    app: null,
    state: [['', 'Any state'], ...STATES.map((state) => [state, state])],
    mode: [
        ['', 'Any mode'],
        ['async', 'Asynchronous'],
        ['sync', 'Synchronous'],
    ],
    time: TIMES,
};

function showDelivery({ pending, delivered, dead }, isBrief) {
    const parts = [
        [dead, 'failure', 'dead'],
        [pending, 'retry', 'pending'],
        [delivered, 'success', 'delivered'],
    ].filter(([n]) => n > 0);
    if (!parts.length) return isBrief ? [] : h('span.none', { title: 'no webhook' }, '–');
    return parts.map(([n, kind, word]) =>
        badge(kind === 'retry' ? 'running' : kind, n > 1 ? `${n} ${word}` : word, kind),
    );
}

function cells(run, hasApps) {
    const call = `${hasApps ? `${run.app_name} · ` : ''}${run.method} ${visible(run.path)}`;
    const took = run.started_at ? duration(between(run.started_at, run.finished_at)) : '–';
    return [
        h(
            'td',
            {},
            badge(run.state, run.state),
            run.reason && h('span.reason', { title: REASONS[run.reason] }, run.reason),
            h('span.narrow', {}, showDelivery(run.deliveries, true)),
        ),
        h(
            'td.c-run',
            {},
            h(
                'div',
                {},
                h('a', { href: runPath(run) }, id(run.run_id)),
                h('span.path', { title: call }, call),
                h('span.narrow', {}, modeChip(run)),
            ),
        ),
        h('td.c-mode', {}, modeChip(run)),
        h('td.c-time', {}, time(run.created_at)),
        h('td.c-took.num', {}, run.state === 'running' ? h('span.live', {}, took) : took),
        h('td.c-code.num', {}, run.status_code ?? '–'),
        h('td.c-delivery', {}, showDelivery(run.deliveries)),
    ];
}

const HEADS = [
    ['', 'State'],
    ['c-run', 'Run'],
    ['c-mode', 'Mode'],
    ['c-time', 'Accepted'],
    ['c-took num', 'Duration'],
    ['c-code num', 'Status'],
    ['c-delivery', 'Webhook'],
];

export function show(main, route) {
    const apps = [...api.session.apps].sort();
    const query = readFilter(route.query, OPTIONS);
    const hasApps = apps.length > 1 && !query.app;
    const filter = {
        app: query.app,
        state: query.state,
        async: { async: 'true', sync: 'false' }[query.mode],
        since: since(query.time),
    };
    const isFiltered = query.app || query.state || query.mode || query.time;

    /** run_id → `{ run, row, text }`, in the order of the page. */
    const shown = new Map();
    let waiting = []; // newer than what is shown
    let hasGap = false; // between them and what is shown there are more
    let cursor = null;

    const problem = h('div');
    const newer = h('div.newer');
    const body = h('tbody');
    const table = h(
        'table.runs',
        { hidden: true, 'aria-label': 'Runs, newest first' },
        h(
            'thead',
            {},
            h(
                'tr',
                {},
                HEADS.map(([name, text]) => h('th', { scope: 'col', class: name || null }, text)),
            ),
        ),
        body,
    );
    const rest = h('div.rest');

    fill(main, h('h1', {}, 'Runs'), showFilters(apps, query), problem, newer, table, rest);

    function put(run) {
        const text = JSON.stringify(run);
        const known = shown.get(run.run_id);
        if (!api.session.apps.includes(run.app_name)) api.session.apps.push(run.app_name);
        if (!known) {
            const row = h('tr', {}, cells(run, hasApps));
            row.addEventListener('click', (event) => {
                // A row is a large link for the mouse; text that is being selected stays.
                if (!event.target.closest('a') && !String(getSelection())) location.hash = runPath(run);
            });
            shown.set(run.run_id, { run, row, text });
            return row;
        }
        if (known.text !== text || run.state === 'running') {
            if (known.run.state !== run.state) announce(`Run ${run.run_id.slice(-12)} is ${run.state}`);
            // Only what differs is made anew: the focus and a selection stay.
            const fresh = cells(run, hasApps);
            [...known.row.children].forEach(
                (cell, i) => cell.isEqualNode(fresh[i]) || cell.replaceWith(fresh[i]),
            );
            Object.assign(known, { run, text });
        }
        return known.row;
    }

    function append(runs) {
        body.append(...runs.filter((run) => !shown.has(run.run_id)).map(put));
        table.hidden = shown.size === 0;
        showRest();
    }

    function showWaiting() {
        const n = waiting.length;
        if (!n) return fill(newer);
        const text = hasGap ? `${n} or more new runs` : plural(n, 'new run');
        fill(newer, button(`Show ${text}`, takeWaiting, 'main'));
    }

    function takeWaiting() {
        if (hasGap) return reload();
        for (const run of waiting.filter(isNew)) {
            const next = [...shown.values()].filter((known) => known.run.run_id < run.run_id);
            const before = next.reduce((a, b) => (a && a.run.run_id > b.run.run_id ? a : b), null);
            body.insertBefore(put(run), before?.row ?? null);
        }
        waiting = [];
        showWaiting();
        table.hidden = false;
        showRest();
        body.querySelector('a')?.focus();
    }

    function reload() {
        shown.clear();
        waiting = [];
        fill(body);
        cursor = null;
        isFirst = true;
        showWaiting();
        polling.now();
    }

    function showRest() {
        if (shown.size === 0 && cursor) return fill(rest, button('Look further back', older));
        if (shown.size === 0) return fill(rest, showEmpty(isFiltered));
        const count = h('span.count', {}, `${plural(shown.size, 'run')} shown`);
        fill(rest, count, cursor ? button('Show older', older) : h('span.count', {}, 'These are all.'));
    }

    /** A page. The server may give a short one although there is more: one that is empty says nothing. */
    async function list(query, signal) {
        for (let tries = 0; ; tries++) {
            const answer = await api.get('/runs', { query: { ...filter, limit: PAGE, ...query }, signal });
            cursor = answer.next_cursor;
            if (answer.runs.length || !cursor || tries === 5) return answer.runs;
            query = { cursor };
        }
    }

    async function older(event) {
        event.target.disabled = true;
        try {
            append(await list({ cursor }));
            announce(`${plural(shown.size, 'run')} shown`);
        } catch (error) {
            fill(
                rest,
                note('error', 'Older runs could not be loaded', h('p', {}, error.message)),
                button('Show older', older),
            );
        }
    }

    function onError(error) {
        fill(problem, error && note('error', 'The list is not up to date', h('p', {}, error.message)));
    }

    let isFirst = true;
    async function turn(signal) {
        const open = [...shown.values()].filter(({ run }) => isOpen(run));
        if (isFirst) {
            append(await list({}, signal));
            isFirst = false;
            return;
        }
        // With nothing under way on the page, a few lines tell whether there is anything new.
        const limit = open.length || waiting.length ? PAGE : FEW;
        const answer = await api.get('/runs', { query: { ...filter, limit }, signal });
        if (!shown.size && answer.runs.length) return append(await list({}, signal));
        if (limit === FEW && answer.runs.some(isNew)) {
            Object.assign(answer, await api.get('/runs', { query: { ...filter, limit: PAGE }, signal }));
        }
        const listed = new Set(answer.runs.map((run) => run.run_id));
        for (const run of answer.runs) if (shown.has(run.run_id)) put(run);
        const oldest = cursor ? [...shown.keys()].sort()[0] : '';
        waiting = answer.runs.filter((run) => isNew(run) && run.run_id > oldest);
        hasGap = answer.next_cursor !== null && waiting.length === answer.runs.length;
        showWaiting();
        await follow(
            open.filter(({ run }) => !listed.has(run.run_id)),
            signal,
        );
    }

    const isNew = (run) => !shown.has(run.run_id);

    /** Runs that are on the page and no longer in the list's beginning, or no longer of its filter. */
    async function follow(open, signal) {
        const near = open.filter((known) => !known.isGone && isNear(known.row));
        const ask = async (known) => {
            const one = await api.find(`/runs/${known.run.run_id}`, { signal });
            if (one) put({ ...one, deliveries: countDeliveries(one.deliveries) });
            else known.isGone = true; // it was purged, or has left the newest synchronous runs
        };
        await Promise.all(near.map(ask));
    }

    const polling = api.poll(EVERY, turn, onError);
    return () => polling.stop();
}

function countDeliveries(deliveries) {
    const counts = { pending: 0, delivered: 0, dead: 0 };
    for (const { state } of deliveries) counts[state]++;
    return counts;
}

function showFilters(apps, query) {
    const choose = (label, name, options) =>
        select(label, options, query[name], (value) => changeFilter('runs', query, { [name]: value }));
    const find = h('input', {
        type: 'search',
        placeholder: '01a1fd70-…',
        spellcheck: 'false',
        autocomplete: 'off',
    });
    const onsubmit = (event) => {
        event.preventDefault();
        const text = find.value.trim().toLowerCase();
        if (text) location.hash = `#/runs/${encodeURIComponent(text)}`;
    };
    return h(
        'form.filters',
        { onsubmit },
        apps.length > 1
            ? choose('App', 'app', [['', 'All apps'], ...apps.map((name) => [name, name])])
            : null,
        choose('State', 'state', OPTIONS.state),
        choose('Mode', 'mode', OPTIONS.mode),
        choose('Accepted', 'time', OPTIONS.time),
        h('label.field.grow', {}, h('span', {}, 'Run id'), find),
        h('button.button', { type: 'submit' }, 'Go to run'),
    );
}

/** To the run listener, which is most likely reached at the same host. */
function firstCall() {
    const { project, app_name: app, run_port: port } = api.session;
    const url = `http://${location.hostname}:${port}/v4/${project}/${app ?? 'my-app'}/run?async=true`;
    return `curl -i '${url}' \\\n  -H "Authorization: Bearer $TOKEN" \\\n  --json '{"prompt": "hello"}'`;
}

function showEmpty(isFiltered) {
    if (isFiltered) {
        return note(
            'empty',
            'No run matches these filters',
            h(
                'p',
                {},
                h('a', { href: '#/runs' }, 'Show all runs'),
                ' or choose another state, mode or time.',
            ),
        );
    }
    return note(
        'empty',
        'No runs yet',
        h(
            'p',
            {},
            'Make the first asynchronous call: it is answered at once with a run id, and shows up here.',
        ),
        command(firstCall()),
        h('p.hint', {}, 'TOKEN is a service account’s token; the port is that of HOOKLINE_LISTEN.'),
    );
}
