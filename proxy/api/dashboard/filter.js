// filter.js - what a list is narrowed down to. It stands in the address, so that Back and bookmarks know it.
import { now } from './clock.js';

const HOUR = 3600;
export const TIMES = [
    ['', 'Any time'],
    [`${HOUR}`, 'Last hour'],
    [`${24 * HOUR}`, 'Last 24 hours'],
    [`${7 * 24 * HOUR}`, 'Last 7 days'],
];

/** Of what the address says, what a page knows: `options` has a filter's options by its name, or null for any text. */
export function readFilter(query, options) {
    const known = Object.entries(options).map(([name, values]) => {
        const value = query[name] ?? '';
        return [name, !values || values.some(([other]) => other === value) ? value : ''];
    });
    return Object.fromEntries(known);
}

/** Goes to the same page with another filter. */
export function changeFilter(page, filter, change) {
    const set = Object.entries({ ...filter, ...change }).filter(([, value]) => value);
    location.hash = `#/${page}?${new URLSearchParams(set)}`;
}

/** When one of TIMES began; nothing for any time. */
export function since(time) {
    return time && new Date(now() - time * 1000).toISOString();
}
