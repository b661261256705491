// views.js - which columns the list of runs has and how close its rows stand, and views: filters and columns under a name.
// They are kept in this browser; what they are stands in the address, which can be sent to others.
import { announce, button, fill, h } from './dom.js';
import { visible } from './format.js';
import { isComfortable, setComfortable } from './look.js';
import { openPopup } from './popup.js';
import { COLUMNS, chosenColumns, rememberColumns } from './run_columns.js';
import { FILTER } from './run_filter.js';

const KEY = 'hookline-views';
const MOST = 50;
const GIVEN = [
    ['All runs', '#/runs'],
    ['Failed, last 24 hours', '#/runs?state=failure&time=86400'],
    ['Running now', '#/runs?state=running'],
    ['Waiting', '#/runs?state=queued'],
    ['Dead letters', '#/runs?webhook=dead'],
];

/** Pairs of name and address. What somebody else put there is no view. */
function kept() {
    try {
        const views = JSON.parse(localStorage.getItem(KEY) ?? '[]');
        return views.filter(([name, address]) => typeof name === 'string' && /^#\/runs(\?|$)/.test(address)).slice(0, MOST);
    } catch {
        return [];
    }
}

/** Whether it is kept: storage may be full, or not allowed. */
function keep(views) {
    try {
        localStorage.setItem(KEY, JSON.stringify(views));
        return true;
    } catch {
        return false;
    }
}

/* ---- views ---- */

export function openViews(anchor) {
    openPopup(anchor, 'Views', (close) => {
        const place = h('div.views');
        showViews(place, close);
        return place;
    });
}

function showViews(place, close) {
    const link = ([name, address]) => h('a', { href: address, onclick: close }, visible(name));
    const own = kept();
    const forget = (name) => {
        keep(own.filter(([other]) => other !== name));
        showViews(place, close);
        place.querySelector('input').focus();
    };
    const rows = own.map((view) =>
        h('li', {}, link(view), button('×', () => forget(view[0]), 'quiet.small', { 'aria-label': `Forget ${visible(view[0])}` })),
    );
    fill(place, h('ul', {}, GIVEN.map((view) => h('li', {}, link(view))), rows), saveForm(place, close, own));
}

function saveForm(place, close, own) {
    const problem = h('p.hint', { role: 'status' });
    const name = h('input', { placeholder: 'name of this view', 'aria-label': 'Name of this view', maxlength: 60, autocomplete: 'off' });
    const onsubmit = (event) => {
        event.preventDefault();
        const text = name.value.trim();
        if (!text) return name.focus();
        const address = FILTER.addressOf(FILTER.read(), { cols: `${chosenColumns()}` });
        const others = own.filter(([other]) => other !== text);
        if (others.length >= MOST) return (problem.textContent = `There are ${MOST} already: forget one first.`);
        if (!keep([...others, [text, address]])) return (problem.textContent = 'This browser keeps nothing for this page.');
        announce(`View ${text} is kept`);
        showViews(place, close);
        place.querySelector('input').focus();
    };
    return h('form', { onsubmit }, h('p.hint', {}, FILTER.inWords(FILTER.read())), h('div.line', {}, name, h('button.button.small', { type: 'submit' }, 'Save view')), problem);
}

/* ---- columns ---- */

/** `onchange(names)` when others are chosen. */
export function openColumns(anchor, onchange) {
    const chosen = new Set(chosenColumns());
    const box = ({ name, label, isFixed }) => {
        const change = ({ target }) => {
            if (target.checked) chosen.add(name);
            else chosen.delete(name);
            const names = COLUMNS.map((column) => column.name).filter((one) => chosen.has(one));
            rememberColumns(names);
            onchange(names);
        };
        const input = h('input', { type: 'checkbox', checked: isFixed || chosen.has(name), disabled: isFixed, onchange: change });
        return h('label.choice', {}, input, label);
    };
    const room = h('input', { type: 'checkbox', checked: isComfortable(), onchange: ({ target }) => setComfortable(target.checked) });
    openPopup(anchor, 'Columns', () => [
        h('fieldset.columns', {}, h('legend', {}, 'Columns'), COLUMNS.map(box)),
        h('label.choice', {}, room, 'More room between rows'),
    ]);
}
