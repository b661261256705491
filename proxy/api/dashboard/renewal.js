// renewal.js - the session of a read-only link: another hour, again and again, while the page is open.
// Not here: until when that goes, and who ends it before (the account that the link is of).
import * as api from './api.js';

const EVERY = 20 * 60_000; /* ms */
const AGAIN = 60_000; /* ms: after one that was not answered */

/** For as long as `session` is the one that is signed in. */
export async function keep(session) {
    if (api.session !== session) return;
    let next = EVERY;
    try {
        const { token } = await api.send('POST', '/dashboard-sessions/renew');
        if (api.session === session) api.replaceToken(token);
    } catch (error) {
        if (error.status === 403) return; // no more: its end is told when it comes
        next = AGAIN;
    }
    setTimeout(keep, next, session);
}
