// main.js - the frame around the pages: who is signed in, which page the address names, what is at the top.
import * as api from './api.js';
import { fill, h } from './dom.js';

/** Each page is a module that is loaded when it is wanted: `show(main, route)` answers a function that ends it. */
const PAGES = {
    runs: { title: 'Runs', load: (route) => (route.path[1] ? import('./run.js') : import('./runs.js')) },
    deliveries: { title: 'Deliveries', load: () => import('./deliveries.js'), needsAdmin: true },
    keys: { title: 'API Keys', load: () => import('./keys.js'), needsAdmin: true },
    now: { title: 'Now', load: () => import('./now.js') },
};

const main = document.getElementById('main');
const top = document.getElementById('top');
let leave = () => {};
let turn = 0;

/** `#/runs/app/id?state=queued`: what the address names. It stays in the browser. */
function readRoute() {
    const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
    return {
        path: path.split('/').filter(Boolean).map(decodeURIComponent),
        query: Object.fromEntries(new URLSearchParams(query)),
    };
}

function mayShow(page) {
    return !page.needsAdmin || api.isAdmin();
}

function showTop(name) {
    const links = Object.entries(PAGES)
        .filter(([, page]) => mayShow(page))
        .map(([key, page]) =>
            h('a', { href: `#/${key}`, 'aria-current': key === name ? 'page' : null }, page.title),
        );
    const { project, role, subject } = api.session;
    const who = `Signed in to project ${project}${subject ? ` as ${subject}` : ''}, role ${role}`;
    fill(
        top,
        h('a.brand', { href: '#/runs' }, h('span.mark', { 'aria-hidden': 'true' }), 'hookline'),
        h('nav', { 'aria-label': 'Pages' }, links),
        h(
            'div.who',
            { title: who },
            h('span.project', {}, h('span.word', {}, 'project '), h('b', {}, project)),
            h('span.chip', {}, role),
            h('button.button.quiet', { type: 'button', onclick: () => end() }, 'Sign out'),
        ),
    );
}

/** Ends the page that is there; what is still being loaded for it will find another `turn`. */
function change() {
    leave();
    leave = () => {};
    return ++turn;
}

async function show() {
    const mine = change();
    if (!api.session) return showDoor();
    const route = readRoute();
    const name = PAGES[route.path[0]] && mayShow(PAGES[route.path[0]]) ? route.path[0] : 'runs';
    if (name !== route.path[0]) route.path = [name];
    showTop(name);
    document.title = `${PAGES[name].title} · hookline`;
    scrollTo(0, 0);
    const page = await PAGES[name].load(route);
    if (mine === turn) leave = page.show(main, route);
}

/** Where one comes in, with what was wrong, if anything was. */
async function showDoor(error) {
    const mine = change();
    fill(top, h('span.brand', {}, h('span.mark', { 'aria-hidden': 'true' }), 'hookline'));
    document.title = 'Sign in · hookline';
    const page = await import('./signin.js');
    if (mine === turn) page.show(main, { error, onDone: show });
}

function end(error) {
    api.signOut();
    showDoor(error);
}

/** `hookline dashboard` prints a link with `#token=…`: it is taken, and gone from the address bar. */
function takeToken() {
    const parameters = new URLSearchParams(location.hash.slice(1));
    const token = parameters.get('token');
    if (!token) return null;
    history.replaceState(null, '', location.pathname + location.search);
    return { token, project: parameters.get('project') ?? api.claims(token).project_id };
}

async function begin() {
    const known = takeToken() ?? api.remembered();
    if (!known) return showDoor();
    try {
        await api.signIn(known.token, known.project);
        show();
    } catch (error) {
        showDoor(error);
    }
}

api.onRefused.call = (error) => end(error);
addEventListener('hashchange', () => {
    const isLink = location.hash.startsWith('#token=');
    // The target of "Skip to the content" is a place on the page, and no page.
    if (isLink) begin();
    else if (location.hash !== '#main') show();
    else main.focus();
});
begin();
