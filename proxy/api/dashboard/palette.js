// palette.js - Ctrl-K: pages, runs by id, apps, filters, settings and actions by what is typed. It is loaded when it is wanted.
// A combobox with a list (WAI-ARIA 1.2): the focus stays in the field, arrows choose.
// Not here: what the settings do (look.js, zone.js), what pages there are (main.js).
import * as api from './api.js';
import { addStyle, announce, badge, fill, h, icon } from './dom.js';
import { renewTimes, tail, visible } from './format.js';
import { THEMES, isComfortable, setComfortable, setTheme, theme } from './look.js';
import { isExact, isUtc, setTimes } from './zone.js';

const MOST = 50; // of entries that are shown
const SOON = 150; /* ms after the last key, until runs are asked for */
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const END_OF_ID = /^[0-9a-f]{8}$/;
const FILTERS = {
    state: ['queued', 'running', 'success', 'failure', 'cancelled'],
    webhook: ['none', 'pending', 'delivered', 'dead'],
    mode: ['async', 'sync'],
    status: ['2xx', '4xx', '5xx', 'none'],
    reason: null,
    app: null,
    tag: null,
};
const PAIR = /(?:^|\s)([a-z]+):(\S*)/g;
const LINE = /(?:^|\s)error:\s*(.+)$/; // of what went wrong, which has spaces: the last of the filters

const go = (hash) => () => (location.hash = hash);

/**
 * `pages`: pairs of title and address; `actions`: pairs of words and what they do; `take()` gives what was typed until there
 * was a field: `{ text, isEntered }`.
 */
export async function open(pages, actions, take) {
    await addStyle('palette.css').catch(() => {});
    const early = take();
    const there = document.querySelector('dialog.palette');
    if (there) return there.close();
    if (!document.querySelector('dialog[open]')) new Palette(pages, actions, early);
}

class Palette {
    #entries;
    #shown = [];
    #at = 0;
    #runs = [];
    #timer = null;
    #gone = new AbortController();
    #list = h('div.palette-list', { id: 'palette-list', role: 'listbox', 'aria-label': 'Found' });
    #field = h('input', {
        type: 'text',
        role: 'combobox',
        'aria-label': 'Go to, find or change',
        'aria-expanded': 'true',
        'aria-controls': 'palette-list',
        'aria-autocomplete': 'list',
        autocomplete: 'off',
        spellcheck: 'false',
        placeholder: 'Page, run id, app, state:failure, setting …',
        oninput: () => this.#onInput(),
        onkeydown: (event) => this.#onKey(event),
    });
    #dialog = h(
        'dialog.palette',
        { 'aria-label': 'Go to, find or change', onclose: () => this.#end(), onclick: (event) => this.#onClick(event) },
        h('div.palette-field', {}, icon('search'), this.#field, h('kbd', { 'aria-hidden': 'true' }, 'Esc')),
        this.#list,
    );

    constructor(pages, actions, { text, isEntered }) {
        this.#entries = listEntries(pages, actions);
        document.body.append(this.#dialog);
        this.#dialog.showModal();
        this.#field.focus();
        this.#field.value = text;
        this.#onInput();
        if (isEntered) this.#act(0);
    }

    #onInput() {
        this.#at = 0;
        this.#runs = [];
        clearTimeout(this.#timer);
        const text = this.#text();
        if (END_OF_ID.test(text)) this.#timer = setTimeout(() => this.#askRuns(text), SOON);
        this.#draw();
    }

    #text() {
        return this.#field.value.trim().replace(/^…/, '').toLowerCase();
    }

    /** By their last eight, as lists show them. */
    async #askRuns(end) {
        const query = { id_suffix: end, limit: 5 };
        const answer = await api.get('/runs', { query, signal: this.#gone.signal }).catch(() => null);
        if (this.#text() !== end || this.#gone.signal.aborted) return;
        const runs = answer?.runs ?? [];
        this.#runs = runs.map((run) => ({
            group: 'Runs',
            what: [badge(run.state, run.state), ` ${visible(run.app_name)} · ${visible(run.path)} · …${tail(run.run_id)}`],
            act: go(`#/runs/${run.run_id}`),
        }));
        this.#draw();
    }

    #draw() {
        this.#shown = this.#find().slice(0, MOST);
        const groups = Map.groupBy(this.#shown, ({ group }) => group);
        let n = 0;
        const parts = [...groups].map(([name, entries], i) =>
            h(
                'div',
                { role: 'group', 'aria-labelledby': `palette-group-${i}` },
                h('div.palette-group', { id: `palette-group-${i}` }, name),
                entries.map((entry) => showEntry(entry, n++)),
            ),
        );
        this.#shown = [...groups.values()].flat();
        fill(this.#list, parts);
        this.#choose(Math.min(this.#at, this.#shown.length - 1));
        announce(`${this.#shown.length} found`);
    }

    #choose(at) {
        this.#at = at;
        this.#list.querySelector('[aria-selected=true]')?.setAttribute('aria-selected', 'false');
        const option = document.getElementById(`palette-${at}`);
        option.setAttribute('aria-selected', 'true');
        option.scrollIntoView({ block: 'nearest' });
        this.#field.setAttribute('aria-activedescendant', `palette-${at}`);
    }

    /** What is called so, and the search for it among the runs; with nothing typed, all that is always there. */
    #find() {
        const text = this.#text();
        const words = text.split(/\s+/).filter(Boolean);
        if (!words.length) return this.#entries.filter((entry) => !entry.isHidden);
        const found = this.#entries.filter(({ name }) => words.every((word) => name.includes(word)));
        found.sort((a, b) => b.name.startsWith(words[0]) - a.name.startsWith(words[0]));
        return [...asRun(text), ...this.#runs, ...asFilter(this.#field.value), ...found, ...asApp(this.#field.value.trim()), ...asSearch(text)];
    }

    #onKey(event) {
        const n = this.#shown.length;
        const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
        if (event.key === 'Enter') this.#act(this.#at);
        else if (!steps[event.key]) return;
        else if (Math.abs(steps[event.key]) === 1) this.#choose((this.#at + steps[event.key] + n) % n);
        else this.#choose(Math.max(0, Math.min(n - 1, this.#at + steps[event.key])));
        event.preventDefault();
    }

    #onClick(event) {
        if (event.target === this.#dialog) return this.#dialog.close();
        const option = event.target.closest('[role=option]');
        if (option) this.#act(Number(option.id.split('-').at(-1)));
    }

    #act(at) {
        this.#dialog.close();
        this.#shown[at].act();
    }

    #end() {
        clearTimeout(this.#timer);
        this.#gone.abort();
        this.#dialog.remove();
    }
}

function showEntry({ what, hint }, n) {
    return h(
        'div.palette-entry',
        { id: `palette-${n}`, role: 'option', 'aria-selected': 'false' },
        h('span', {}, what),
        hint ? h('span.sub', {}, hint) : null,
    );
}

/** All that can be found by its name, which is in small letters. `isHidden`: not before something is typed. */
function listEntries(pages, actions) {
    const entry = (group, what, act, more = {}) => ({ group, what, act, name: `${what} ${group}`.toLowerCase(), ...more });
    const filters = FILTERS.state.map((state) => [`state:${state}`, 'Runs']);
    return [
        ...pages.map(([title, address]) => entry('Pages', title, go(address))),
        ...actions.map(([what, act]) => entry('Actions', what, act)),
        ...filters.map(([text, hint]) => entry('Filters', text, asFilter(text)[0].act, { hint })),
        entry('Filters', 'webhook:dead', go('#/runs?webhook=dead'), { hint: 'Runs' }),
        ...api.sortedApps().map((app) =>
            entry('Apps', visible(app), go(`#/runs?${new URLSearchParams({ app })}`), { hint: 'its runs', isHidden: true }),
        ),
        ...THEMES.filter((name) => name !== theme()).map((name) => entry('Settings', `Theme: ${name}`, () => setTheme(name))),
        ...listTimes().map(([what, kind]) => entry('Settings', `Times: ${what}`, () => tellTimes(kind))),
        entry('Settings', isComfortable() ? 'Rows: dense' : 'Rows: comfortable', () => setComfortable(!isComfortable())),
    ];
}

/** In which other ways times can be told. */
function listTimes() {
    const kinds = [
        ['how long ago', null, isExact()],
        ['exact', 'exact', !isExact() || isUtc()],
        ['exact, in UTC', 'UTC', !isUtc()],
    ];
    return kinds.filter(([, , isOther]) => isOther);
}

function tellTimes(kind) {
    setTimes(kind);
    renewTimes();
    dispatchEvent(new Event('look'));
}

function asRun(text) {
    return ID.test(text) ? [{ group: 'Runs', what: `Open run ${text}`, act: go(`#/runs/${text}`) }] : [];
}

/** `state:failure app:billing`: the runs of which all of it holds. What is no filter makes none. */
function asFilter(text) {
    const [, line] = text.trim().match(LINE) ?? [];
    const others = text.trim().replace(LINE, '');
    const pairs = [...others.matchAll(PAIR)].map(([, name, value]) => [name, value]);
    const rest = others.replace(PAIR, '').trim();
    const isFilter = (line || pairs.length > 0) && pairs.every(([name, value]) => value && Object.hasOwn(FILTERS, name));
    if (!isFilter || pairs.some(([name, value]) => name !== 'status' && FILTERS[name] && !FILTERS[name].includes(value))) return [];
    if (line) pairs.push(['error', line]);
    const query = new URLSearchParams(rest ? [...pairs, ['q', rest]] : pairs);
    const what = `Runs: ${pairs.map(([name, value]) => `${name} ${visible(value)}`).join(', ')}${rest ? `, with “${visible(rest)}”` : ''}`;
    return [{ group: 'Filters', what, act: go(`#/runs?${query}`) }];
}

/** One that is not listed, where not all are. */
function asApp(text) {
    if (!api.moreApps() || !api.isAppName(text) || api.session.apps.includes(text)) return [];
    return [{ group: 'Apps', what: `App “${text}”`, hint: 'not all are listed', act: go(`#/runs?${new URLSearchParams({ app: text })}`) }];
}

function asSearch(text) {
    if (ID.test(text) || asFilter(text).length) return [];
    const query = new URLSearchParams({ q: text });
    return [{ group: 'Runs', what: `Find “${visible(text)}” among the runs`, act: go(`#/runs?${query}`) }];
}
