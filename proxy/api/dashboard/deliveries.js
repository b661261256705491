// deliveries.js - webhooks on their way, arrived, given up: narrowed down by the server, and sent again, one or many; one of
// them is seen beside the list (delivery.js).
import * as api from './api.js';
import { nextAttempt, redeliverButton } from './attempts.js';
import { Beside, idAt, linkOf, rowOf } from './beside.js';
import { showChips } from './chips.js';
import { addStyle, announce, busy, button, fill, h, isNear, load, note, refill, renew } from './dom.js';
import { exportButton } from './export_button.js';
import { fillAround, timeBounds } from './filter.js';
import { cutName, plural, tail, time, visible } from './format.js';
import { APP, ListFilter, STATUS, listed, timeField, typed } from './list_filter.js';
import { findPlace, goBackTo } from './place.js';
import { hostOf, receiverName, receiverTitle } from './receiver.js';
import { deliveryBadge, runPath } from './state.js';
import { showStale } from './stale.js';

await Promise.all(['list.css', 'deliveries.css'].map(addStyle));

const PAGE = 50;
const FEW = 5;
const APP_END = 8; /* characters of its name that stay */
const EVERY = 2000;
const STATES = [
    ['pending', 'pending'],
    ['dead', 'dead letter'],
    ['delivered', 'delivered'],
];
const EMPTY = {
    '': ['No webhooks yet', 'Add webhookEndpoint=<URL> to a call, and its response is sent there too.'],
    pending: ['Nothing is on its way', 'Each webhook has arrived or was given up.'],
    dead: ['No dead letters', 'No webhook was given up.'],
    delivered: ['Nothing was delivered yet', 'Webhooks that arrive are listed here.'],
};
const STATE_WORDS = { dead: 'dead letters', delivered: 'delivered webhooks' };
const destinations = new Set();
const FILTER = new ListFilter(
    'deliveries',
    [
        timeField('Made'),
        listed('state', 'State', STATES),
        {
            ...typed('to', 'Destination', 'https://host of a receiver', originOf),
            suggest: () => [...destinations].sort().map((one) => [one, hostOf(one)]),
            load: loadDestinations,
        },
        APP,
        STATUS,
    ],
    { open: 'delivery' },
);
const BESIDE = { page: 'deliveries', name: 'delivery', label: 'Delivery' };

export function show(main) {
    const filter = FILTER.read();
    const list = new DeliveryList(filter);
    const frame = h('div.list', {}, list.elements);
    const loadDelivery = async () => {
        const { openDelivery } = await import('./delivery.js');
        return (place, id, options) => openDelivery(place, id, { ...options, ...list.follow(id, (made) => beside.open(made)) });
    };
    const beside = new Beside(frame, { ...BESIDE, load: loadDelivery });
    const saving = exportButton({ name: 'deliveries', path: '/deliveries', rows: 'deliveries', query: () => list.filter });
    const hint = api.isAdmin() ? null : h('p.hint', {}, 'Admins send webhooks again; the role viewer sees them.');
    const line = h('div.filters.narrow', { id: 'filters-deliveries' }, showChips(FILTER.line(filter)));
    fillAround(main, line, [h('h1', {}, 'Deliveries')], [h('div.actions.tools', {}, saving), hint, FILTER.showIgnored(), ...beside.elements]);
    const endList = list.begin();
    const endBeside = beside.begin();
    return () => {
        endBeside();
        endList();
    };
}

function originOf(text) {
    return URL.canParse(text) && /^https?:/.test(text) ? new URL(text).origin : '';
}

/** Those that the project has, when one is to be chosen. */
async function loadDestinations() {
    const answer = await api.get('/destinations', { query: { limit: 200 } }).catch(() => ({ destinations: [] }));
    for (const { destination } of answer.destinations) destinations.add(destination);
}

/** As the server takes it. */
function asked(filter) {
    const { state, to, app, status } = filter;
    return { state, destination: to, app, status, ...timeBounds(filter) };
}

class DeliveryList {
    /** delivery_id → `{ delivery, row, text, isGone }`, in the order of the page. */
    #shown = new Map();
    #chosen = new Set();
    #newest = null; // when the list was loaded
    #hasNewer = false;
    #isTaken = false; // it was asked for by a button that goes
    #cursor = null; // below what is shown; null: nothing is there
    #searchedTo = null;
    #query;
    #hasApps;
    #polling;

    #problem = h('div');
    #newer = h('div.newer');
    #bar = h('div.bar');
    #list = h('ul.deliveries', { 'aria-label': 'Deliveries, newest first' });
    #rest = h('div.rest');
    elements = [this.#problem, this.#newer, this.#bar, this.#list, this.#rest];

    constructor(query) {
        this.#query = query;
        this.filter = asked(query);
        this.#hasApps = api.session.apps.length > 1 && !query.app;
        this.#list.classList.toggle('has-apps', this.#hasApps);
    }

    /** Answers what ends it. */
    begin() {
        const onError = (error, at) => showStale(this.#problem, 'The list is', error, at);
        const { kept, keep } = findPlace();
        if (kept) this.#restore(kept);
        this.#polling = api.poll(EVERY, (signal) => this.#turn(signal), onError);
        return () => {
            this.#polling.stop();
            const left = idAt(document.activeElement);
            const deliveries = [...this.#shown.values()].map(({ delivery }) => delivery);
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
        goBackTo(where, linkOf(this.#shown.get(left)?.row));
    }

    /** For the one that is beside it. `onMade(id)`: another was made of it. */
    follow(key, onMade) {
        return {
            onChange: (delivery) => this.#shown.has(key) && this.#put(delivery),
            onResent: (id) => {
                this.reload();
                onMade(id);
            },
        };
    }

    async #turn(signal) {
        const isOpen = [...this.#shown.values()].some(({ delivery }) => delivery.state === 'pending');
        const limit = !this.#newest || isOpen ? PAGE : FEW;
        const answer = await api.get('/deliveries', { query: { ...this.filter, limit }, signal });
        if (!this.#newest) {
            this.#newest = answer.deliveries[0]?.delivery_id ?? null;
            this.#take(answer);
            if (this.#isTaken && document.activeElement === document.body) this.#focusFirst();
            this.#isTaken = false;
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

    /** What was pressed is gone. */
    #focusFirst() {
        const first = linkOf(this.#shown.values().next().value?.row) ?? this.#rest.querySelector('a, button') ?? this.#rest.closest('main');
        first?.focus();
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
        if (!known) this.#shown.set(key, { delivery, row: h('li.d-row', rowOf('delivery', key), this.#cellsOf(delivery)), text });
        else if (known.text !== text) {
            Object.assign(known, { delivery, text });
            if (delivery.state === 'pending' && this.#chosen.delete(key)) this.#showBar();
            renewRow(known.row, this.#cellsOf(delivery));
        }
        return this.#shown.get(key).row;
    }

    #cellsOf(delivery) {
        return [
            this.#choice(delivery),
            deliveryBadge(delivery),
            this.#hasApps ? h('span.app-of', { title: visible(delivery.app_name) }, cutName(delivery.app_name, APP_END)) : null,
            h('a.destination', { href: `#/deliveries/${delivery.delivery_id}`, title: receiverTitle(delivery) }, receiverName(delivery)),
            h('span.why', {}, showReason(delivery)),
            h('span.tries', { title: plural(delivery.attempt_count, 'attempt') }, plural(delivery.attempts.length, 'attempt')),
            h('a.run-of', { href: runPath(delivery), title: delivery.run_id, 'aria-label': `run …${tail(delivery.run_id)}` }, h('span.id', {}, `…${tail(delivery.run_id)}`)),
            h('span.when', {}, time(delivery.created_at)),
            h('span.row-button', {}, redeliverButton(delivery, (fresh) => this.#put(fresh))),
        ].filter(Boolean);
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
            all ? button(`Redeliver all ${all}…`, () => this.#redeliver({ which: FILTER.inWords(this.#query), filter: this.filter }), 'small') : null,
        );
        const same = hadFocus && [...this.#bar.children].find((child) => child.textContent === hadFocus);
        if (hadFocus) (same || this.#bar.firstChild).focus();
    }

    async #redeliver(plan) {
        const bulk = await load(() => import('./bulk.js'));
        if (!(await bulk?.redeliverMany(plan))) return;
        this.#choose([]);
        this.reload();
    }

    /* ---- around them ---- */

    #showRest() {
        const n = this.#shown.size;
        const searched = this.#searchedTo && h('span.count', {}, 'looked back to ', time(this.#searchedTo));
        if (!n && this.#cursor) return refill(this.#rest, searched, this.#olderButton('Look further back'));
        if (!n) return fill(this.#rest, showEmpty(this.#query));
        const end = this.#cursor ? this.#olderButton() : h('span.count', {}, 'These are all.');
        refill(this.#rest, h('span.count', {}, `${plural(n, 'delivery', 'deliveries')} shown`), searched, end);
    }

    #olderButton(text = 'Show older') {
        return button(text, ({ target }) => busy(target, () => this.#showOlder()));
    }

    async #showOlder() {
        try {
            this.#take(await api.get('/deliveries', { query: { ...this.filter, limit: PAGE, cursor: this.#cursor } }));
            announce(`${plural(this.#shown.size, 'delivery', 'deliveries')} shown`);
        } catch (error) {
            const why = note('error', 'Older deliveries could not be loaded', h('p', {}, error.message));
            refill(this.#rest, why, this.#olderButton());
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
        this.#isTaken ||= this.elements.some((element) => element.contains(document.activeElement));
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
function renewRow(row, cells) {
    const hadFocus = row.contains(document.activeElement);
    renew(row, cells);
    if (hadFocus && !row.contains(document.activeElement)) linkOf(row).focus();
}

function showEmpty({ state, ...others }) {
    const [title, text] = EMPTY[state];
    if (!FILTER.isOn(others)) return note('empty', title, h('p', {}, text));
    const all = h('a', { href: FILTER.addressOf({ state }) }, 'Look at all of them');
    return note('empty', 'No delivery matches these filters', h('p', {}, all, ' or choose others.'));
}
