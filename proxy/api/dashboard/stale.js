// stale.js - what a page says while it shows what was so some time ago.
import { fill, h, note } from './dom.js';
import { time } from './format.js';

/**
 * Shows in `place` that `what` is not up to date, why, and as of when it is (`at`: ms since the epoch, or null); with no error,
 * that it is. What was asked wrongly is not late.
 */
export function showStale(place, what, error, at) {
    const asOf = at && h('p', {}, 'As of ', time(new Date(at).toISOString()), '.');
    const title = error?.status === 400 ? 'The request was refused' : `${what} not up to date`;
    fill(place, error && note('error', title, h('p', {}, error.message), asOf));
}
