// deliveries.js - webhooks on their way, arrived, given up: by state and destination; sending them again.
import * as api from './api.js';
import { announce, ask, button, fill, h, isNear, note, renew, select, showStale } from './dom.js';
import { TIMES, changeFilter, readFilter, since } from './filter.js';
import { id, plural, time, visible } from './format.js';
import { attemptTable, nextAttempt, redeliverButton } from './attempts.js';
import { deliveryBadge, runPath } from './state.js';

const PAGE = 50;
const FEW = 5;
const EVERY = 2000;
const STATES = [
    ['', 'All'],
    ['pending', 'Pending'],
    ['dead', 'Dead letters'],
    ['delivered', 'Delivered'],
];
const OPTIONS = { state: STATES, time: TIMES, to: null };
const EVER = '1970-01-01T00:00:00.000Z';
const EMPTY = {
    '': ['No webhooks yet', 'Add webhookEndpoint=<URL> to a call, and its response is sent there too.'],
    pending: ['Nothing is on its way', 'Each webhook has arrived or was given up.'],
    dead: ['No dead letters', 'No webhook was given up.'],
    delivered: ['Nothing was delivered yet', 'Webhooks that arrive are listed here.'],
};

export function show(main, route) {
    const query = readFilter(route.query, OPTIONS);
    const list = new DeliveryList(query);
    const filters = h(
        'div.filters',
        {},
        select('Accepted', TIMES, query.time, (time) => changeFilter('deliveries', query, { time })),
        list.destinations,
        h('span.gap'),
        redeliverAllButton(query, list),
    );
    fill(main, h('h1', {}, 'Deliveries'), showTabs(query), filters, list.elements);
    const polling = list.begin();
    return () => polling.stop();
}

function showTabs(query) {
    const tab = ([value, text]) =>
        h(
            'button.tab',
            {
                id: `state-${value}`,
                type: 'button',
                'aria-pressed': String(value === query.state),
                onclick: () => changeFilter('deliveries', query, { state: value, to: '' }),
            },
            text,
        );
    return h('div.tabs', { role: 'group', 'aria-label': 'State' }, STATES.map(tab));
}

class DeliveryList {
    /** delivery_id → `{ delivery, row, text, isGone }`, in the order of the page. */
    #shown = new Map();
    #opened = new Set(); // ids of those whose attempts are seen
    #newest = null; // when the list was loaded
    #hasNewer = false;
    #cursor = null; // below what is shown; null: nothing is there
    #query;
    #polling;

    #problem = h('div');
    #newer = h('div.newer');
    #list = h('ul.deliveries', { 'aria-label': 'Deliveries, newest first' });
    #rest = h('div.rest');
    elements = [this.#problem, this.#newer, this.#list, this.#rest];
    destinations = h('div');

    constructor(query) {
        this.#query = query;
        this.filter = { state: query.state, since: since(query.time) };
        this.#showDestinations([[query.to, visible(query.to) || 'All']]);
    }

    begin() {
        const onError = (error) => showStale(this.#problem, error);
        this.#polling = api.poll(EVERY, (signal) => this.#turn(signal), onError);
        return this.#polling;
    }

    async #turn(signal) {
        const isOpen = [...this.#shown.values()].some(({ delivery }) => delivery.state === 'pending');
        const limit = !this.#newest || isOpen ? PAGE : FEW;
        const answer = await api.get('/deliveries', { query: { ...this.filter, limit }, signal });
        if (!this.#newest) {
            this.#newest = answer.deliveries[0]?.delivery_id ?? null;
            this.#cursor = answer.next_cursor;
            return this.#append(answer.deliveries);
        }
        this.#lookForNewer(answer.deliveries[0]?.delivery_id);
        const listed = new Set(answer.deliveries.map((delivery) => delivery.delivery_id));
        for (const delivery of answer.deliveries)
            if (this.#shown.has(delivery.delivery_id)) this.#put(delivery);
        await this.#follow(listed, signal);
    }

    #append(deliveries) {
        const fresh = deliveries.filter((delivery) => !this.#shown.has(delivery.delivery_id));
        this.#list.append(...fresh.map((delivery) => this.#put(delivery)));
        this.#showAround();
    }

    /* ---- rows ---- */

    /** The row of a delivery, as it is now. */
    #put(delivery) {
        const key = delivery.delivery_id;
        const text = JSON.stringify(delivery);
        const known = this.#shown.get(key);
        if (!known) this.#shown.set(key, { delivery, row: this.#makeRow(delivery), text });
        else if (known.text !== text) {
            renewRow(known.row, this.#makeRow(delivery));
            Object.assign(known, { delivery, text });
        }
        return this.#shown.get(key).row;
    }

    #makeRow(delivery) {
        return h(
            'li.delivery',
            { hidden: this.#query.to !== '' && delivery.destination !== this.#query.to },
            h(
                'div.delivery-head',
                {},
                deliveryBadge(delivery),
                h('span.destination', {}, visible(delivery.destination)),
                h('span.when', {}, time(delivery.created_at)),
                nextAttempt(delivery),
                h('span.gap'),
                redeliverButton(delivery, () => this.#polling.now()),
            ),
            showRun(delivery),
            this.#showAttempts(delivery),
        );
    }

    #showAttempts(delivery) {
        const key = delivery.delivery_id;
        const ontoggle = ({ target }) => (target.open ? this.#opened.add(key) : this.#opened.delete(key));
        return h(
            'details',
            { open: this.#opened.has(key), ontoggle },
            h('summary', {}, plural(delivery.attempts.length, 'attempt')),
            attemptTable(delivery),
        );
    }

    /* ---- around them ---- */

    #showAround() {
        const counts = this.#showCounts();
        if (!this.#shown.size) return fill(this.#rest, showEmpty(this.#query));
        const { to } = this.#query;
        fill(
            this.#rest,
            to && !counts.get(to) ? note('empty', 'None of those shown goes there') : null,
            h('span.count', {}, `${plural(this.#shown.size, 'delivery', 'deliveries')} looked at`),
            this.#cursor ? this.#olderButton() : null,
        );
    }

    /** How many of each destination are on the page, to choose from. */
    #showCounts() {
        const { to } = this.#query;
        const counts = new Map(to ? [[to, 0]] : []);
        for (const { delivery } of this.#shown.values())
            counts.set(delivery.destination, (counts.get(delivery.destination) ?? 0) + 1);
        const sorted = [...counts].sort((a, b) => b[1] - a[1]);
        const options = sorted.map(([name, n]) => [name, `${visible(name)} (${n})`]);
        const hasFocus = this.destinations.contains(document.activeElement);
        if (!hasFocus) this.#showDestinations([['', `All (${this.#shown.size} shown)`], ...options]);
        return counts;
    }

    #showDestinations(options) {
        const { to } = this.#query;
        const go = (value) => changeFilter('deliveries', this.#query, { to: value });
        fill(this.destinations, select('Destination', options, to, go));
    }

    #olderButton() {
        return button('Show older', (event) => this.#showOlder(event.target));
    }

    async #showOlder(pressed) {
        pressed.disabled = true;
        try {
            const query = { ...this.filter, limit: PAGE, cursor: this.#cursor };
            const answer = await api.get('/deliveries', { query });
            this.#cursor = answer.next_cursor;
            this.#append(answer.deliveries);
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
        this.#polling.now();
    }

    /** Those on the page that are pending, and no longer in the list's beginning or no longer of its filter. */
    async #follow(listed, signal) {
        const isLeft = ({ delivery, row, isGone }) =>
            delivery.state === 'pending' && !listed.has(delivery.delivery_id) && !isGone && !row.hidden;
        const near = [...this.#shown.values()].filter((known) => isLeft(known) && isNear(known.row));
        const askFor = async (known) => {
            const one = await api.find(`/deliveries/${known.delivery.delivery_id}`, { signal });
            if (one) this.#put(one);
            else known.isGone = true; // its run was purged
        };
        await Promise.all(near.map(askFor));
    }
}

/** Of which run it is, and why it has not arrived. */
function showRun(delivery) {
    const last = delivery.attempts.at(-1);
    const why =
        delivery.state !== 'delivered' &&
        last &&
        (last.error ?? (last.status_code ? `status ${last.status_code}` : last.outcome));
    return h(
        'p.sub',
        {},
        h('span', {}, delivery.type),
        h('a', { href: runPath(delivery) }, id(delivery.run_id)),
        why ? h('span.error', {}, visible(why)) : null,
    );
}

/** What differs is made anew; the focus stays in the row. */
function renewRow(row, fresh) {
    const hadFocus = row.contains(document.activeElement);
    renew(row, [...fresh.children]);
    if (hadFocus && document.activeElement === document.body) row.querySelector('summary').focus();
}

/** All of the filter: the server's own, or, for one destination, one after the other. */
function redeliverAllButton(query, list) {
    if (!api.isAdmin() || query.state !== 'dead') return null;
    const when = TIMES.find(([value]) => value === query.time)[1].toLowerCase();
    const whose = query.to ? `to ${visible(query.to)}` : 'of this project';
    const question = {
        title: 'Redeliver all dead letters?',
        text: `All dead letters ${whose} (accepted: ${when}) are sent again, in a new round of attempts each, also those that are not shown here.`,
        yes: 'Redeliver all',
        kind: 'main',
        act: () => (query.to ? redeliverTo(query.to, list.filter) : redeliverAll(list.filter)),
    };
    return button('Redeliver all…', () => ask(question).then((isDone) => isDone && list.reload()));
}

function redeliverAll({ since: from }) {
    return api.send('POST', '/deliveries/redeliver', { state: 'dead', since: from || EVER });
}

/** Page by page, for the server has no filter for destinations. Those that are pending again or gone are left out. */
async function redeliverTo(destination, filter) {
    for (let cursor; cursor !== null; ) {
        const answer = await api.get('/deliveries', { query: { ...filter, limit: 200, cursor } });
        cursor = answer.next_cursor;
        for (const { delivery_id: key } of answer.deliveries.filter((d) => d.destination === destination))
            await api.send('POST', `/deliveries/${key}/redeliver`).catch((error) => {
                if (error.status !== 409 && error.status !== 404) throw error;
            });
    }
}

function showEmpty({ state, time: within }) {
    const [title, text] = EMPTY[state];
    const all = within
        ? h('p', {}, h('a', { href: `#/deliveries?state=${state}` }, 'Look at any time'))
        : null;
    return note('empty', title, h('p', {}, text), all);
}
