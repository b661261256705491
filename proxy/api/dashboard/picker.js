// picker.js - what a list is to be narrowed down by: a field, then its value, typed or taken from a list of suggestions.
// Not here: the line of chips (chips.js), the fields of a page.
import { h } from './dom.js';
import { cutName, visible } from './format.js';
import { openPopup } from './popup.js';

const MOST = 60; /* suggestions that are shown at a time */

/**
 * `fields`: `{ name, label, suggest(), lacks(), load(), read(text), hint, inputs() }`: pairs of value and text, of which one may be typed;
 * what is said of them where they are not all; resolves when there are more of them; the value of what was typed, or ''; what may be typed, in words; fields of its own below the list. `field`: the one that is
 * asked for, or null: any. `pick(field, value)` takes the choice.
 */
export function openPicker(anchor, fields, field, pick) {
    return openPopup(anchor, field ? field.label : 'Add filter', (close) => new Picker(fields, field, pick, close).elements);
}

/** What was typed whole comes first, then what begins so. */
function rank([value, words], text) {
    const typed = text.toLowerCase();
    if (value.toLowerCase() === typed || words.toLowerCase() === typed) return 0;
    return words.toLowerCase().startsWith(typed) ? 1 : 2;
}

class Picker {
    #fields;
    #field;
    #mayGoBack;
    #pick;
    #close;
    #items = []; // `{ label, text, run }`, as they are shown
    #active = 0;
    #input;
    #list = h('ul', { role: 'listbox', id: 'picker-list' });
    #hint = h('p.hint', { 'aria-live': 'polite' });
    #extra = h('div.extra');
    elements;

    constructor(fields, field, pick, close) {
        this.#fields = fields;
        this.#field = field;
        this.#mayGoBack = !field;
        this.#pick = pick;
        this.#close = close;
        this.#input = h('input', {
            role: 'combobox',
            'aria-expanded': 'true',
            'aria-controls': 'picker-list',
            'aria-autocomplete': 'list',
            autocomplete: 'off',
            spellcheck: 'false',
            oninput: () => this.#show(),
            onkeydown: (event) => this.#onKey(event),
        });
        this.elements = [this.#input, this.#list, this.#hint, this.#extra];
        this.#enter(field);
        for (const { load } of field ? [field] : fields) load?.().then(() => this.#show());
    }

    #enter(field) {
        this.#field = field;
        this.#input.value = '';
        const label = field ? field.label : 'Filter by';
        this.#input.setAttribute('aria-label', label);
        this.#input.placeholder = field ? `${label}: ${field.hint ?? 'type or choose'}` : 'Filter by …';
        this.#list.setAttribute('aria-label', label);
        this.#extra.replaceChildren(...(field?.inputs?.() ?? []));
        this.#show();
    }

    #show() {
        const text = this.#input.value.trim();
        const all = this.#field ? this.#values(this.#field, text) : this.#choices(text);
        this.#items = all.slice(0, MOST);
        this.#active = 0;
        this.#list.replaceChildren(...this.#items.map((item, i) => this.#option(item, i)));
        this.#list.hidden = !this.#items.length;
        const more = all.length - this.#items.length;
        const hints = [more > 0 ? `${more.toLocaleString()} more: type a part of the name.` : this.#problem(text), this.#field?.lacks?.()];
        this.#hint.textContent = hints.filter(Boolean).join(' ');
        this.#mark();
    }

    #problem(text) {
        if (this.#items.length || !text) return '';
        return this.#field ? `None of that name. ${this.#field.hint ?? ''}` : 'No such filter or value';
    }

    /** Fields, and values of theirs that have what was typed. */
    #choices(text) {
        const has = (words) => words.toLowerCase().includes(text.toLowerCase());
        const fields = this.#fields.filter(({ label }) => has(label));
        const values = text.length < 2 ? [] : this.#fields.flatMap((field) => this.#values(field, text, has));
        return [...fields.map((field) => ({ label: field.label, run: () => this.#enter(field) })), ...values];
    }

    #values(field, text, isWanted = null) {
        const has = (words) => words.toLowerCase().includes(text.toLowerCase());
        const label = isWanted ? `${field.label}: ` : '';
        const listed = (field.suggest?.() ?? []).filter(([value, words]) => value && (has(words) || has(value)));
        listed.sort((a, b) => rank(a, text) - rank(b, text));
        const typed = text && field.read ? field.read(text) : '';
        const isNew = typed && !isWanted && !listed.some(([value]) => value === typed);
        const items = listed.map(([value, words]) => ({ label: label + words, run: () => this.#take(field, value) }));
        return isNew ? [{ label: `“${typed}”`, run: () => this.#take(field, typed) }, ...items] : items;
    }

    #take(field, value) {
        if (field.keepsOpen?.(value)) {
            this.#pick(field, value);
            return this.#enter(field);
        }
        this.#close();
        this.#pick(field, value);
    }

    #option({ label, run }, i) {
        return h('li', { role: 'option', id: `picker-${i}`, onpointerdown: (event) => event.preventDefault(), onclick: run, title: visible(label), 'aria-label': visible(label) }, cutName(label));
    }

    #mark() {
        [...this.#list.children].forEach((item, i) => item.setAttribute('aria-selected', String(i === this.#active)));
        const active = this.#list.children[this.#active];
        if (active) this.#input.setAttribute('aria-activedescendant', active.id);
        else this.#input.removeAttribute('aria-activedescendant');
        active?.scrollIntoView?.({ block: 'nearest' });
    }

    #onKey(event) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && this.#items.length) {
            this.#active = (this.#active + step + this.#items.length) % this.#items.length;
            this.#mark();
        } else if (event.key === 'Enter') {
            this.#items[this.#active]?.run();
        } else if (event.key === 'Backspace' && !this.#input.value && this.#field && this.#mayGoBack) {
            this.#enter(null);
        } else return;
        event.preventDefault();
    }
}
