// jobs.js - bulk work that the server carries out: all jobs, and one with what became of each; stopped here, made from lists
// (bulk.js).
import * as api from './api.js';
import { handled, sumOf } from './bulk.js';
import { addStyle, ask, badge, button, fill, h, note, renew } from './dom.js';
import { id, number, plural, tail, time, visible } from './format.js';
import { showStale } from './stale.js';

const PAGE = 50;
const ITEMS = 100;
const SOON = 1000;
const LATE = 10_000;
const HEADS = ['What', 'State', 'How far', 'Who', 'Made', 'Ended'];
const WHAT = { cancel: 'Cancel runs', rerun: 'Run again', redeliver: 'Send webhooks again' };
const SHAPES = { done: 'success', stopped: 'cancelled', failed: 'failure', unreadable: 'failure', waiting: 'queued' };
const TIMES = ['since', 'until'];
const OUTCOMES = [['', 'All'], ['done', 'Done'], ['skipped', 'Skipped'], ['failed', 'Failed'], ['waiting', 'Not done']];
const ITEM_SHAPES = { done: 'success', skipped: 'cancelled', failed: 'failure', waiting: 'queued' };

export function show(main, route) {
    addStyle('jobs.css').catch(() => {});
    return route.path[1] ? showOne(main, route.path[1]) : showAll(main);
}

/** A filter in words: `state failure, app words, since 12:04`. */
function filterWords(filter) {
    if (!filter) return '–';
    const parts = Object.entries(filter).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
    if (!parts.length) return 'all';
    return parts.flatMap(([name, value], i) => [`${i ? ', ' : ''}${visible(name)} `, TIMES.includes(name) ? timeOf(value) : visible(String(value))]);
}

/** What was asked may be a time in milliseconds, too. */
function timeOf(value) {
    const at = new Date(value);
    return Number.isNaN(at.getTime()) ? visible(String(value)) : time(at.toISOString());
}

const titleOf = (job) => WHAT[job.what] ?? 'A job that cannot be read';
const stateBadge = (job) => badge(SHAPES[job.state] ?? 'running', job.state);
const mayStop = (job) => api.isAdmin() && !job.ended_at && job.state !== 'stopping';

function stopButton(job, then) {
    return button('Stop…', async () => {
        const isDone = await ask({
            title: 'Stop this job',
            text: h('p', {}, `${plural(job.total - handled(job), 'of it is', 'of it are')} left as they are. What was done stays done.`),
            yes: 'Stop it',
            act: () => api.send('POST', `/jobs/${job.job_id}/stop`),
        });
        if (isDone) then();
    }, 'small');
}

function showBar(job) {
    const words = `${number(handled(job))} of ${number(job.total)}${job.is_total ? '' : ', still counting'}`;
    return [h('progress.job-bar', { max: Math.max(1, job.total), value: handled(job), 'aria-label': 'How far it is' }), h('span.sub', {}, words)];
}

function showWho({ who, via }) {
    return visible(who?.account_name ?? who?.subject ?? (who?.uid == null ? (via ?? '–').replaceAll('_', ' ') : `uid ${who.uid}`));
}

/* ---- all ---- */

function showAll(main) {
    const problem = h('div');
    const body = h('tbody', { role: 'rowgroup' });
    const heads = HEADS.map((text) => h('th', { scope: 'col', role: 'columnheader' }, text));
    const table = h('table.keys', { 'aria-labelledby': 'jobs', role: 'table' }, h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads)), body);
    const rest = h('div.rest');
    let pages = 1;
    fill(main, h('div.title-row', {}, h('h1', { id: 'jobs' }, 'Jobs')), problem, table, rest);
    table.hidden = true;

    async function turn(signal) {
        const all = [];
        let cursor = null;
        for (let page = 0; page < pages && (page === 0 || cursor); page++) {
            const answer = await api.get('/jobs', { query: { limit: PAGE, cursor }, signal });
            all.push(...answer.jobs);
            cursor = answer.next_cursor;
        }
        renew(body, all.map(makeRow));
        table.hidden = !all.length;
        renew(rest, all.length ? [h('span.count', {}, plural(all.length, 'job')), cursor && button('Show more', more)].filter(Boolean) : [showEmpty()]);
        return all.some((job) => !job.ended_at) ? SOON : LATE;
    }

    function more() {
        pages++;
        polling.now();
    }

    function makeRow(job) {
        const cell = (of, ...content) => h('td', { role: 'cell', 'data-label': HEADS[of] }, content);
        return h(
            'tr',
            { role: 'row' },
            h('td.name', { role: 'cell' }, h('a', { href: `#/jobs/${job.job_id}` }, h('strong', {}, titleOf(job))), h('span.sub', {}, filterWords(job.filter))),
            cell(1, stateBadge(job), mayStop(job) ? h('span.sub', {}, stopButton(job, () => polling.now())) : null),
            h('td.job-said', { role: 'cell', 'data-label': HEADS[2] }, job.ended_at ? sumOf(job) : showBar(job)),
            cell(3, showWho(job)),
            cell(4, time(job.created_at)),
            cell(5, time(job.ended_at)),
        );
    }

    const polling = api.poll(LATE, turn, (error, at) => showStale(problem, 'The list is', error, at));
    return () => polling.stop();
}

function showEmpty() {
    return note(
        'empty',
        'No jobs yet',
        h('p', {}, 'Lists of runs and of deliveries cancel, run again or send again all that they name. The server does it, piece by piece, also when this page is closed.'),
    );
}

/* ---- one ---- */

function showOne(main, jobId) {
    const problem = h('div');
    const head = h('div');
    const items = new ItemList(jobId);
    fill(main, fill(head, h('h1', {}, 'Job')), problem, items.element);
    let was = '';

    async function turn(signal) {
        const job = await api.find(`/jobs/${encodeURIComponent(jobId)}`, { signal });
        if (!job) {
            fill(head, h('h1', {}, 'Job'), note('error', 'There is no such job', h('p', {}, 'It may have gone with the retention: see ', h('a', { href: '#/jobs' }, 'all jobs'), '.')));
            items.element.hidden = true;
            return LATE;
        }
        renew(head, makeHead(job));
        const is = `${handled(job)} ${job.state}`;
        if (is !== was) items.load(job);
        was = is;
        return job.ended_at ? LATE : SOON;
    }

    function makeHead(job) {
        const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
        return [
            h(
                'div.title-row',
                {},
                h('div.job-title', {}, h('h1', {}, titleOf(job)), stateBadge(job), id(job.job_id)),
                mayStop(job) ? stopButton(job, () => polling.now()) : null,
            ),
            h('p.job-sum', { role: 'status' }, job.ended_at ? sumOf(job) : showBar(job)),
            job.state === 'unreadable' ? note('error', 'Nobody carries it out', h('p', {}, 'Its row in the store is damaged, or was made by a newer hookline. Stop it to end it.')) : null,
            h(
                'dl.job-facts',
                {},
                fact('Which', filterWords(job.filter)),
                fact('Who', showWho(job)),
                fact('Made', time(job.created_at)),
                fact('Began', time(job.began_at)),
                fact('Ended', time(job.ended_at)),
                fact('Pause', `${number(job.pause_ms)} ms between pieces of 100`),
            ),
        ].filter(Boolean);
    }

    const polling = api.poll(SOON, turn, (error, at) => showStale(problem, 'The job is', error, at));
    return () => polling.stop();
}

/** What became of each, narrowed down to one outcome. */
class ItemList {
    #jobId;
    #outcome = '';
    #body = h('tbody', { role: 'rowgroup' });
    #rest = h('div.rest');
    #tabs = h('div.job-tabs', { role: 'group', 'aria-label': 'Outcome' });
    #job = null;
    #loads = 0;
    #pages = 1;

    constructor(jobId) {
        this.#jobId = jobId;
        const heads = ['What', 'Outcome', 'Why', 'Became'].map((text) => h('th', { scope: 'col', role: 'columnheader' }, text));
        const table = h('table.keys', { 'aria-label': 'What became of each', role: 'table' }, h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads)), this.#body);
        this.element = h('section', { 'aria-label': 'What became of each' }, h('h2', {}, 'What became of each'), this.#tabs, table, this.#rest);
    }

    async load(job) {
        this.#job = job;
        this.#showTabs();
        const mine = ++this.#loads;
        const all = [];
        let cursor = null;
        try {
            for (let page = 0; page < this.#pages && (page === 0 || cursor); page++) {
                const answer = await api.get(`/jobs/${this.#jobId}/items`, { query: { limit: ITEMS, cursor, outcome: this.#outcome } });
                all.push(...answer.items);
                cursor = answer.next_cursor;
            }
        } catch (error) {
            return fill(this.#rest, note('error', 'The list could not be loaded', h('p', {}, error.message)));
        }
        if (mine !== this.#loads) return; // others were wanted meanwhile
        renew(this.#body, all.map(makeItem));
        renew(this.#rest, [h('span.count', {}, all.length ? `${number(all.length)} shown` : 'None.'), cursor && button('Show more', () => (this.#pages++, this.load(this.#job)))].filter(Boolean));
    }

    #showTabs() {
        const counts = { '': this.#job.total, done: this.#job.done, skipped: this.#job.skipped, failed: this.#job.failed, waiting: this.#job.total - handled(this.#job) };
        const choose = (outcome) => {
            this.#outcome = outcome;
            this.#pages = 1;
            this.load(this.#job);
        };
        const tabs = OUTCOMES.filter(([value]) => !value || counts[value] || value === this.#outcome);
        renew(this.#tabs, tabs.map(([value, text]) => button(`${text} ${number(counts[value])}`, () => choose(value), 'quiet.small', { 'aria-pressed': String(value === this.#outcome) })));
    }
}

function makeItem(item) {
    const run = item.run_id ?? null;
    const link = run ? h('a', { href: `#/runs/${run}` }, `run ${tail(run)}`) : h('a', { href: `#/deliveries/${item.delivery_id}` }, `delivery ${tail(item.delivery_id)}`);
    const cell = (of, ...content) => h('td', { role: 'cell', 'data-label': of }, content);
    return h(
        'tr',
        { role: 'row' },
        h('td.name', { role: 'cell' }, link),
        cell('Outcome', badge(ITEM_SHAPES[item.outcome], item.outcome === 'waiting' ? 'not done' : item.outcome)),
        cell('Why', visible((item.reason ?? '–').replaceAll('_', ' '))),
        cell('Became', item.rerun_id ? h('a', { href: `#/runs/${item.rerun_id}` }, `run ${tail(item.rerun_id)}`) : '–'),
    );
}
