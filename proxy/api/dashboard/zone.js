// zone.js - how times are told: how long ago; exactly, as this browser tells them; or exactly and in UTC, as logs have
// them. It is remembered.
// Not here: what a time looks like (format.js).

const KEY = 'hookline-zone';
const KINDS = ['UTC', 'exact'];
let kind = read(); // one of them, or else how long ago

/** Storage that is full or not allowed costs the memory, not the page. */
function read() {
    try {
        return localStorage.getItem(KEY);
    } catch {
        return null;
    }
}

export const isUtc = () => kind === 'UTC';
export const isExact = () => KINDS.includes(kind);

/** Calls `renew` when the zone is another, for as long as `element` is on the page. */
export function onZone(element, renew) {
    element.classList.add('zoned');
    element.addEventListener('zone', renew);
}

/** `wanted`: 'UTC', 'exact', or null. */
export function setTimes(wanted) {
    kind = wanted;
    for (const element of document.querySelectorAll('.zoned')) element.dispatchEvent(new Event('zone'));
    try {
        if (wanted) localStorage.setItem(KEY, wanted);
        else localStorage.removeItem(KEY);
    } catch {
        return;
    }
}

/** Formats a time by `options` of Intl.DateTimeFormat, in the zone of the moment. */
export function formatter(options) {
    const local = new Intl.DateTimeFormat(undefined, options);
    const utc = new Intl.DateTimeFormat(undefined, { ...options, timeZone: 'UTC' });
    return (at) => (isUtc() ? utc : local).format(at);
}
