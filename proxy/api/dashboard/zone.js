// zone.js - in which zone times are told: that of the browser, or UTC, as logs have them. It is remembered.
// Not here: what a time looks like (format.js).

const KEY = 'hookline-zone';
let isUtcNow = read() === 'UTC';

/** Storage that is full or not allowed costs the memory, not the page. */
function read() {
    try {
        return localStorage.getItem(KEY);
    } catch {
        return null;
    }
}

export const isUtc = () => isUtcNow;

/** Calls `renew` when the zone is another, for as long as `element` is on the page. */
export function onZone(element, renew) {
    element.classList.add('zoned');
    element.addEventListener('zone', renew);
}

export function setUtc(isWanted) {
    isUtcNow = isWanted;
    for (const element of document.querySelectorAll('.zoned')) element.dispatchEvent(new Event('zone'));
    try {
        if (isWanted) localStorage.setItem(KEY, 'UTC');
        else localStorage.removeItem(KEY);
    } catch {
        return;
    }
}

/** Formats a time by `options` of Intl.DateTimeFormat, in the zone of the moment. */
export function formatter(options) {
    const local = new Intl.DateTimeFormat(undefined, options);
    const utc = new Intl.DateTimeFormat(undefined, { ...options, timeZone: 'UTC' });
    return (at) => (isUtcNow ? utc : local).format(at);
}
