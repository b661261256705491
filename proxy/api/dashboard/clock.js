// clock.js - what time it is for hookline: the browser's own clock may be wrong by hours, and what is on the page
// is compared with times that hookline wrote.

const DIFFERENCE = 2000; /* ms: Date has whole seconds, and an answer takes its time */
let ahead = 0;

/** `date` is the Date field of an answer that has just come. */
export function setClock(date) {
    const difference = Date.parse(date) - Date.now();
    ahead = Math.abs(difference) > DIFFERENCE ? difference : 0;
}

/** ms since the epoch. */
export function now() {
    return Date.now() + ahead;
}
