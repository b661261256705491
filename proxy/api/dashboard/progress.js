// progress.js - how far a run is, as it says itself: a bar where that can be drawn, else what it said.
import { h } from './dom.js';
import { visible } from './format.js';

const SCROLLS = 160; /* characters: more may need more lines than there are */

/**
 * A row for it, and `show(value)`: any JSON, null: nothing was said. `reserve()` keeps its place free, so that nothing moves
 * when the first one comes. Its parts stay, and with them the focus.
 */
export function progressRow() {
    const label = h('span.soft', {}, 'Progress');
    const bar = h('progress', { max: 1, 'aria-label': 'Progress' });
    const words = h('span.words');
    const rest = h('code', { role: 'group', 'aria-label': 'What the run said' });
    const parts = [label, bar, words, rest];
    const row = h('div.progress', { hidden: true, role: 'group', 'aria-label': 'Progress' }, parts);
    for (const part of parts) part.hidden = true;
    let last = 'null';

    function show(value) {
        const text = JSON.stringify(value ?? null);
        if (text === last) return;
        last = text;
        const said = read(value);
        row.hidden = label.hidden = false;
        bar.hidden = said.part === null;
        if (!bar.hidden) bar.value = said.part;
        put(words, said.words);
        put(rest, said.rest);
        if (said.rest.length > SCROLLS) rest.tabIndex = 0;
        else rest.removeAttribute('tabindex');
    }

    return { row, show, reserve: () => (row.hidden = false) };
}

function put(element, text) {
    element.hidden = !text;
    element.textContent = visible(text);
}

/** What of it can be drawn (0.4, `{ percent: 40 }`, `{ step: 2, of: 5 }`, `{ page: 2, of: 5 }`), and the rest. */
function read(value) {
    if (isWithin(value, 1)) return { part: value, words: percent(value), rest: '' };
    const whole = { part: null, words: '', rest: JSON.stringify(value) };
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return whole;
    const without = (...names) => {
        const others = Object.entries(value).filter(([name]) => !names.includes(name));
        return others.length ? JSON.stringify(Object.fromEntries(others)) : '';
    };
    if (isWithin(value.percent, 100)) {
        const part = value.percent / 100;
        return { part, words: percent(part), rest: without('percent') };
    }
    const counts = Object.keys(value).filter((name) => name !== 'of' && typeof value[name] === 'number');
    const name = Object.hasOwn(value, 'step') || counts.length > 1 ? 'step' : counts[0];
    if (!(value.of > 0) || !isWithin(value[name], value.of)) return whole;
    const words = visible(`${name} ${value[name]} of ${value.of}`);
    return { part: value[name] / value.of, words, rest: without(name, 'of') };
}

function isWithin(n, most) {
    return typeof n === 'number' && typeof most === 'number' && n >= 0 && n <= most;
}

/** Never rounded up: 100 % is all of it. */
function percent(part) {
    return `${Math.floor(part * 100 + 1e-6)} %`;
}
