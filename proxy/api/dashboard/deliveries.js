// deliveries.js - webhooks on their way, arrived, given up: by state and destination; sending them again.
import * as api from './api.js';
import { announce, ask, button, fill, h, isNear, note, select } from './dom.js';
import { TIMES, changeFilter, readFilter, since } from './filter.js';
import { id, plural, time, visible } from './format.js';
import { attemptTable, redeliverButton } from './attempts.js';
import { deliveryBadge, runPath } from './state.js';

const PAGE = 50;
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
    const filter = { state: query.state, since: since(query.time) };
    const go = (change) => changeFilter('deliveries', query, change);

    /** delivery_id → `{ delivery, row, text }`, in the order of the page. */
    const shown = new Map();
    let cursor = null,
        newest = null,
        hasNewer = false;
    const opened = new Set();

    const problem = h('div');
    const newer = h('div.newer');
    const destinations = h('div');
    const list = h('ul.deliveries', { 'aria-label': 'Deliveries, newest first' });
    const rest = h('div.rest');
    fill(
        main,
        h('h1', {}, 'Deliveries'),
        h(
            'div.tabs',
            { role: 'group', 'aria-label': 'State' },
            STATES.map(([value, text]) =>
                h(
                    'button.tab',
                    {
                        id: `state-${value}`,
                        type: 'button',
                        'aria-pressed': String(value === query.state),
                        onclick: () => go({ state: value, to: '' }),
                    },
                    text,
                ),
            ),
        ),
        h(
            'div.filters',
            {},
            select('Accepted', TIMES, query.time, (value) => go({ time: value })),
            destinations,
            h('span.gap'),
            redeliverAllButton(),
        ),
        problem,
        newer,
        list,
        rest,
    );

    const isWanted = (delivery) => !query.to || delivery.destination === query.to;

    function row(delivery) {
        const key = delivery.delivery_id;
        const attempts = delivery.attempts;
        const last = attempts.at(-1);
        const why =
            delivery.state !== 'delivered' &&
            last &&
            (last.error ?? (last.status_code ? `status ${last.status_code}` : last.outcome));
        return h(
            'li.delivery',
            { hidden: !isWanted(delivery) },
            h(
                'div.delivery-head',
                {},
                deliveryBadge(delivery),
                h('span.destination', {}, visible(delivery.destination)),
                h('span.when', {}, time(delivery.created_at)),
                h('span.gap'),
                redeliverButton(delivery, () => polling.now()),
            ),
            h(
                'p.sub',
                {},
                h('span', {}, delivery.type),
                h('a', { href: runPath(delivery) }, id(delivery.run_id)),
                why ? h('span.error', {}, visible(why)) : null,
            ),
            h(
                'details',
                {
                    open: opened.has(key),
                    ontoggle: (event) => (event.target.open ? opened.add(key) : opened.delete(key)),
                },
                h('summary', {}, plural(attempts.length, 'attempt')),
                attemptTable(delivery),
            ),
        );
    }

    function put(delivery) {
        const text = JSON.stringify(delivery);
        const known = shown.get(delivery.delivery_id);
        if (!known) shown.set(delivery.delivery_id, { delivery, row: row(delivery), text });
        else if (known.text !== text) {
            renew(known.row, row(delivery));
            Object.assign(known, { delivery, text });
        }
        return shown.get(delivery.delivery_id).row;
    }

    /** What differs is made anew; the focus stays in the row. */
    function renew(old, fresh) {
        const hadFocus = old.contains(document.activeElement);
        const parts = [...fresh.children];
        [...old.children].forEach((part, i) => part.isEqualNode(parts[i]) || part.replaceWith(parts[i]));
        if (hadFocus && document.activeElement === document.body) old.querySelector('summary').focus();
    }

    function append(deliveries) {
        list.append(...deliveries.filter(({ delivery_id: key }) => !shown.has(key)).map(put));
        showAround();
    }

    /** How many of each destination are on the page, to choose from. */
    function showAround() {
        const counts = new Map(query.to ? [[query.to, 0]] : []);
        for (const { delivery } of shown.values())
            counts.set(delivery.destination, (counts.get(delivery.destination) ?? 0) + 1);
        const sorted = [...counts].sort((a, b) => b[1] - a[1]);
        const options = [
            ['', `All (${shown.size} shown)`],
            ...sorted.map(([name, n]) => [name, `${visible(name)} (${n})`]),
        ];
        if (!destinations.contains(document.activeElement)) showDestinations(options);
        if (!shown.size) return fill(rest, showEmpty(query));
        const none =
            query.to && !counts.get(query.to) ? note('empty', 'None of those shown goes there') : null;
        fill(
            rest,
            none,
            h('span.count', {}, `${plural(shown.size, 'delivery', 'deliveries')} looked at`),
            cursor ? button('Show older', older) : null,
        );
    }

    function showDestinations(options) {
        fill(
            destinations,
            select('Destination', options, query.to, (value) => go({ to: value })),
        );
    }

    async function older(event) {
        event.target.disabled = true;
        try {
            const answer = await api.get('/deliveries', { query: { ...filter, limit: PAGE, cursor } });
            cursor = answer.next_cursor;
            append(answer.deliveries);
        } catch (error) {
            fill(
                rest,
                note('error', 'Older deliveries could not be loaded', h('p', {}, error.message)),
                button('Show older', older),
            );
        }
    }

    function reload() {
        shown.clear();
        fill(list);
        fill(newer);
        newest = cursor = null;
        hasNewer = false;
        polling.now();
    }

    async function turn(signal) {
        const isOpen = [...shown.values()].some(({ delivery }) => delivery.state === 'pending');
        const answer = await api.get('/deliveries', {
            query: { ...filter, limit: !newest || isOpen ? PAGE : 5 },
            signal,
        });
        const first = answer.deliveries[0]?.delivery_id;
        if (!newest) {
            if (!first && shown.size === 0) return append([]);
            newest = first;
            cursor = answer.next_cursor;
            return append(answer.deliveries);
        }
        if (first && first !== newest && !shown.has(first) && !hasNewer) {
            hasNewer = true;
            fill(newer, button('Show newer deliveries', reload, 'main'));
            announce('There are newer deliveries');
        }
        const listed = new Set();
        for (const delivery of answer.deliveries) {
            listed.add(delivery.delivery_id);
            if (shown.has(delivery.delivery_id)) put(delivery);
        }
        await follow(
            [...shown.values()].filter(({ delivery: { state, delivery_id: key } }) => {
                return state === 'pending' && !listed.has(key);
            }),
            signal,
        );
    }

    /** Those on the page that are pending, and no longer in the list's beginning or no longer of its filter. */
    async function follow(pending, signal) {
        const near = pending.filter((known) => !known.isGone && !known.row.hidden && isNear(known.row));
        const askFor = async (known) => {
            const one = await api.find(`/deliveries/${known.delivery.delivery_id}`, { signal });
            if (one) put(one);
            else known.isGone = true; // its run was purged
        };
        await Promise.all(near.map(askFor));
    }

    function onError(error) {
        fill(problem, error && note('error', 'The list is not up to date', h('p', {}, error.message)));
    }

    /** All of the filter: the server's own, or, for one destination, one after the other. */
    function redeliverAllButton() {
        if (!api.isAdmin() || query.state !== 'dead') return null;
        const when = TIMES.find(([value]) => value === query.time)[1].toLowerCase();
        const whose = query.to ? `to ${visible(query.to)}` : 'of this project';
        return button('Redeliver all…', async () => {
            const isDone = await ask({
                title: 'Redeliver all dead letters?',
                text: `All dead letters ${whose} (accepted: ${when}) are sent again, in a new round of attempts each, also those that are not shown here.`,
                yes: 'Redeliver all',
                kind: 'main',
                act: () => (query.to ? redeliverTo(query.to, filter) : redeliverAll(filter)),
            });
            if (isDone) reload();
        });
    }

    showDestinations([[query.to, visible(query.to) || 'All']]);
    const polling = api.poll(EVERY, turn, onError);
    return () => polling.stop();
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
