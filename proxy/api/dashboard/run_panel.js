// run_panel.js - one run in a place of a page: what became of it on the left, what it was given and gave on the right.
// Promise: one request a look, whatever is shown of it; each pane is filled when it is seen.
// Not here: the page of one run (run.js), which run it is, what opens and closes it (beside.js).
import * as api from './api.js';
import { now } from './clock.js';
import { addStyle, announce, button, fill, h, note } from './dom.js';
import { tail } from './format.js';
import { eventPanel } from './events.js';
import { runLog } from './log.js';
import { paneTabs } from './panes.js';
import { progressRow } from './progress.js';
import { runFacts } from './run_facts.js';
import { runHead } from './run_head.js';
import { spansOf } from './spans.js';
import { showStale } from './stale.js';
import { failedAttempts, isOpen } from './state.js';
import { waterfall } from './waterfall.js';

await addStyle('run.css');

const EVERY = 1500;
const SOON = 500;
const TICK = 250; /* ms between two drawings of what goes on */
let wanted = null; // the pane that was chosen last: the next run is opened with it

/**
 * Shows run `id` in `place` until the function that it answers is called. `onClose()`: it is to be closed, by its button;
 * without it the run is a page of its own.
 */
export function openRun(place, id, { onClose } = {}) {
    const view = new RunView(place, id, onClose);
    return () => view.end();
}

class RunView {
    #place;
    #id;
    #path;
    #onClose;
    #gone = new AbortController();
    #polling;
    #tick;
    #run = null;
    #last = '';
    #isToldLive = false; // by the events: they are sooner than the next look
    #shown = {}; // of each pane what it was filled for
    #problem = h('div');
    #body = h('div.run-body');
    #times = waterfall();
    #facts = runFacts();
    #progress = progressRow();
    #panels = {};
    #head;
    #events;
    #log;
    #webhooks = null; // made when they are seen
    #panes;

    constructor(place, id, onClose) {
        this.#place = place;
        this.#id = id;
        this.#path = `/runs/${encodeURIComponent(id)}`;
        this.#onClose = onClose;
        const again = () => this.#polling.now();
        this.#head = runHead(this.#path, {
            runId: id,
            level: onClose ? 'h2' : 'h1',
            again,
            goToWebhooks: () => this.#goTo('webhook'),
            more: onClose ? this.#frame() : [],
        });
        this.#events = eventPanel(this.#path, {
            progress: (value) => {
                this.#isToldLive = true;
                this.#progress.show(value);
            },
            lost: () => (this.#isToldLive = false),
            end: again,
        });
        this.#log = runLog(this.#path);
        this.#panes = this.#makePanes();
        this.#fillPlace();
        this.#polling = api.poll(EVERY, (signal) => this.#turn(signal), (error, at) => this.#fail(error, at));
        this.#tick = setInterval(() => this.#run && isOpen(this.#run) && !document.hidden && this.#drawTimes(), TICK);
    }

    end() {
        this.#polling.stop();
        this.#events.stop();
        this.#gone.abort();
        clearInterval(this.#tick);
        this.#place.classList.remove('run-panel');
        fill(this.#place);
    }

    /* ---- its parts ---- */

    #makePanes() {
        const part = (key, title) => {
            this.#panels[key] = h('section', { 'aria-labelledby': `tab-${key}` });
            return { key, title, panel: this.#panels[key] };
        };
        const all = [
            part('input', 'Input'),
            part('output', 'Output'),
            part('error', 'Error'),
            { key: 'log', title: 'Log', panel: this.#log.section },
            { key: 'events', title: 'Events', panel: this.#events.section },
            { key: 'webhook', title: 'Webhook', panel: (this.#panels.webhook = h('div')) },
        ];
        return paneTabs('What it was given and gave', all, (key) => {
            wanted = key;
            this.#fillSoon();
        });
    }

    #fillPlace() {
        const times = h('section', { 'aria-labelledby': 'times' }, h('h2', { id: 'times' }, 'Timeline'), this.#times.element);
        this.#body.hidden = true;
        fill(this.#body, times, this.#panes.element, this.#facts.section);
        this.#place.classList.add(this.#onClose ? 'run-panel' : 'run-page');
        if (this.#onClose) this.#place.setAttribute('aria-label', `Run ${tail(this.#id)}`);
        fill(this.#place, this.#head.element, this.#problem, this.#progress.row, this.#body);
    }

    /** A way to the page of its own, and back to the list. */
    #frame() {
        return [
            h('a.button.small', { href: `#/runs/${this.#id}`, title: 'Open as a page (o)' }, 'Open as a page'),
            button('Close', this.#onClose, 'small.run-close', { title: 'Close (Escape)' }),
        ];
    }

    /* ---- a look at it ---- */

    async #turn(signal) {
        const run = await api.get(this.#path, { signal });
        const isFirst = !this.#run;
        const text = JSON.stringify(run);
        const before = this.#run;
        this.#run = run;
        if (text !== this.#last) {
            if (before && run.state !== before.state) announce(`The run is ${run.state}`);
            this.#last = text;
            this.#head.show(run);
        }
        if (!run.finished_at) this.#progress.reserve();
        if (run.progress !== null && (run.finished_at || !this.#isToldLive)) this.#progress.show(run.progress);
        this.#facts.show(run);
        this.#drawTimes();
        const isWantedSoon = this.#events.update(run);
        this.#showTabs(isFirst);
        await this.#fillPane(signal);
        this.#body.hidden = false;
        fill(this.#problem);
        if (isFirst && this.#onClose) announce(`Run ${tail(this.#id)}: ${run.state}`);
        if (isWantedSoon) return SOON;
        // What has ended changes when someone redelivers it, and seldom else.
        return isOpen(run) ? EVERY : 8 * EVERY;
    }

    #fail(error, at) {
        if (error?.status === 404) fill(this.#problem, note('error', 'This run is not here', h('p', {}, error.message)));
        else showStale(this.#problem, 'The run is', error, at);
        if (error?.status === 404 || error?.status === 400) this.#polling.stop();
    }

    #drawTimes() {
        this.#times.show(spansOf(this.#run, now()));
    }

    /* ---- the panes ---- */

    #mayRead() {
        return api.seesAll() || Boolean(this.#run.subject);
    }

    /** Which of them there are; what was chosen stays, and the first one is what most want to know of such a run. */
    #showTabs(isFirst) {
        const run = this.#run;
        const keys = ['input', 'output'];
        if (run.state === 'failure' || failedAttempts(run).length) keys.push('error');
        if (this.#mayRead()) keys.push('log');
        if (!this.#events.section.hidden) keys.push('events');
        if (run.deliveries.length) keys.push('webhook');
        this.#panes.set(keys);
        this.#panes.mark('webhook', run.deliveries.length > 1 ? String(run.deliveries.length) : '');
        if (!isFirst && keys.includes(this.#panes.chosen())) return;
        const first = run.state === 'failure' ? 'error' : run.request_fields ? 'input' : 'output';
        this.#panes.choose(keys.includes(wanted) ? wanted : first);
    }

    #goTo(key) {
        this.#panes.choose(key);
        wanted = key;
        document.getElementById(`tab-${key}`).focus();
        this.#fillSoon();
    }

    /** Now, and if that does not work, with the next look. */
    #fillSoon() {
        this.#fillPane().catch(() => this.#polling.now());
    }

    /** The pane that is seen, once for each thing that it says. */
    async #fillPane(signal = this.#gone.signal) {
        const run = this.#run;
        const key = this.#panes.chosen();
        if (key === 'events') return;
        if (key === 'log') return void (await this.#log.renew(signal, run.finished_at !== null));
        const what = JSON.stringify({ output: run.finished_at, error: [run.finished_at, run.attempts], webhook: run.deliveries }[key] ?? '');
        if (this.#shown[key] === what) return;
        this.#shown[key] = what;
        try {
            await this.#fill(key, run);
        } catch (error) {
            delete this.#shown[key];
            throw error;
        }
    }

    /** What a pane is made of is loaded with the first one. */
    async #fill(key, run) {
        const panel = this.#panels[key];
        const about = { title: `tab-${key}`, mayRead: this.#mayRead(), signal: this.#gone.signal };
        if (key === 'input') (await api.part(() => import('./request.js'))).showRequest(panel, run, this.#path, about);
        else if (key === 'output') (await api.part(() => import('./result.js'))).showResult(panel, run, this.#path, about);
        else if (key === 'error') (await api.part(() => import('./run_error.js'))).showError(panel, run, this.#path, about);
        else await this.#showWebhooks(panel, run);
    }

    async #showWebhooks(panel, run) {
        const { webhookPane } = await api.part(() => import('./webhook_pane.js'));
        if (!this.#webhooks) {
            this.#webhooks = webhookPane(() => this.#polling.now());
            fill(panel, this.#webhooks.section);
        }
        await this.#webhooks.show(run);
    }
}
