// delivery.js - one webhook: where it goes and why it is not there yet, and of each attempt what was sent and what came
// back. Beside the list, or as a page of its own (#/deliveries/ID).
import * as api from './api.js';
import { showAnswer, showParts } from './answers.js';
import { outcome, redeliverButton } from './attempts.js';
import { addStyle, badge, button, copy, fill, h, load, note, refill } from './dom.js';
import { bytes, duration, id as shortId, plural, time, visible } from './format.js';
import { jsonFormatter } from './pretty.js';
import { hostOf } from './receiver.js';
import { showStale } from './stale.js';
import { deliveryBadge, runPath } from './state.js';

await addStyle('deliveries.css');

const OPEN = 2000; /* ms between two looks while attempts are made */
const OVER = 15_000;
const FEW = 8; /* attempts that are tabs; of more the others are chosen */

/** The page of one. */
export function show(main, route) {
    const place = h('div.delivery-page');
    fill(main, h('a.back', { href: '#/deliveries' }, '← Deliveries'), place);
    return openDelivery(place, route.path[1], { isPage: true, onResent: (id) => (location.hash = `#/deliveries/${id}`) });
}

/**
 * Shows a delivery in `place` until the function is called that it answers. `onClose`: what a button for that calls.
 * `onChange(delivery)`: it is not what it was; `onResent(id)`: another one was made of it.
 */
export function openDelivery(place, id, options = {}) {
    const view = new DeliveryView(id, options);
    fill(place, view.elements);
    return view.begin();
}

class DeliveryView {
    #id;
    #options;
    #delivery = null;
    #sent = null; // what was sent, once it is known
    #sentOf = -1; // of how many attempts
    #chosen = null; // an attempt's name; null: the last one
    #isRaw = false;
    #polling;

    #problem = h('div');
    #head = h('header.d-head');
    #facts = h('dl.d-facts');
    #tabs = h('div.d-tabs');
    #panes = h('div.d-panes');
    elements = [this.#problem, this.#head, this.#facts, this.#tabs, this.#panes];

    constructor(id, options) {
        this.#id = id;
        this.#options = options;
    }

    begin() {
        const onError = (error, at) => showStale(this.#problem, 'The delivery is', error, at);
        this.#polling = api.poll(OPEN, (signal) => this.#turn(signal), onError);
        return () => this.#polling.stop();
    }

    async #turn(signal) {
        const delivery = await api.find(`/deliveries/${encodeURIComponent(this.#id)}`, { signal });
        if (!delivery) {
            this.#showGone();
            return OVER;
        }
        const isOther = JSON.stringify(delivery) !== JSON.stringify(this.#delivery);
        this.#delivery = delivery;
        if (isOther) {
            this.#render();
            this.#options.onChange?.(delivery);
        }
        if (this.#sentOf !== delivery.attempts.length) await this.#loadSent(signal);
        return delivery.state === 'pending' ? OPEN : OVER;
    }

    #showGone() {
        fill(this.#head, h(this.#options.isPage ? 'h1' : 'h2', {}, 'No such delivery'), h('span.gap'), this.#closeButton());
        for (const element of [this.#facts, this.#tabs]) fill(element);
        fill(this.#panes, note('empty', 'It is not there', h('p', {}, 'It never was, or its run is past its retention.')));
    }

    /** What a list and a record do not say; in pieces of 256 KiB at the most. */
    async #loadSent(signal) {
        const of = this.#delivery.attempts.length;
        this.#sent = await api.find(`/deliveries/${this.#id}/request`, { signal });
        this.#sentOf = of;
        this.#showPanes();
    }

    #render() {
        this.#showHead();
        this.#showFacts();
        this.#showTabs();
        this.#showPanes();
    }

    #attempt() {
        const { attempts } = this.#delivery;
        return attempts.find((attempt) => nameOf(attempt) === this.#chosen) ?? attempts.at(-1);
    }

    /* ---- head ---- */

    #showHead() {
        const delivery = this.#delivery;
        const title = this.#options.isPage ? 'h1' : 'h2';
        const again = (fresh) => {
            this.#delivery = fresh;
            this.#chosen = null;
            this.#render();
            this.#options.onChange?.(fresh);
            this.#polling.now();
        };
        refill(
            this.#head,
            h(title, { title: visible(delivery.destination) }, hostOf(delivery.destination)),
            deliveryBadge(delivery),
            delivery.resent ? badge('queued', 'sent elsewhere', 'retry') : null,
            h('span.gap'),
            h('div.d-actions', {}, redeliverButton(delivery, again), this.#moreButtons()),
            h('div.d-way-out', {}, this.#wayOut()),
        );
    }

    #moreButtons() {
        if (!api.isAdmin()) return null;
        const sending = () => load(() => import('./send_elsewhere.js'));
        const elsewhere = async () => {
            const made = await (await sending())?.sendElsewhere(this.#delivery);
            if (made) this.#options.onResent?.(made);
        };
        return [
            button('Send elsewhere…', elsewhere, 'small'),
            button('Send a test…', async () => (await sending())?.testReceiver(this.#delivery), 'small'),
        ];
    }

    #wayOut() {
        if (this.#options.isPage) return null;
        const open = h('a.button.quiet.small', { href: `#/deliveries/${this.#id}`, 'aria-label': 'Open as a page', title: 'Open as a page' }, '⤢');
        return [open, this.#closeButton()];
    }

    #closeButton() {
        const { onClose } = this.#options;
        return onClose ? button('✕', onClose, 'quiet.small', { 'aria-label': 'Close', title: 'Close (Esc)' }) : null;
    }

    /* ---- facts ---- */

    #showFacts() {
        const d = this.#delivery;
        const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
        const next = showNext(d);
        refill(
            this.#facts,
            next ? h('div.d-next', {}, h('dt', {}, 'Next'), h('dd', {}, next)) : null,
            d.url ? h('div.d-url', {}, h('dt', {}, 'To'), h('dd', {}, h('code', {}, `POST ${visible(d.url)}`))) : null,
            fact('Event', h('code', {}, d.type ?? '–')),
            fact('App', visible(d.app_name)),
            fact('Run', h('a', { href: runPath(d) }, shortId(d.run_id))),
            fact('Made', time(d.created_at)),
            fact('Receiver', h('code', { title: 'The same for one URL; says nothing of it' }, d.receiver ?? '–')),
            fact('Delivery', shortId(d.delivery_id)),
        );
    }

    /* ---- attempts ---- */

    #showTabs() {
        const { attempts, attempt_count: all } = this.#delivery;
        if (!attempts.length) return fill(this.#tabs, h('p.hint', {}, 'No attempt was made yet.'));
        const chosen = nameOf(this.#attempt());
        const choose = (name) => {
            this.#chosen = name;
            this.#showTabs();
            this.#showPanes();
        };
        const tabs = attempts.slice(-FEW).map((attempt) => {
            const name = nameOf(attempt);
            const attributes = { 'aria-pressed': String(name === chosen), title: `Attempt ${name}`, onclick: () => choose(name) };
            return h('button.d-tab', { type: 'button', ...attributes }, h('span.hidden', {}, 'Attempt '), name, outcome(attempt));
        });
        refill(this.#tabs, h('div.d-tab-row', { role: 'group', 'aria-label': 'Attempts' }, tabs), this.#showOthers(choose, chosen), h('span.count', {}, plural(all, 'attempt')));
    }

    #showOthers(choose, chosen) {
        const older = this.#delivery.attempts.slice(0, -FEW).map(nameOf);
        if (!older.length) return null;
        const options = older.map((name) => h('option', { value: name, selected: name === chosen }, `Attempt ${name}`));
        const element = h('select', { 'aria-label': 'Older attempts', onchange: () => element.value && choose(element.value) }, h('option', { value: '' }, 'Older…'), options);
        return element;
    }

    #showPanes() {
        const attempt = this.#attempt();
        if (!attempt) return fill(this.#panes);
        const name = nameOf(attempt);
        const heading = this.#options.isPage ? 'h2' : 'h3';
        const panes = [
            h('section.d-pane', { 'aria-label': `Sent in attempt ${name}` }, h(heading, {}, 'What was sent'), this.#showRequest(attempt)),
            h('section.d-pane', { 'aria-label': `Answer to attempt ${name}` }, h(heading, {}, 'What came back'), showCameBack(attempt)),
        ];
        refill(this.#panes, this.#options.isPage ? panes : panes.reverse()); // where one is above the other, the shorter one
    }

    #showRequest(attempt) {
        if (!this.#sent) return h('p.hint', {}, this.#sentOf < 0 ? 'Loading…' : 'It cannot be made any more: its run is gone.');
        const known = this.#sent.attempts.find((one) => nameOf(one) === nameOf(attempt));
        return [known ? showFields(known.fields) : null, ...this.#showBody(this.#sent.body, known, attempt)];
    }

    #showBody({ bytes: size, text, truncated, why_not: why }, known, { sent_bytes: sent }) {
        if (text === null)
            return [note('empty', 'The body is not shown', h('p', {}, why === 'damaged' ? 'What is kept of the response is damaged.' : 'Its run is gone.'))];
        const shown = this.#isRaw || truncated ? text : format(text);
        const press = () => {
            this.#isRaw = !this.#isRaw;
            this.#showPanes();
        };
        const toggle = truncated ? null : button('As sent', press, 'quiet.small', { 'aria-pressed': String(this.#isRaw) });
        return [
            known?.body_as_sent === false ? showOther(size, sent) : null,
            h(
                'div.d-body-head',
                {},
                h('span.sub', {}, `Body, ${bytes(size)}${truncated ? ', its beginning' : ''}${sent ? '' : '; nothing went out in this attempt'}`),
                h('span.gap'),
                toggle,
                copy(text, 'Copy'),
            ),
            h('pre.result', { tabindex: 0, role: 'region', 'aria-label': 'Body' }, visible(shown)),
        ];
    }
}

/** As rounds and their attempts are counted: 1 in the first one, then 2.1. */
function nameOf({ round, n }) {
    return round > 1 ? `${round}.${n}` : `${n}`;
}

function format(text) {
    const formatter = jsonFormatter();
    return formatter.feed(text);
}

function showOther(now, then) {
    return note('error', 'This is not what went out then', h('p', {}, `It had ${then?.toLocaleString()} bytes, and would have ${now?.toLocaleString()}: settings are others since, or the response is not kept any more.`));
}

function showFields(fields) {
    const row = ({ name, value }) => h('div', {}, h('dt', {}, visible(name)), h('dd', {}, value === null ? h('span.none', {}, 'not shown') : visible(value)));
    return h('dl.d-fields', {}, fields.map(row));
}

function showCameBack(attempt) {
    const { status_code: status, duration_ms: took, started_at: at, retry_after: after } = attempt;
    if (attempt.outcome === 'sending') return h('p.hint', {}, 'It is under way since ', time(at), '.');
    return [
        h('p.d-status', {}, h('b', {}, status ? `HTTP ${status}` : 'No answer'), outcome(attempt), h('span.sub', {}, took === null ? null : `after ${duration(took)}`), h('span.sub', {}, time(at))),
        after ? h('p.hint', {}, `It asked to be left alone for ${duration(after * 1000)} (Retry-After).`) : null,
        showParts(attempt),
        attempt.answer && showAnswer(attempt.answer, `Answer’s body, attempt ${nameOf(attempt)}`),
    ];
}

/** Which attempt is next, when, and why then. */
function showNext({ next_attempt: next, round }) {
    if (!next) return null;
    const which = `Attempt ${next.n}${next.of ? ` of ${next.of}` : ''}${round > 1 ? ` of round ${round}` : ''}`;
    const at = next.at ? [' ', time(next.at)] : null;
    const words = {
        sending: [which, ' is under way.'],
        first: [which, ' waits for a place.'],
        redelivery: [which, ' waits for a place: somebody sent it again.'],
        schedule: [which, at, ': the delay that the schedule has.'],
        retry_after: [which, at, ': the receiver asked for it (Retry-After).'],
        place: [which, ' is due, and waits for a place at its destination.'],
        destination_failing: [which, at, ' waits: the destination has not answered since ', time(next.failing_since), ', and gets one attempt at a time.'],
    };
    return words[next.why] ?? [which, at];
}
