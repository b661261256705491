// run_beside.js - a run beside the list: by a click on its row or Enter, with `run=` in the address; arrows move on, Escape
// closes it. A row is a link for every other kind of click.
// Not here: what is said of the run (run_panel.js).
import { announce, h } from './dom.js';
import { areOn } from './shortcuts.js';
import { runPath } from './state.js';

const CALM = 120; /* ms: whoever goes through rows does not want each of them */
const STEPS = new Set(['ArrowDown', 'ArrowUp', 'j', 'k']);

const parametersOf = (hash) => new URLSearchParams(hash.split('?')[1]);

/** The address without which run is open: what the list is of. */
function listOf(hash) {
    const parameters = parametersOf(hash);
    parameters.delete('run');
    return `${hash.split('?')[0]}?${parameters}`;
}

/** The same address with another run, or none. */
function withRun(id) {
    const parameters = parametersOf(location.hash);
    if (id) parameters.set('run', id);
    else parameters.delete('run');
    return `#/runs${parameters.size ? `?${parameters}` : ''}`;
}

export class RunBeside {
    #list;
    #frame;
    #id = null; // of the run that is open
    #isOwnEntry = false; // of the browser's history: Back closes it
    #end = () => {};
    #timer;
    #lastKey = null;
    #aside = h('aside', { hidden: true, 'aria-label': 'Run', tabindex: -1 });
    elements;

    constructor(list, frame) {
        this.#list = list;
        this.#frame = frame;
        this.elements = [frame, this.#aside];
    }

    /** Answers what ends it. */
    begin() {
        const gone = new AbortController();
        const { signal } = gone;
        // Before the page's own listener, which would make the list anew for each run that is opened.
        addEventListener('hashchange', (event) => this.#onAddress(event), { signal, capture: true });
        addEventListener('keydown', ({ key }) => (this.#lastKey = key), { signal, capture: true });
        addEventListener('pointerdown', () => (this.#lastKey = null), { signal, capture: true });
        addEventListener('keydown', (event) => this.#onKey(event), { signal });
        for (const name of ['click', 'auxclick']) this.#frame.addEventListener(name, (event) => this.#onClick(event), { signal });
        this.#frame.addEventListener('focusin', ({ target }) => this.#follow(target), { signal });
        this.#sync();
        return () => {
            gone.abort();
            clearTimeout(this.#timer);
            this.#end();
        };
    }

    #onAddress(event) {
        const [before, after] = [event.oldURL, event.newURL].map((url) => new URL(url).hash);
        if (listOf(before) !== listOf(after)) return;
        event.stopImmediatePropagation();
        if (!parametersOf(after).get('run')) this.#isOwnEntry = false;
        this.#sync();
    }

    /* ---- opening and closing ---- */

    open(id) {
        this.#isOwnEntry ||= !this.#id;
        if (this.#id) history.replaceState(history.state, '', withRun(id));
        else history.pushState(history.state, '', withRun(id));
        this.#sync();
    }

    close() {
        const id = this.#id;
        if (!id) return;
        if (this.#isOwnEntry) history.back();
        else history.replaceState(history.state, '', withRun(null));
        this.#show(null);
        this.#list.linkOf(id)?.focus({ preventScroll: true });
    }

    #sync() {
        const id = parametersOf(location.hash).get('run');
        if (id !== this.#id) this.#show(id);
    }

    async #show(id) {
        this.#mark(this.#id, null);
        this.#id = id;
        this.#end();
        this.#end = () => {};
        this.#aside.hidden = !id;
        if (!id) return;
        this.#mark(id, 'true');
        const module = await import('./run_panel.js').catch(() => null);
        if (id !== this.#id) return;
        if (!module) return announce('hookline does not answer');
        this.#end = module.openRun(this.#aside, id, { onClose: () => this.close() }) ?? (() => {});
    }

    #mark(id, value) {
        const row = id && this.#list.rowOf(id);
        if (row && value) row.setAttribute('aria-current', value);
        else this.#frame.querySelector('tr[aria-current]')?.removeAttribute('aria-current');
    }

    /* ---- rows ---- */

    /** As on a link: with a key or the middle button it is a tab of its own; text that is being selected stays. */
    #onClick(event) {
        const id = this.#list.idOf(event.target);
        if (!id || event.defaultPrevented) return;
        const isLink = event.target.closest('a');
        if (isLink && isLink !== this.#list.linkOf(id)) return;
        const isPlain = event.type === 'click' && event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
        if (isPlain && String(getSelection())) return;
        if (isPlain) {
            event.preventDefault();
            this.#list.linkOf(id).focus({ preventScroll: true });
            this.open(id);
        } else if (!isLink && (event.button === 1 || event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            open(`${location.pathname}${runPath({ run_id: id })}`, '_blank', 'noopener');
        }
    }

    /** Where a run is open, the one to whose row somebody has moved is the next. */
    #follow(target) {
        const id = this.#list.idOf(target);
        if (!this.#id || !id || id === this.#id || !STEPS.has(this.#lastKey)) return;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#id && this.open(id), CALM);
    }

    #move(step) {
        const from = this.#list.idOf(document.activeElement) ?? this.#id;
        const row = this.#list.rowBeside(from, step);
        if (!row) return false;
        this.#list.linkOf(this.#list.idOf(row)).focus({ preventScroll: true });
        row.scrollIntoView({ block: 'nearest' });
        return true;
    }

    #onKey(event) {
        if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
        if (event.target.closest('input, select, textarea, [contenteditable], .popup, svg') || document.querySelector('dialog[open]')) return;
        if (this.#act(event)) event.preventDefault();
    }

    /** Whether the key meant something. */
    #act({ key, target }) {
        const isInPanel = this.#aside.contains(target);
        const step = { ArrowDown: 1, ArrowUp: -1 }[key];
        if (step && !isInPanel) return (this.#list.idOf(target) || this.#id) && this.#move(step);
        if (key === 'Escape' && this.#id) return this.close(), true;
        if (key === 'Tab' && this.#id && this.#list.idOf(target) === this.#id) return this.#aside.focus({ preventScroll: true }), true;
        const id = this.#list.idOf(target) ?? this.#id;
        if (key !== 'o' || !areOn() || !id) return false;
        location.hash = runPath({ run_id: id });
        return true;
    }
}
