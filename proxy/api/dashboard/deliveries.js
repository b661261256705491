// deliveries.js - webhooks on their way, arrived, given up: narrowed down by the server, and sent again, one or many; one of
// them is seen beside the list (delivery.js).
import * as api from './api.js';
import { nextAttempt, redeliverButton } from './attempts.js';
import { announce, button, fill, h, isNear, note, renew, select } from './dom.js';
import { exportButton } from './export_button.js';
import { TIME_OPTIONS, appField, changeFilter, fillAround, readFilter, readStatus, showIgnored, statusField, timeBounds, timeFields } from './filter.js';
import { plural, tail, time, visible } from './format.js';
import { findPlace, goBackTo } from './place.js';
import { receiverName, receiverTitle } from './receiver.js';
import { areOn } from './shortcuts.js';
import { deliveryBadge, runPath } from './state.js';
import { showStale } from './stale.js';
import { addStyle } from './stylesheet.js';

await addStyle('deliveries.css');

const PAGE = 50;
const FEW = 5;
const SMALL = '(max-width: 999.98px)'; // what is beside the list lies over it then (deliveries.css)
const EVERY = 2000;
const STATES = [
    ['', 'All'],
    ['pending', 'Pending'],
    ['dead', 'Dead letters'],
    ['delivered', 'Delivered'],
];
const OPTIONS = { state: STATES, to: null, status: null, app: null, delivery: null, ...TIME_OPTIONS };
const EMPTY = {
    '': ['No webhooks yet', 'Add webhookEndpoint=<URL> to a call, and its response is sent there too.'],
    pending: ['Nothing is on its way', 'Each webhook has arrived or was given up.'],
    dead: ['No dead letters', 'No webhook was given up.'],
    delivered: ['Nothing was delivered yet', 'Webhooks that arrive are listed here.'],
};
const STATE_WORDS = { dead: 'dead letters', delivered: 'delivered webhooks' };

export function show(main, route) {
    const query = readFilter(route.query, OPTIONS);
    const list = new DeliveryList(query);
    const saving = exportButton({
        name: 'deliveries',
        path: '/deliveries',
        rows: 'deliveries',
        query: () => list.filter,
    });
    const title = h('div.title-row', {}, h('h1', {}, 'Deliveries'), saving);
    const hint = api.isAdmin() ? [] : [h('p.hint', {}, 'Admins send webhooks again; the role viewer sees them.')];
    fillAround(main, showFilters(query), [title, ...hint, showTabs(query)], [showIgnored(route.query, OPTIONS), list.element]);
    return list.begin();
}

const go = (change) => changeFilter('deliveries', OPTIONS, change);

function showTabs(query) {
    const tab = ([value, text]) =>
        h(
            'button.tab',
            {
                id: `state-${value}`,
                type: 'button',
                'aria-pressed': String(value === query.state),
                onclick: () => go({ state: value }),
            },
            text,
        );
    return h('div.tabs', { role: 'group', 'aria-label': 'State' }, STATES.map(tab));
}

function showFilters(query) {
    const destinations = h('div');
    showDestinations(destinations, query);
    return h(
        'div.filters',
        { id: 'filters-deliveries' },
        destinations,
        appField(query.app, go),
        statusField(query.status, go),
        timeFields(query, go),
    );
}

/** Those that the project has, as soon as they are known. */
async function showDestinations(place, { to }) {
    const own = to ? [[to, visible(to)]] : [];
    const field = select('Destination', [['', 'All'], ...own], to, (value) => go({ to: value }));
    fill(place, field);
    const { destinations } = await api.get('/destinations', { query: { limit: 200 } }).catch(() => ({ destinations: [] }));
    const others = destinations.filter(({ destination }) => destination !== to);
    const options = others.map(({ destination: value }) => h('option', { value }, visible(value)));
    options.sort((a, b) => a.value.localeCompare(b.value));
    field.querySelector('select').append(...options); // somebody may have the focus there
}

/** What the server is asked for. */
function listFilter(query) {
    return { state: query.state, destination: query.to, app: query.app, status: readStatus(query.status), ...timeBounds(query) };
}

/** The same in words. */
function describe(query) {
    const { since, until } = timeBounds(query);
    const parts = [
        STATE_WORDS[query.state],
        query.to && `to ${visible(query.to)}`,
        query.app && `of the app ${visible(query.app)}`,
        readStatus(query.status) && `whose last attempt got status ${query.status}`,
        since && `from ${new Date(since).toLocaleString()} on`,
        until && `up to ${new Date(until).toLocaleString()}`,
    ];
    return parts.filter(Boolean).join(' ');
}

class DeliveryList {
    /** delivery_id → `{ delivery, row, text, isGone }`, in the order of the page. */
    #shown = new Map();
    #chosen = new Set();
    #newest = null; // when the list was loaded
    #hasNewer = false;
    #cursor = null; // below what is shown; null: nothing is there
    #searchedTo = null;
    #query;
    #hasApps;
    #polling;
    #beside = null; // the id of the one that is seen beside the list
    #endBeside = () => {};

    #problem = h('div');
    #newer = h('div.newer');
    #bar = h('div.bar');
    #list = h('ul.deliveries', { 'aria-label': 'Deliveries, newest first', onkeydown: (event) => this.#onKey(event) });
    #rest = h('div.rest');
    #place = h('aside.delivery-beside', { 'aria-label': 'Delivery', hidden: true, tabindex: -1 });
    element = h('div.d-split', {}, h('div.d-list', {}, this.#problem, this.#newer, this.#bar, this.#list, this.#rest), this.#place);

    constructor(query) {
        this.#query = query;
        this.filter = listFilter(query);
        this.#hasApps = api.session.apps.length > 1 && !query.app;
        this.#list.classList.toggle('has-apps', this.#hasApps);
    }

    /** Answers what ends it. */
    begin() {
        const onError = (error, at) => showStale(this.#problem, 'The list is', error, at);
        const { kept, keep } = findPlace();
        if (kept) this.#restore(kept);
        this.#polling = api.poll(EVERY, (signal) => this.#turn(signal), onError);
        const onEscape = (event) => event.key === 'Escape' && this.#beside && !document.querySelector('dialog[open]') && this.#closeBeside();
        addEventListener('keydown', onEscape);
        if (this.#query.delivery) this.#openBeside(this.#query.delivery);
        return () => {
            removeEventListener('keydown', onEscape);
            this.#endBeside();
            this.#polling.stop();
            const row = document.activeElement?.closest('li');
            const deliveries = [...this.#shown.values()].map(({ delivery }) => delivery);
            const left = deliveries.find(({ delivery_id: key }) => this.#shown.get(key).row === row)?.delivery_id;
            if (deliveries.length)
                keep({ deliveries, cursor: this.#cursor, newest: this.#newest, filter: this.filter, chosen: this.#chosen, left });
        };
    }

    #restore({ deliveries, cursor, newest, filter, chosen, left, ...where }) {
        this.filter = filter;
        this.#chosen = chosen;
        this.#cursor = cursor;
        this.#newest = newest;
        this.#append(deliveries);
        goBackTo(where, this.#shown.get(left)?.row.querySelector('a.destination'));
    }

    async #turn(signal) {
        const isOpen = [...this.#shown.values()].some(({ delivery }) => delivery.state === 'pending');
        const limit = !this.#newest || isOpen ? PAGE : FEW;
        const answer = await api.get('/deliveries', { query: { ...this.filter, limit }, signal });
        if (!this.#newest) {
            this.#newest = answer.deliveries[0]?.delivery_id ?? null;
            this.#take(answer);
            return;
        }
        this.#lookForNewer(answer.deliveries[0]?.delivery_id);
        const listed = new Set(answer.deliveries.map((delivery) => delivery.delivery_id));
        for (const delivery of answer.deliveries)
            if (this.#shown.has(delivery.delivery_id)) this.#put(delivery);
        await this.#follow(listed, signal);
    }

    #take(answer) {
        this.#cursor = answer.next_cursor;
        this.#searchedTo = answer.searched_to;
        this.#append(answer.deliveries);
    }

    #append(deliveries) {
        const fresh = deliveries.filter((delivery) => !this.#shown.has(delivery.delivery_id));
        this.#list.append(...fresh.map((delivery) => this.#put(delivery)));
        this.#showRest();
        this.#showBar();
    }

    /* ---- rows ---- */

    /** The row of a delivery, as it is now. */
    #put(delivery) {
        const key = delivery.delivery_id;
        const known = this.#shown.get(key);
        if (known && delivery.path === undefined) delivery = { ...delivery, path: known.delivery.path }; // a record has all of it
        const text = JSON.stringify(delivery);
        api.noteApp(delivery.app_name);
        if (!known) this.#shown.set(key, { delivery, row: this.#makeRow(delivery), text });
        else if (known.text !== text) {
            Object.assign(known, { delivery, text });
            if (delivery.state === 'pending' && this.#chosen.delete(key)) this.#showBar();
            this.#renew(key);
        }
        return this.#shown.get(key).row;
    }

    #renew(key) {
        const { row, delivery } = this.#shown.get(key);
        renewRow(row, this.#makeRow(delivery));
    }

    #makeRow(delivery) {
        const key = delivery.delivery_id;
        const isBeside = key === this.#beside;
        const open = (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
            event.preventDefault();
            this.#openBeside(key);
        };
        return h(
            'li.d-row',
            { 'aria-current': isBeside ? 'true' : null },
            this.#choice(delivery),
            deliveryBadge(delivery),
            this.#hasApps ? h('span.app-of', { title: visible(delivery.app_name) }, visible(delivery.app_name)) : null,
            h('a.destination', { href: `#/deliveries/${key}`, title: receiverTitle(delivery), onclick: open }, receiverName(delivery)),
            h('span.why', {}, showReason(delivery)),
            h('span.tries', { title: plural(delivery.attempt_count, 'attempt') }, plural(delivery.attempts.length, 'attempt')),
            h('a.run-of', { href: runPath(delivery), title: delivery.run_id, 'aria-label': `run …${tail(delivery.run_id)}` }, h('span.id', {}, `…${tail(delivery.run_id)}`)),
            h('span.when', {}, time(delivery.created_at)),
            h('span.row-button', {}, redeliverButton(delivery, (fresh) => this.#put(fresh))),
        );
    }

    /* ---- one beside them ---- */

    async #openBeside(key) {
        const before = this.#beside;
        if (before === key) return this.#place.focus();
        this.#beside = key;
        this.#tellAddress(key, !before);
        this.#markBeside(before, key);
        const { openDelivery } = await import('./delivery.js');
        if (this.#beside !== key) return; // another was wanted meanwhile
        this.#endBeside();
        this.#place.hidden = false;
        this.element.classList.add('is-open');
        if (matchMedia(SMALL).matches) this.#place.focus({ preventScroll: true });
        this.#endBeside = openDelivery(this.#place, key, {
            onClose: () => this.#closeBeside(),
            onChange: (delivery) => this.#shown.has(key) && this.#put(delivery),
            onResent: (id) => {
                this.reload();
                this.#openBeside(id);
            },
        });
    }

    #closeBeside() {
        const key = this.#beside;
        this.#endBeside();
        this.#endBeside = () => {};
        this.#beside = null;
        this.#place.hidden = true;
        fill(this.#place);
        this.element.classList.remove('is-open');
        this.#tellAddress(null, false);
        this.#markBeside(key, null);
        this.#shown.get(key)?.row.querySelector('a.destination').focus({ preventScroll: true });
    }

    #markBeside(...keys) {
        for (const key of keys) if (this.#shown.has(key)) this.#renew(key);
    }

    /** The list stays as it is: its address alone says more, or less. */
    #tellAddress(key, isStep) {
        const query = new URLSearchParams(location.hash.split('?')[1]);
        if (query.get('delivery') === key) return;
        if (key) query.set('delivery', key);
        else query.delete('delivery');
        const address = `#/deliveries${query.size ? `?${query}` : ''}`;
        if (isStep) history.pushState(history.state, '', address);
        else history.replaceState(history.state, '', address);
    }

    /** Up and down lead from row to row, and what is beside them follows; `o` to a page of its own. */
    #onKey(event) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        const row = event.target.closest('li');
        if (event.key === 'o' && areOn() && row && !event.ctrlKey && !event.metaKey && !event.altKey) {
            event.preventDefault();
            return (location.hash = row.querySelector('a.destination').getAttribute('href'));
        }
        if (!step || !row || event.target.matches('input')) return;
        const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
        event.preventDefault();
        if (!next) return;
        next.querySelector('a.destination').focus({ preventScroll: true });
        next.scrollIntoView({ block: 'nearest' });
        const key = [...this.#shown].find(([, known]) => known.row === next)?.[0];
        if (this.#beside && key) this.#openBeside(key);
    }

    #choice({ delivery_id: key, destination, state }) {
        if (!api.isAdmin() || state === 'pending') return h('span.choice-gap');
        const onchange = ({ target }) => {
            if (target.checked) this.#chosen.add(key);
            else this.#chosen.delete(key);
            this.#showBar();
        };
        const label = `Choose ${tail(key)} to ${visible(destination)}`;
        return h('input', { type: 'checkbox', checked: this.#chosen.has(key), onchange, 'aria-label': label });
    }

    /* ---- many ---- */

    #canChoose() {
        const all = [...this.#shown.values()].map(({ delivery }) => delivery);
        return all.filter(({ state }) => state !== 'pending').map(({ delivery_id: key }) => key);
    }

    #choose(keys) {
        this.#chosen = new Set(keys);
        for (const box of this.#list.querySelectorAll('input[type=checkbox]')) box.checked = keys.length > 0;
        this.#showBar();
    }

    #showBar() {
        const free = this.#canChoose();
        if (!api.isAdmin() || !free.length) return fill(this.#bar);
        const hadFocus = this.#bar.contains(document.activeElement) && document.activeElement.textContent;
        const n = this.#chosen.size;
        const all = STATE_WORDS[this.#query.state];
        fill(
            this.#bar,
            n === free.length ? button('Choose none', () => this.#choose([]), 'quiet.small') : button(`Choose all ${free.length} shown`, () => this.#choose(free), 'quiet.small'),
            n ? button(`Redeliver ${n} chosen…`, () => this.#redeliver({ which: 'those that were chosen', ids: [...this.#chosen] }), 'small') : null,
            all ? button(`Redeliver all ${all}…`, () => this.#redeliver({ which: describe(this.#query), filter: this.filter }), 'small') : null,
        );
        const same = hadFocus && [...this.#bar.children].find((child) => child.textContent === hadFocus);
        if (hadFocus) (same || this.#bar.firstChild).focus();
    }

    async #redeliver(plan) {
        const { redeliverMany } = await import('./bulk.js');
        if (!(await redeliverMany(plan))) return;
        this.#choose([]);
        this.reload();
    }

    /* ---- around them ---- */

    #showRest() {
        const n = this.#shown.size;
        const searched = this.#searchedTo && h('span.count', {}, 'looked back to ', time(this.#searchedTo));
        if (!n && this.#cursor) return fill(this.#rest, searched, this.#olderButton('Look further back'));
        if (!n) return fill(this.#rest, showEmpty(this.#query));
        const end = this.#cursor ? this.#olderButton() : h('span.count', {}, 'These are all.');
        fill(this.#rest, h('span.count', {}, `${plural(n, 'delivery', 'deliveries')} shown`), searched, end);
    }

    #olderButton(text = 'Show older') {
        return button(text, (event) => this.#showOlder(event.target));
    }

    async #showOlder(pressed) {
        pressed.disabled = true;
        try {
            this.#take(await api.get('/deliveries', { query: { ...this.filter, limit: PAGE, cursor: this.#cursor } }));
        } catch (error) {
            const why = note('error', 'Older deliveries could not be loaded', h('p', {}, error.message));
            fill(this.#rest, why, this.#olderButton());
        }
    }

    /* ---- what goes on ---- */

    #lookForNewer(first) {
        if (!first || first === this.#newest || this.#shown.has(first) || this.#hasNewer) return;
        this.#hasNewer = true;
        fill(
            this.#newer,
            button('Show newer deliveries', () => this.reload(), 'main'),
        );
        announce('There are newer deliveries');
    }

    reload() {
        this.#shown.clear();
        fill(this.#list);
        fill(this.#newer);
        this.#newest = this.#cursor = null;
        this.#hasNewer = false;
        this.#showBar();
        this.#polling.now();
    }

    /** Those on the page that are pending, and no longer in the list's beginning or no longer of its filter. */
    async #follow(listed, signal) {
        const isLeft = ({ delivery, isGone }) =>
            delivery.state === 'pending' && !listed.has(delivery.delivery_id) && !isGone;
        const near = [...this.#shown.values()].filter((known) => isLeft(known) && isNear(known.row));
        const askFor = async (known) => {
            const one = await api.find(`/deliveries/${known.delivery.delivery_id}`, { signal });
            if (one) this.#put(one);
            else known.isGone = true; // its run was purged
        };
        await Promise.all(near.map(askFor));
    }
}

/** Why it has not arrived. */
function showReason({ state, attempts, ...delivery }) {
    const last = attempts.at(-1);
    if (state === 'delivered') return null;
    const why = last && (last.error ?? (last.status_code ? `status ${last.status_code}` : last.outcome));
    return [why ? h('span.error', { title: visible(why) }, visible(why)) : null, nextAttempt(delivery)];
}

/** What differs is made anew; the focus stays in the row. */
function renewRow(row, fresh) {
    const hadFocus = row.contains(document.activeElement);
    row.toggleAttribute('aria-current', false);
    if (fresh.hasAttribute('aria-current')) row.setAttribute('aria-current', 'true');
    renew(row, [...fresh.children]);
    if (hadFocus && !row.contains(document.activeElement)) row.querySelector('a.destination').focus();
}

function showEmpty(query) {
    const { state, delivery: _, ...others } = query;
    const [title, text] = EMPTY[state];
    if (!Object.values(others).some(Boolean)) return note('empty', title, h('p', {}, text));
    const all = h('a', { href: `#/deliveries?state=${state}` }, 'Look at all of them');
    return note('empty', 'No delivery matches these filters', h('p', {}, all, ' or choose others.'));
}
