// shortcuts.js - single keys: rows, the search, pages. They do nothing while something is typed or a dialog is open,
// and can be turned off (WCAG 2.1.4).
// Not here: what they are called (help.js).
import { load } from './dom.js';

const OFF = 'hookline-no-keys';
const SEQUENCE = 1500; /* ms from g to the next */
const ROWS = 'main tbody > tr, main ul.deliveries > li, main [data-row]';

export const PLACES = {
    n: ['#/', 'Overview'],
    r: ['#/runs', 'Runs'],
    d: ['#/deliveries', 'Deliveries'],
    t: ['#/destinations', 'Destinations'],
    j: ['#/jobs', 'Jobs'],
    l: ['#/logs', 'Logs'],
    a: ['#/audit', 'Audit'],
    k: ['#/keys', 'API Keys'],
    c: ['#/new', 'New run'],
};

let isOff = read();
let goneAt = -SEQUENCE;

function read() {
    try {
        return localStorage.getItem(OFF) !== null;
    } catch {
        return false;
    }
}

export const areOn = () => !isOff;

export function setOn(isOn) {
    isOff = !isOn;
    try {
        if (isOn) localStorage.removeItem(OFF);
        else localStorage.setItem(OFF, '1');
    } catch {
        return;
    }
}

/** Opens the list of keys; whoever cannot press `?` has a button. */
export async function openHelp() {
    (await load(() => import('./help.js')))?.open();
}

function isTyping(element) {
    return element.closest('input, select, textarea, [contenteditable]') !== null;
}

function isSeen(element) {
    return element.getClientRects().length > 0;
}

/** The row after the one that has the focus, or before it; without any, the first one or the last one in sight. */
function moveRow(step) {
    const rows = [...document.querySelectorAll(ROWS)].filter(isSeen);
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const seen = rows.findIndex((row) => row.getBoundingClientRect().top >= 0);
    const next = at < 0 ? rows[Math.max(seen, 0)] : rows[at + step];
    if (!next) return;
    const target = next.querySelector('.c-id a') ?? next.querySelector('a[href]') ?? next.querySelector('button, summary') ?? next;
    if (target === next) next.tabIndex = -1;
    target.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
}

function search() {
    const fields = document.querySelectorAll('main input[type=search], main .filters :is(input, select)');
    const field = [...fields].sort((a, b) => (b.type === 'search') - (a.type === 'search')).find(isSeen);
    field?.focus();
    field?.select?.();
    return Boolean(field);
}

/** Whether the key meant something. */
function press(key) {
    const place = performance.now() - goneAt < SEQUENCE && PLACES[key];
    goneAt = key === 'g' ? performance.now() : -SEQUENCE;
    if (place) location.hash = place[0];
    else if (key === 'j') moveRow(1);
    else if (key === 'k') moveRow(-1);
    else if (key === '/') return search();
    else if (key === '?') openHelp();
    else return false;
    return true;
}

addEventListener('keydown', (event) => {
    if (isOff || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
    if (press(event.key)) event.preventDefault();
});
