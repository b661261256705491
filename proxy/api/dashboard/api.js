// api.js - the REST interface: who is signed in, requests, errors in words, asking again and again.
import { now, setClock } from './clock.js';

const KEY = 'hookline';
const APPS = 200; /* that the server names, the first by name: of more it says nothing */
const PATIENCE = 15_000; /* ms: a hookline that says nothing for this long does not answer */

/** A request that failed, with words for people. `status` 0: nobody answered. `after`: Retry-After, in seconds. */
export class ApiError extends Error {
    constructor(status, message, after = 0) {
        super(message);
        this.status = status;
        this.after = after;
    }
}

/** Who is signed in: `{ token, project }` and what GET /v2/projects/{p} answers, or null. Without a token where none is asked for. */
export let session = null;

/** The claims of a token, unchecked: only to find its project. */
export function claims(token) {
    try {
        const part = token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/');
        return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (c) => c.charCodeAt(0))));
    } catch {
        return {};
    }
}

/** Whether this hookline asks who looks at it, and if it does not, which projects it knows. Throws ApiError. */
export async function knock() {
    const { asks_token: asksToken } = await (await fetchSoon('/door', {})).json();
    return { asksToken, ...(asksToken ? {} : await get('/v2/projects')) };
}

/** Answers by address, `{ tag, text }`, those asked for last at the end: what is the same is not sent again. In this page's memory alone. */
const known = new Map();
const KNOWN = 16;

/** Takes the token of this tab, or of a link; asks the server what it may do. Throws ApiError. */
export async function signIn(token, project) {
    known.clear();
    if (token && /[^!-~]/.test(token)) throw new ApiError(401, 'It contains characters that no token has.');
    session = { token, project, role: 'invoke', apps: [] };
    try {
        Object.assign(session, await get(''), { isKnown: true });
        session.hasMoreApps = session.apps.length >= APPS;
        sessionStorage.setItem(KEY, JSON.stringify({ token, project }));
    } catch (error) {
        session = null;
        // Whoever is too busy to look at a token has not refused it.
        if (error.status === 401 || error.status === 403) sessionStorage.removeItem(KEY);
        throw error;
    }
}

export function remembered() {
    try {
        return JSON.parse(sessionStorage.getItem(KEY));
    } catch {
        return null;
    }
}

export function signOut() {
    known.clear();
    session = null;
    sessionStorage.removeItem(KEY);
}

/** The same session with a fresh token. */
export function replaceToken(token) {
    session.token = token;
    sessionStorage.setItem(KEY, JSON.stringify({ token, project: session.project }));
}

/** Of an account, for an hour or less: a read-only link's (`hookline dashboard --read-only --expires`). */
export function isRenewable() {
    const { jti, role, iat, exp } = claims(session?.token ?? '');
    return Boolean(jti) && role === 'viewer' && exp - iat <= 3600;
}

/** What is listed may be of an app that was not known at the start. */
export function noteApp(name) {
    if (!session.apps.includes(name)) session.apps.push(name);
}

/** Those that are known, by name. */
export const sortedApps = () => [...session.apps].sort();

/** Whether an app may be called so. */
export const isAppName = (text) => /^[\w.-]{1,128}$/.test(text);

/** What is said of their list where it may not be whole, or ''. */
export const moreApps = () => (session.hasMoreApps ? 'Not all apps are listed: type the whole name of any other.' : '');

/** The run listener, which is most likely reached at the same host. */
export const runListener = () => `${session.run_scheme ?? 'http'}://${location.hostname}:${session.run_port}`;

export const isAdmin = () => session?.role === 'admin';
/** Admins, and viewers, who change nothing. */
export const seesAll = () => isAdmin() || session?.role === 'viewer';
/** May call the app, and end or repeat its own runs. */
export const mayRun = () => session?.role !== 'viewer';

/** A module that a part of a page is made of, by `get()`. Throws ApiError. */
export async function part(get) {
    try {
        return await get();
    } catch {
        const words = `A part of this page could not be loaded: hookline does not answer at ${location.host}, or is another version than the page. Load the page again.`;
        throw new ApiError(0, words);
    }
}

/** Called when the server no longer takes the token. */
export const onRefused = { call: () => {} };

/** Of a path below the project or, with a leading `/v2/`, anywhere. */
function addressOf(path, query = {}) {
    const base = `/v2/projects/${encodeURIComponent(session?.project)}`;
    const all = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
    const parameters = all.filter(([, value]) => value !== '' && value != null);
    const search = new URLSearchParams(parameters).toString();
    return (path.startsWith('/v2/') ? path : base + path) + (search && `?${search}`);
}

/** The response, if it is a good one: 304 is, to whoever asked whether there is a new one. */
export async function request(method, path, { query, headers: more = {}, body, signal } = {}) {
    const url = addressOf(path, query);
    const headers = { ...more, ...authorization() };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const response = await fetchSoon(url, { method, headers, body: JSON.stringify(body) }, signal);
    setClock(response.headers.get('Date'));
    if (response.ok || response.status === 304) return response;
    const error = new ApiError(
        response.status,
        await explain(response),
        Number(response.headers.get('Retry-After')),
    );
    // Whoever is just signing in is told where it was tried, and nothing that was typed is lost.
    if (response.status === 401 && session?.isKnown) onRefused.call(error);
    throw error;
}

/**
 * A call of the app, by way of this listener: the response, whatever it is, however long the app takes. What refuses it
 * may be the app: that ends no session.
 */
export async function call(method, path, { query, headers = {}, text, signal }) {
    const search = query && new URLSearchParams(query).toString();
    const all = { ...headers, ...authorization() };
    const options = { method, headers: all, body: method === 'GET' ? undefined : text };
    return fetchSoon(path + (search && `?${search}`), options, signal, 0);
}

function authorization() {
    return session?.token ? { Authorization: `Bearer ${session.token}` } : {};
}

/** A response's head, before patience ends; 0 has no end. */
async function fetchSoon(url, options, signal, patience = PATIENCE) {
    const gone = new AbortController();
    const stop = () => gone.abort();
    const timer = patience && setTimeout(stop, patience);
    signal?.addEventListener('abort', stop);
    try {
        return await fetch(url, {
            ...options,
            signal: gone.signal,
            cache: 'no-store',
            credentials: 'omit',
            redirect: 'error',
            referrerPolicy: 'no-referrer',
        });
    } catch (error) {
        if (signal?.aborted) throw error;
        throw new ApiError(
            0,
            `hookline does not answer at ${location.host}. Is it running, and is the way to it open?`,
        );
    } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', stop);
    }
}

/** RFC 9457: `detail` says what was wrong and what to do. */
async function explain(response) {
    try {
        const problem = await response.json();
        return problem.detail || problem.title;
    } catch {
        return `The answer was ${response.status} ${response.statusText}`;
    }
}

export async function get(path, options) {
    const url = addressOf(path, options?.query);
    const last = known.get(url);
    const response = await request('GET', path, { ...options, headers: last && { 'If-None-Match': last.tag } });
    const text = response.status === 304 ? last.text : await response.text();
    keepKnown(url, response.headers.get('ETag'), text);
    return JSON.parse(text);
}

function keepKnown(url, tag, text) {
    known.delete(url);
    if (tag) known.set(url, { tag, text });
    if (known.size > KNOWN) known.delete(known.keys().next().value);
}

/** The same, or null if it is no longer there. */
export async function find(path, options) {
    try {
        return await get(path, options);
    } catch (error) {
        if (error.status !== 404) throw error;
        return null;
    }
}

export async function send(method, path, body) {
    const response = await request(method, path, { body });
    const text = await response.text();
    return text ? JSON.parse(text) : null;
}

/**
 * Calls `ask(signal)` now and `ms` (or what it answers) after each answer; never in a hidden tab. `onError(error, at)` gets what
 * it throws, with the time of the last answer (null: there was none), and null when it works again; after errors it asks less often, and
 * after 400 no more by itself. Answers `{ stop, now }`: `now()` asks at once, or as soon as the present answer is there.
 */
export function poll(ms, ask, onError) {
    const gone = new AbortController();
    let timer,
        isAsking = false,
        isWanted = false,
        heard = null,
        failures = 0;
    const turn = async () => {
        clearTimeout(timer);
        isWanted = isAsking;
        if (isAsking || gone.signal.aborted || document.hidden) return;
        isAsking = true;
        let next = ms,
            isOver = false;
        try {
            next = (await ask(gone.signal)) ?? ms;
            heard = now();
            if (failures) onError(null, heard);
            failures = 0;
        } catch (error) {
            if (!gone.signal.aborted) onError(error, heard);
            failures++;
            isOver = error.status === 400; // the same question gets the same answer
        }
        isAsking = false;
        if (!gone.signal.aborted && (isWanted || !isOver)) timer = setTimeout(turn, isWanted ? 0 : next * Math.min(1 + failures, 6));
    };
    document.addEventListener('visibilitychange', turn, { signal: gone.signal });
    turn();
    return {
        now: turn,
        stop() {
            clearTimeout(timer);
            gone.abort();
        },
    };
}
