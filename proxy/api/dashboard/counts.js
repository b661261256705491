// counts.js - how many things want a look, on the tabs of the pages that show them.
import * as api from './api.js';
import { now } from './clock.js';
import { h } from './dom.js';
import { plural } from './format.js';

const EVERY = 15_000;
const BRIEF = 60_000; /* ms that are asked for: what is counted here has no span, and points of one are for charts */

/** Of each tab: what an overview says of it, in a number and in words. */
const TABS = {
    'page-deliveries': ({ deliveries }) =>
        deliveries && [deliveries.dead, `${plural(deliveries.dead, 'dead letter')}`, deliveries.is_more_dead],
    'page-destinations': ({ destinations }) =>
        destinations && [destinations.failing, `${destinations.failing} failing`],
};

let known = null;
let of = null; // whose it is
let polling = null;

/** On the tabs that are there now; from the first call on they are kept up to date. */
export function showCounts() {
    if (of !== api.session) {
        of = api.session;
        known = null;
        polling?.stop();
        // What is not known now is not shown; whoever looks for trouble finds it on the pages.
        polling = api.seesAll() ? api.poll(EVERY, ask, () => takeCounts({})) : null;
    }
    draw();
}

/** The overview asks for itself, and tells (takeCounts). */
const isTold = () => /^(#\/?(overview|now)?(\?.*)?)?$/.test(location.hash);

async function ask(signal) {
    const mine = api.session;
    if (!mine) return polling?.stop();
    if (isTold()) return;
    const since = new Date(now() - BRIEF).toISOString();
    const overview = await api.get('/overview', { query: { since }, signal });
    if (mine === api.session) takeCounts(overview);
}

/** An overview that a page has asked for itself. */
export function takeCounts(overview) {
    known = overview;
    draw();
}

function draw() {
    for (const [id, tell] of Object.entries(TABS)) {
        const tab = document.getElementById(id);
        const [n = 0, words, isMore] = (known && tell(known)) || [];
        tab?.querySelector('.tab-count')?.remove();
        if (n > 0)
            tab?.append(
                h(
                    'span.tab-count',
                    {},
                    h('span', { 'aria-hidden': 'true' }, short(n, isMore)),
                    h('span.hidden', {}, `: ${isMore ? 'more than ' : ''}${words}`),
                ),
            );
    }
}

function short(n, isMore) {
    return n < 1000 ? `${n}` : `${Math.floor(n / 1000)}k${isMore ? '+' : ''}`;
}
