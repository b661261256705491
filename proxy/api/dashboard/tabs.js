// tabs.js - one sign-in for the tabs of a browser: a new one asks the others, who is signed in, and a sign-out is told.
// What is told goes from page to page of this origin, is kept nowhere, and is gone with the last tab.
// Not here: what a session is (api.js).

const FLAG = 'hookline-tabs'; // somebody was signed in: only then is there anybody to wait for
const PATIENCE = 600; /* ms */

const channel = globalThis.BroadcastChannel ? new BroadcastChannel('hookline') : null;

/** Storage that is not allowed costs the hand-over, not the page. */
function flag(isSet) {
    try {
        if (isSet) localStorage.setItem(FLAG, '1');
        else if (isSet === false) localStorage.removeItem(FLAG);
        return localStorage.getItem(FLAG) !== null;
    } catch {
        return false;
    }
}

/** Resolves with `{ token, project }` of another tab, or null. */
export function askOthers() {
    if (!channel || !flag()) return Promise.resolve(null);
    return new Promise((resolve) => {
        const gone = new AbortController();
        const end = (session) => {
            clearTimeout(timer);
            gone.abort();
            if (!session) flag(false);
            resolve(session);
        };
        const timer = setTimeout(() => end(null), PATIENCE);
        const onmessage = ({ data }) => data.kind === 'session' && end(data.session);
        channel.addEventListener('message', onmessage, { signal: gone.signal });
        channel.postMessage({ kind: 'who' });
    });
}

/** Answers the others with what `session()` says, if it is not null; `onSignOut(token)`: that one was signed out. */
export function answerOthers(session, onSignOut) {
    channel?.addEventListener('message', ({ data }) => {
        const mine = session();
        if (data.kind === 'who' && mine)
            channel.postMessage({ kind: 'session', session: { token: mine.token, project: mine.project } });
        else if (data.kind === 'signed out') onSignOut(data.token);
    });
}

/** There is somebody to ask now. */
export function tellSignedIn() {
    flag(true);
}

/** All tabs with this token are to forget it. */
export function tellSignedOut(token) {
    if (token) channel?.postMessage({ kind: 'signed out', token });
}
