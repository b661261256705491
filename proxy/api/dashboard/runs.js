// runs.js - the list of runs: newest first, live. What is on the page stays where it is: rows change in place, new
// ones wait behind a button until they are asked for.
import * as api from './api.js';
import { announce, badge, button, command, fill, h, isNear, note, renew, select } from './dom.js';
import { bulkButtons } from './bulk_buttons.js';
import { exportButton } from './export_button.js';
import { TIME_OPTIONS, appField, changeFilter, fillAround, readFilter, readStatus, showIgnored, statusField, take, timeBounds, timeFields } from './filter.js';
import { now } from './clock.js';
import { id, plural, tail, time, visible } from './format.js';
import { findPlace, goBackTo, rememberRuns } from './place.js';
import { REASONS, isOpen, modeChip, ranFor, runPath } from './state.js';
import { showStale } from './stale.js';

const PAGE = 50;
const FEW = 5;
const EVERY = 1500;
const SEARCH_EVERY = 5000; // the server looks at many for each answer
const SEARCH_BACK = 600_000; /* ms: how long before the page was opened a run may have begun to appear on it */
const STATES = ['queued', 'running', 'success', 'failure', 'cancelled'];
const OPTIONS = {
    app: null,
    state: [['', 'Any state'], ...STATES.map((state) => [state, state])],
    mode: [
        ['', 'Any mode'],
        ['async', 'Asynchronous'],
        ['sync', 'Synchronous'],
    ],
    reason: [['', 'Any reason'], ...Object.keys(REASONS).filter((reason) => reason !== 'response_too_large').map((reason) => [reason, reason])],
    webhook: [
        ['', 'Any webhook'],
        ['none', 'Without'],
        ['pending', 'Pending'],
        ['delivered', 'Delivered'],
        ['dead', 'Dead letter'],
    ],
    status: null,
    q: null,
    ...TIME_OPTIONS,
};
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const PART_OF_ID = /^(?=.{4,36}$)[0-9a-f]+(-[0-9a-f]*)*$/;
const END_OF_ID = /^[0-9a-f]{8}$/;

/** `of`: what it is of, where no column says so. */
function showDelivery({ pending, delivered, dead }, of = '') {
    const parts = [
        [dead, 'failure', 'dead'],
        [pending, 'retry', 'pending'],
        [delivered, 'success', 'delivered'],
    ].filter(([n]) => n > 0);
    if (!parts.length) return of ? [] : h('span.none', { title: 'no webhook' }, '–');
    return parts.map(([n, kind, word]) =>
        badge(kind === 'retry' ? 'running' : kind, of + (n > 1 ? `${n} ${word}` : word), kind),
    );
}

/** What has no column of its own where there is little room. */
function showBrief(run, took) {
    const facts = [run.status_code, run.started_at && took].filter(Boolean).join(' · ');
    return [
        facts && h(`span${run.state === 'running' ? '.live' : ''}`, {}, facts),
        showDelivery(run.deliveries, 'webhook '),
    ];
}

function cells(run, hasApps) {
    const call = `${hasApps ? `${run.app_name} · ` : ''}${run.method} ${visible(run.path)}`;
    const took = ranFor(run);
    return [
        h(
            'td',
            {},
            badge(run.state, run.state),
            run.reason && h('span.reason', { title: REASONS[run.reason] }, run.reason),
        ),
        h(
            'td.c-run',
            {},
            h(
                'div',
                {},
                h('a', { href: runPath(run) }, id(run.run_id)),
                h('span.path', { title: call }, call),
                h('span.narrow', {}, modeChip(run), showBrief(run, took)),
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
    const query = readFilter(route.query, OPTIONS);
    const list = new RunList(query);
    const saving = exportButton({ name: 'runs', path: '/runs', rows: 'runs', query: () => list.filter });
    const create = api.mayRun() ? h('a.button', { href: '#/new' }, 'New run') : null;
    const bulk = bulkButtons({ state: query.state, filter: () => list.filter, then: () => {} }); // the list looks again by itself
    const title = h('div.title-row', {}, h('h1', {}, 'Runs'), h('div.actions', {}, bulk, saving, create));
    fillAround(main, showFilters(query), [title], [showIgnored(route.query, OPTIONS), ...list.elements]);
    showOwn(main);
    rememberRuns(location.hash);
    return list.begin();
}

/** What was typed: the beginning of an id, where that has nothing its end, or else part of a path. */
function readSearch(text) {
    const digits = text.trim().replace(/^…/, '').toLowerCase();
    return PART_OF_ID.test(digits) ? { id_prefix: digits } : { path: text.trim() };
}

class RunList {
    /** run_id → `{ run, row, text, isGone }`, in the order of the page. */
    #shown = new Map();
    #waiting = []; // newer than what is shown
    #hasGap = false; // between them and what is shown there are more
    #cursor = null; // below what is shown; null: nothing is there
    #isFirst = true;
    #every; // ms between two looks
    #text; // that is to be found
    #newest = {}; // that is asked for: of a search not all of it each time
    #searchedTo = null;
    #isFiltered;
    #hasApps; // more than one, so that each row names its own
    #polling;

    #problem = h('div');
    #newer = h('div.newer');
    // The same one each time: a click is lost on a button that is replaced between press and release.
    #take = button('', () => this.#takeWaiting(), 'main');
    #body = h('tbody');
    #table = makeTable(this.#body);
    #rest = h('div.rest');
    elements = [this.#problem, this.#newer, this.#table, this.#rest];

    constructor(query) {
        const { app, state, mode, reason, webhook } = query;
        const found = query.q ? readSearch(query.q) : {};
        this.#text = query.q?.trim();
        const times = timeBounds(query);
        const status = readStatus(query.status);
        const filter = { app, state, async: { async: 'true', sync: 'false' }[mode], reason, webhook, status, ...found, ...times };
        const isSearch = reason || webhook || status || found.path;
        this.#every = isSearch || this.#text ? SEARCH_EVERY : EVERY;
        if (isSearch) this.#searchFor(filter);
        else this.filter = filter;
        this.#isFiltered = Object.values(query).some(Boolean);
        this.#hasApps = api.session.apps.length > 1 && !app;
    }

    /** Answers what ends it. */
    begin() {
        const onError = (error, at) => showStale(this.#problem, 'The list is', error, at);
        const { kept, keep } = findPlace();
        if (kept) this.#restore(kept);
        this.#polling = api.poll(this.#every, (signal) => this.#turn(signal), onError);
        return () => {
            this.#polling.stop();
            const row = document.activeElement?.closest('tr');
            const opened = [...this.#shown.values()].find((known) => known.row === row)?.run.run_id;
            const runs = [...this.#shown.values()].map(({ run }) => run);
            if (runs.length)
                keep({ runs, cursor: this.#cursor, filter: this.filter, searchedTo: this.#searchedTo, opened });
        };
    }

    #restore({ runs, cursor, filter, searchedTo, opened, ...where }) {
        if (filter.path) this.#searchFor(filter);
        else this.filter = filter;
        this.#cursor = cursor;
        this.#searchedTo = searchedTo;
        this.#isFirst = false;
        this.#append(runs);
        goBackTo(where, this.#shown.get(opened)?.row);
    }

    async #turn(signal) {
        if (this.#isFirst) {
            this.#append(await this.#list({}, signal));
            this.#isFirst = false;
            return;
        }
        const open = [...this.#shown.values()].filter(({ run }) => isOpen(run));
        const { runs, next_cursor: cursor } = await this.#askNewest(open.length || this.#waiting.length, signal);
        if (!this.#shown.size && runs.length) return this.#append(await this.#list({}, signal));
        for (const run of runs) if (this.#shown.has(run.run_id)) this.#put(run);
        this.#wait(runs, cursor !== null);
        const listed = new Set(runs.map((run) => run.run_id));
        await this.#follow(
            open.filter(({ run }) => !listed.has(run.run_id)),
            signal,
        );
    }

    /** With nothing under way on the page, a few lines tell whether there is anything new. */
    async #askNewest(isBusy, signal) {
        const ask = (limit) => api.get('/runs', { query: { ...this.filter, ...this.#newest, limit }, signal });
        const answer = await ask(isBusy ? PAGE : FEW);
        return isBusy || !answer.runs.some(this.#isNew) ? answer : ask(PAGE);
    }

    #isNew = (run) => !this.#shown.has(run.run_id);

    /** A page. The server may give a short one although there is more: one that is empty says nothing. */
    async #list(query, signal) {
        for (let tries = 0; ; tries++) {
            const answer = await api.get('/runs', { query: { ...this.filter, limit: PAGE, ...query }, signal });
            this.#cursor = answer.next_cursor;
            this.#searchedTo = answer.searched_to;
            if (!answer.runs.length && !this.#cursor && !this.#shown.size && this.#triesOther()) {
                query = {};
                continue;
            }
            if (answer.runs.length || !this.#cursor || tries === 5) return answer.runs;
            query = { cursor: this.#cursor };
        }
    }

    /** No id begins so: one may end so, or else a path have it. */
    #triesOther() {
        const { id_prefix: start, id_suffix: end, ...others } = this.filter;
        if (!start && !end) return false;
        if (start && END_OF_ID.test(start)) this.filter = { ...others, id_suffix: start };
        else this.#searchFor({ ...others, path: this.#text });
        return true;
    }

    #searchFor(filter) {
        const back = new Date(now() - SEARCH_BACK).toISOString();
        this.filter = filter;
        this.#newest = filter.since > back ? {} : { since: back };
    }

    #append(runs) {
        this.#body.append(...runs.filter(this.#isNew).map((run) => this.#put(run)));
        this.#table.hidden = this.#shown.size === 0;
        this.#showRest();
    }

    /** The row of a run, as it is now. */
    #put(run) {
        const text = JSON.stringify(run);
        const known = this.#shown.get(run.run_id);
        api.noteApp(run.app_name);
        if (!known) {
            const row = makeRow(run, this.#hasApps);
            this.#shown.set(run.run_id, { run, row, text });
            return row;
        }
        if (known.text !== text || run.state === 'running') {
            if (known.run.state !== run.state) announce(`Run ${tail(run.run_id)} is ${run.state}`);
            const fresh = cells(run, this.#hasApps);
            // The cell with the link in its parts: the link stays, and the focus with it.
            renew(known.row.cells[1].firstChild, [...fresh[1].cloneNode(true).firstChild.children]);
            renew(known.row, fresh);
            Object.assign(known, { run, text });
        }
        return known.row;
    }

    /* ---- new runs ---- */

    #wait(runs, hasMore) {
        const oldest = this.#cursor ? [...this.#shown.keys()].sort()[0] : '';
        this.#waiting = runs.filter((run) => this.#isNew(run) && run.run_id > oldest);
        this.#hasGap = hasMore && this.#waiting.length === runs.length;
        this.#showWaiting();
    }

    #showWaiting() {
        const n = this.#waiting.length;
        if (!n) return fill(this.#newer);
        const text = `Show ${this.#hasGap ? `${n} or more new runs` : plural(n, 'new run')}`;
        if (this.#take.textContent !== text) this.#take.textContent = text;
        if (!this.#take.isConnected) fill(this.#newer, this.#take);
    }

    #takeWaiting() {
        if (this.#hasGap) return this.#reload();
        for (const run of this.#waiting.filter(this.#isNew)) {
            const next = [...this.#shown.values()].filter((known) => known.run.run_id < run.run_id);
            const before = next.reduce((a, b) => (a && a.run.run_id > b.run.run_id ? a : b), null);
            this.#body.insertBefore(this.#put(run), before?.row ?? null);
        }
        this.#waiting = [];
        this.#showWaiting();
        this.#table.hidden = false;
        this.#showRest();
        this.#body.querySelector('a')?.focus();
    }

    #reload() {
        this.#shown.clear();
        this.#waiting = [];
        fill(this.#body);
        this.#cursor = null;
        this.#isFirst = true;
        this.#showWaiting();
        this.#polling.now();
    }

    /* ---- older ones ---- */

    #showRest() {
        const n = this.#shown.size;
        const searched = this.#searchedTo && h('span.count', {}, 'looked back to ', time(this.#searchedTo));
        if (n === 0 && this.#cursor) return fill(this.#rest, searched, this.#olderButton('Look further back'));
        if (n === 0) return fill(this.#rest, showEmpty(this.#isFiltered));
        const count = h('span.count', {}, `${plural(n, 'run')} shown`);
        const end = this.#cursor ? this.#olderButton() : h('span.count', {}, 'These are all.');
        fill(this.#rest, count, searched, end);
    }

    #olderButton(text = 'Show older') {
        return button(text, (event) => this.#showOlder(event.target));
    }

    async #showOlder(pressed) {
        pressed.disabled = true;
        try {
            this.#append(await this.#list({ cursor: this.#cursor }));
            announce(`${plural(this.#shown.size, 'run')} shown`);
        } catch (error) {
            const why = note('error', 'Older runs could not be loaded', h('p', {}, error.message));
            fill(this.#rest, why, this.#olderButton());
        }
    }

    /* ---- what goes on ---- */

    /** Runs that are on the page and no longer in the list's beginning, or no longer of its filter. */
    async #follow(open, signal) {
        const near = open.filter((known) => !known.isGone && isNear(known.row));
        const ask = async (known) => {
            const one = await api.find(`/runs/${known.run.run_id}`, { signal });
            if (one) this.#put({ ...one, deliveries: countDeliveries(one.deliveries) });
            else this.#giveUp(known);
        };
        await Promise.all(near.map(ask));
    }

    /** It was purged, or it was synchronous and hookline was started anew: nobody knows how it ended. */
    #giveUp(known) {
        known.isGone = true;
        fill(known.row.cells[0], badge('queued', 'not kept'));
        announce(`Run ${tail(known.run.run_id)} is no longer kept`);
    }
}

function makeTable(body) {
    const heads = HEADS.map(([name, text]) => h('th', { scope: 'col', class: name || null }, text));
    const attributes = { hidden: true, 'aria-label': 'Runs, newest first' };
    return h('table.runs', attributes, h('thead', {}, h('tr', {}, heads)), body);
}

/** A row is a large link for the mouse; text that is being selected stays. */
function makeRow(run, hasApps) {
    const onclick = (event) => {
        if (!event.target.closest('a') && !String(getSelection())) location.hash = runPath(run);
    };
    return h('tr', { onclick }, cells(run, hasApps));
}

function countDeliveries(deliveries) {
    const counts = { pending: 0, delivered: 0, dead: 0 };
    for (const { state } of deliveries) counts[state]++;
    return counts;
}

/** Of what is typed where ids and paths are looked for, the filter that it is a value of: label, name, value. */
function ownFilter(text) {
    const isOf = (name) => text && OPTIONS[name].some(([value]) => value === text);
    if (text !== 'none' && readStatus(text)) return ['Status', 'status', text];
    if (isOf('reason')) return ['Reason', 'reason', text];
    return isOf('state') ? ['State', 'state', text] : null;
}

const go = (change) => changeFilter('runs', OPTIONS, change);

/** Says beside what is typed, too, that it is a filter's value. */
function showOwn(main) {
    const { q } = main.querySelector('#filters-runs').elements;
    const [label, name, value] = ownFilter(q.value.trim().toLowerCase()) ?? [];
    const choose = () => {
        q.value = '';
        go({ q: '', [name]: value });
    };
    fill(main.querySelector('.own'), name ? ['As a filter: ', button(`${label} ${value}`, choose, 'small')] : null);
}

function showFilters(query) {
    const choose = (label, name, options) => select(label, options, query[name], (value) => go({ [name]: value }));
    const find = h('input', {
        type: 'search',
        name: 'q',
        value: query.q,
        placeholder: 'id, its end, or part of a path',
        spellcheck: 'false',
        autocomplete: 'off',
        oninput: () => showOwn(find.closest('main')),
    });
    const onsubmit = (event) => {
        event.preventDefault();
        const text = find.value.trim();
        take(find, text);
        if (ID.test(text.toLowerCase())) location.hash = `#/runs/${text.toLowerCase()}`;
        else go({ q: text });
    };
    return h(
        'form.filters',
        { id: 'filters-runs', onsubmit, role: 'search' },
        h('label.field.grow', {}, h('span', {}, 'Find'), find),
        h('button.button', { type: 'submit' }, 'Find'),
        h('span.own.hint'),
        h('span.break'),
        appField(query.app, go),
        choose('State', 'state', OPTIONS.state),
        choose('Reason', 'reason', OPTIONS.reason),
        statusField(query.status, go),
        choose('Webhook', 'webhook', OPTIONS.webhook),
        choose('Mode', 'mode', OPTIONS.mode),
        timeFields(query, go),
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
                ' or choose others.',
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
