// beside.js - one of a list beside it: by a click on its row or Enter, with its id in the address; arrows move on, Escape
// closes it, `o` opens it as a page. A row (`data-id`) is a link for every other kind of click.
// Not here: what is said of it (run_panel.js, delivery.js).
import { fill, h, load } from './dom.js';
import { parametersOf } from './filter.js';
import { areOn } from './shortcuts.js';

const CALM = 120; /* ms: whoever goes through rows does not want each of them */
const STEPS = new Set(['ArrowDown', 'ArrowUp', 'j', 'k']);

const rowAt = (element) => element?.closest('[data-id]');

/** Of the row that has `element`, whose it is; or undefined. */
export const idAt = (element) => rowAt(element)?.dataset.id;

/** The attributes of a row; `name`: what a panel of the list has in the address. */
export const rowOf = (name, id) => ({ 'data-id': id, 'aria-current': parametersOf().get(name) === id ? 'true' : null });

/** The row's link to its own page: it may have others. */
export const linkOf = (row) => row?.querySelector(`a[href$="/${row.dataset.id}"]`);

export class Beside {
    #frame;
    #page;
    #name;
    #load;
    #id = null; // of what is open
    #isOwnEntry = false; // of the browser's history: Back closes it
    #end = () => {};
    #timer;
    #lastKey = null;
    #aside;
    elements;

    /** `frame` has the rows of `page`; `name`: of the one that is open, in the address; `load()` resolves with `open(place, id, { onClose })`. */
    constructor(frame, { page, name, label, load }) {
        this.#frame = frame;
        this.#page = page;
        this.#name = name;
        this.#load = load;
        this.#aside = h('aside.beside', { hidden: true, 'aria-label': label, tabindex: -1 });
        this.elements = [frame, this.#aside];
    }

    /** Answers what ends it. */
    begin() {
        const gone = new AbortController();
        const { signal } = gone;
        // Before the page's own listener, which would make the list anew for each that is opened.
        addEventListener('hashchange', (event) => this.#onAddress(event), { signal, capture: true });
        addEventListener('keydown', ({ key }) => (this.#lastKey = key), { signal, capture: true });
        addEventListener('pointerdown', () => (this.#lastKey = null), { signal, capture: true });
        addEventListener('keydown', (event) => this.#onKey(event), { signal });
        for (const name of ['click', 'auxclick']) this.#frame.addEventListener(name, (event) => this.#onClick(event), { signal });
        this.#frame.addEventListener('pointerdown', (event) => this.#raise(event), { signal });
        this.#frame.addEventListener('contextmenu', () => setTimeout(() => this.#lower()), { signal });
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
        if (this.#addressOf(null, before) !== this.#addressOf(null, after)) return;
        event.stopImmediatePropagation();
        if (!parametersOf(after).get(this.#name)) this.#isOwnEntry = false;
        this.#sync();
    }

    /** The same address with another that is open, or none. */
    #addressOf(id, hash = location.hash) {
        const parameters = parametersOf(hash);
        if (id) parameters.set(this.#name, id);
        else parameters.delete(this.#name);
        return `${hash.split('?')[0]}${parameters.size ? `?${parameters}` : ''}`;
    }

    #ownPage(id) {
        return `#/${this.#page}/${encodeURIComponent(id)}`;
    }

    #row(id) {
        return this.#frame.querySelector(`[data-id="${CSS.escape(id)}"]`);
    }

    /* ---- opening and closing ---- */

    open(id) {
        this.#isOwnEntry ||= !this.#id;
        if (this.#id) history.replaceState(history.state, '', this.#addressOf(id));
        else history.pushState(history.state, '', this.#addressOf(id));
        this.#sync();
    }

    #close() {
        const id = this.#id;
        if (this.#isOwnEntry) history.back();
        else history.replaceState(history.state, '', this.#addressOf(null));
        this.#show(null);
        linkOf(this.#row(id))?.focus({ preventScroll: true });
    }

    #sync() {
        const id = parametersOf().get(this.#name);
        if (id !== this.#id) this.#show(id);
    }

    async #show(id) {
        this.#frame.querySelector('[aria-current]')?.removeAttribute('aria-current');
        this.#id = id;
        this.#end();
        this.#end = () => {};
        fill(this.#aside);
        this.#aside.hidden = !id;
        if (!id) return;
        this.#row(id)?.setAttribute('aria-current', 'true');
        const open = await load(this.#load);
        if (!open || id !== this.#id) return;
        this.#end = open(this.#aside, id, { onClose: () => this.#id && this.#close() });
    }

    /* ---- rows ---- */

    /** As on a link: with a key or the middle button it is a tab of its own; text that is being selected stays. */
    #onClick(event) {
        const row = rowAt(event.target);
        if (!row || event.defaultPrevented || event.target.closest('button, input')) return;
        const link = linkOf(row);
        const isLink = event.target.closest('a');
        if (isLink && isLink !== link) return;
        const isPlain = event.type === 'click' && event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
        if (isPlain && String(getSelection())) return;
        if (isPlain) {
            event.preventDefault();
            link.focus({ preventScroll: true });
            this.open(row.dataset.id);
        } else if (!isLink && (event.button === 1 || event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            open(`${location.pathname}${this.#ownPage(row.dataset.id)}`, '_blank', 'noopener');
        } else if (!isLink && event.type === 'click') {
            getSelection().empty(); // up to here, as the browser takes it
            link.dispatchEvent(new MouseEvent('click', event));
        }
    }

    /** While a menu is asked for the link lies above all of its row that is none, so that the menu is a link's; not above what is selected. */
    #raise({ target, button }) {
        this.#lower();
        const isForMenu = button === 2 && !String(getSelection());
        if (isForMenu && !target.closest('a, button, input')) rowAt(target)?.classList.add('is-link');
    }

    #lower() {
        this.#frame.querySelector('.is-link')?.classList.remove('is-link');
    }

    /** Where one is open, the one to whose row somebody has moved is the next. */
    #follow(target) {
        const id = idAt(target);
        if (!this.#id || !id || id === this.#id || !STEPS.has(this.#lastKey)) return;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#id && this.open(id), CALM);
    }

    #move(step) {
        const from = rowAt(document.activeElement) ?? this.#row(this.#id);
        const way = step > 0 ? 'nextElementSibling' : 'previousElementSibling';
        const row = from ? from[way] : this.#frame.querySelector('[data-id]');
        if (!row) return false;
        linkOf(row).focus({ preventScroll: true });
        row.scrollIntoView({ block: 'nearest' });
        return true;
    }

    #onKey(event) {
        if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
        const isTyped = event.target.closest('select, textarea, input:not([type=checkbox]), [contenteditable], .popup, .histogram');
        if (isTyped || document.querySelector('dialog[open]')) return;
        if (this.#act(event)) event.preventDefault();
    }

    /** Whether the key meant something. */
    #act({ key, target }) {
        const isInPanel = this.#aside.contains(target);
        const step = { ArrowDown: 1, ArrowUp: -1 }[key];
        if (step && !isInPanel) return (idAt(target) || this.#id) && this.#move(step);
        if (key === 'Escape' && this.#id) return this.#close(), true;
        if (key === 'Tab' && this.#id && idAt(target) === this.#id && target === linkOf(rowAt(target))) return this.#aside.focus({ preventScroll: true }), true;
        const id = idAt(target) ?? this.#id;
        if (key !== 'o' || !areOn() || !id) return false;
        location.hash = this.#ownPage(id);
        return true;
    }
}
