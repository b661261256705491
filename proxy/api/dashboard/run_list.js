// run_list.js - the rows of the list of runs: newest first, live. What is on the page stays where it is: rows change in
// place, new ones wait behind a button until they are asked for.
// Not here: the page around them (runs.js), their cells (run_columns.js), the filters (run_filter.js).
import * as api from './api.js';
import { now } from './clock.js';
import { idAt, linkOf, rowOf } from './beside.js';
import { announce, badge, busy, button, command, fill, h, isNear, note, refill, renew } from './dom.js';
import { plural, tail, time } from './format.js';
import { findPlace, goBackTo } from './place.js';
import { areChosen, cellsOf, copiedText, headOf, shownColumns } from './run_columns.js';
import { FILTER, asked } from './run_filter.js';
import { showStale } from './stale.js';
import { isOpen } from './state.js';

const PAGE = 50;
const FEW = 5;
const EVERY = 1500;
const CALM = 3000; // where nothing on the page goes on
const SEARCH_EVERY = 5000; // the server looks at many for each answer
const SEARCH_BACK = 600_000; /* ms: how long before the page was opened a run may have begun to appear on it */
const END_OF_ID = /^[0-9a-f]{8}$/;

export class RunList {
    /** run_id → `{ run, row, text, isGone }`, in the order of the page. */
    #shown = new Map();
    #waiting = []; // newer than what is shown
    #hasGap = false; // between them and what is shown there are more
    #cursor = null; // below what is shown; null: nothing is there
    #isFirst = true;
    #isTaken = false; // new ones were asked for, by a button that goes
    #every; // ms between two looks
    #text; // that is to be found
    #newest = {}; // that is asked for: of a search not all of it each time
    #searchedTo = null;
    #isFiltered;
    #hasApps; // more than one, so that each row names its own
    #columns;
    #onNew;
    #polling;

    #problem = h('div');
    #newer = h('div.newer');
    // The same one each time: a click is lost on a button that is replaced between press and release.
    #take = button('', () => this.#takeWaiting(), 'main');
    #body = h('tbody');
    #table = h('table.runs', { hidden: true, 'aria-label': 'Runs, newest first' }, this.#body);
    #rest = h('div.rest');
    elements = [this.#problem, this.#newer, this.#table, this.#rest];

    /** `columns`: names of those that are wanted; `onNew()`: others are shown than before. */
    constructor(filter, columns, onNew) {
        const { query, isSearch } = asked(filter);
        this.#text = filter.q?.trim();
        this.isSearch = isSearch;
        this.#every = isSearch || this.#text ? SEARCH_EVERY : EVERY;
        if (isSearch) this.#searchFor(query);
        else this.filter = query;
        this.#isFiltered = FILTER.isOn(filter);
        this.#hasApps = api.session.apps.length > 1 && !filter.app;
        this.#onNew = onNew;
        this.setColumns(columns);
        this.#table.addEventListener('copy', (event) => this.#onCopy(event));
    }

    setColumns(names) {
        this.#columns = shownColumns(names, this.#hasApps);
        this.#table.classList.toggle('is-chosen', areChosen());
        this.#table.tHead?.remove();
        this.#table.prepend(headOf(this.#columns));
        for (const { run, row } of this.#shown.values()) renew(row, cellsOf(run, this.#columns));
    }

    /** Ids whole, times exact. */
    #onCopy(event) {
        const text = copiedText(this.#table);
        if (text === null) return;
        event.clipboardData.setData('text/plain', text);
        event.preventDefault();
    }

    /** Answers what ends it. */
    begin() {
        const onError = (error, at) => showStale(this.#problem, 'The list is', error, at);
        const { kept, keep } = findPlace();
        if (kept) this.#restore(kept);
        this.#polling = api.poll(this.#every, (signal) => this.#turn(signal), onError);
        return () => {
            this.#polling.stop();
            const opened = idAt(document.activeElement);
            const runs = [...this.#shown.values()].map(({ run }) => run);
            if (runs.length)
                keep({ runs, cursor: this.#cursor, filter: this.filter, searchedTo: this.#searchedTo, opened });
        };
    }

    #restore({ runs, cursor, filter, searchedTo, opened, ...where }) {
        if (this.isSearch || filter.find) this.#searchFor(filter);
        else this.filter = filter;
        this.#cursor = cursor;
        this.#searchedTo = searchedTo;
        this.#isFirst = false;
        this.#append(runs);
        goBackTo(where, linkOf(this.#shown.get(opened)?.row));
    }

    async #turn(signal) {
        if (this.#isFirst) {
            this.#append(await this.#list({}, signal));
            this.#isFirst = false;
            if (this.#isTaken) this.linkOf(this.#shown.keys().next().value)?.focus();
            this.#isTaken = false;
            return;
        }
        const open = [...this.#shown.values()].filter(({ run }) => isOpen(run));
        const { runs, next_cursor: cursor } = await this.#askNewest(this.#reach(open), signal);
        if (!this.#shown.size && runs.length) return this.#append(await this.#list({}, signal));
        for (const run of runs) if (this.#shown.has(run.run_id)) this.#put(run);
        this.#wait(runs, cursor !== null);
        const listed = new Set(runs.map((run) => run.run_id));
        await this.#follow(
            open.filter(({ run }) => !listed.has(run.run_id)),
            signal,
        );
        return open.length ? this.#every : Math.max(this.#every, CALM);
    }

    /** How many of the newest a look has to see: those that wait, what is shown down to the last that goes on, and a few. */
    #reach(open) {
        const last = open.map(({ run }) => run.run_id).sort()[0];
        const shown = last ? [...this.#shown.keys()].filter((id) => id >= last).length : 0;
        return Math.min(PAGE, Math.ceil((this.#waiting.length + shown) / FEW + 1) * FEW);
    }

    /** Where none of them is known there may be more between them and what is. */
    async #askNewest(reach, signal) {
        const ask = (limit) => api.get('/runs', { query: { ...this.filter, ...this.#newest, limit }, signal });
        const answer = await ask(reach);
        const isCut = answer.next_cursor && answer.runs.length && reach < PAGE;
        return isCut && answer.runs.every(this.#isNew) ? ask(PAGE) : answer;
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

    /** No id begins so: one may end so, or else a path or an error have it. */
    #triesOther() {
        const { id_prefix: start, id_suffix: end, ...others } = this.filter;
        if (!start && !end) return false;
        if (start && END_OF_ID.test(start)) this.filter = { ...others, id_suffix: start };
        else this.#searchFor({ ...others, find: this.#text });
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
            const row = h('tr', rowOf('run', run.run_id), cellsOf(run, this.#columns));
            this.#shown.set(run.run_id, { run, row, text });
            return row;
        }
        if (known.text !== text || run.state === 'running') {
            if (known.run.state !== run.state) announce(`Run ${tail(run.run_id)} is ${run.state}`);
            renew(known.row, cellsOf(run, this.#columns)); // the cell with the link stays, and the focus in it
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
        this.#onNew();
        linkOf(this.#body.rows[0])?.focus();
    }

    #reload() {
        this.#shown.clear();
        this.#waiting = [];
        fill(this.#body);
        this.#cursor = null;
        this.#isFirst = this.#isTaken = true;
        this.#showWaiting();
        this.#onNew();
        this.#polling.now();
    }

    /* ---- older ones ---- */

    #showRest() {
        const n = this.#shown.size;
        const searched = this.#searchedTo && h('span.count', {}, 'looked back to ', time(this.#searchedTo));
        if (n === 0 && this.#cursor) return refill(this.#rest, searched, this.#olderButton('Look further back'));
        if (n === 0) return fill(this.#rest, showEmpty(this.#isFiltered));
        const count = h('span.count', {}, `${plural(n, 'run')} shown`);
        const end = this.#cursor ? this.#olderButton() : h('span.count', {}, 'These are all.');
        refill(this.#rest, count, searched, end);
    }

    #olderButton(text = 'Show older') {
        return button(text, ({ target }) => busy(target, () => this.#showOlder()));
    }

    async #showOlder() {
        try {
            this.#append(await this.#list({ cursor: this.#cursor }));
            announce(`${plural(this.#shown.size, 'run')} shown`);
        } catch (error) {
            const why = note('error', 'Older runs could not be loaded', h('p', {}, error.message));
            refill(this.#rest, why, this.#olderButton());
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

function countDeliveries(deliveries) {
    const counts = { pending: 0, delivered: 0, dead: 0 };
    for (const { state } of deliveries) counts[state]++;
    return counts;
}

function firstCall() {
    const { project, app_name: app } = api.session;
    const url = `${api.runListener()}/v4/${project}/${app ?? 'my-app'}/run?async=true`;
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
