// main.js - the frame around the pages: who is signed in, which page the address names, what is at the top.
import * as api from './api.js';
import { showCounts } from './counts.js';
import { announce, ask, button, dialog, fill, h, icon, load, note, tell, toClipboard } from './dom.js';
import { renewTimes, visible } from './format.js';
import { THEMES, isComfortable, setComfortable, setTheme, theme } from './look.js';
import { areOn, openHelp } from './shortcuts.js';
import * as tabs from './tabs.js';
import { isUtc, setTimes } from './zone.js';

/**
 * Each page is a module that is loaded when it is wanted: `show(main, route)` answers a function that ends it. `admins`:
 * what it shows that only they and viewers may see. `changes`: what it does, which viewers may not. `of`: it is no page of the top, but belongs to that one. `parts`: how many its
 * address may have, where that is more than its name.
 */
const PAGES = {
    overview: { title: 'Overview', load: () => import('./now.js') },
    runs: { title: 'Runs', load: (route) => (route.path[1] ? import('./run.js') : import('./runs.js')), parts: 2 },
    new: { title: 'New run', load: () => import('./playground.js'), of: 'runs', changes: 'sends runs to the app' },
    deliveries: {
        title: 'Deliveries',
        load: (route) => (route.path[1] ? import('./delivery.js') : import('./deliveries.js')),
        parts: 2,
        admins: 'where the webhooks of all callers went, and what came back',
    },
    destinations: {
        title: 'Destinations',
        load: () => import('./destinations.js'),
        admins: 'how the receivers of all callers’ webhooks answer',
    },
    jobs: {
        title: 'Jobs',
        load: () => import('./jobs.js'),
        admins: 'what is cancelled, run again or sent again by the server, and how far that is',
        parts: 2,
    },
    logs: {
        title: 'Logs',
        load: () => import('./logs.js'),
        admins: 'what hookline and the app log about the runs of all callers, as it comes. What was logged about a run of your own is on its page',
    },
    audit: {
        title: 'Audit',
        load: () => import('./audit.js'),
        admins: 'who changed what: keys, webhooks sent again, others’ runs, settings',
    },
    keys: { title: 'API Keys', load: () => import('./keys.js') },
};
const FIRST = 'overview';
const ALIASES = { now: 'overview' };

const NOWHERE = 'No such page';
const CONTENT = '#main'; /* a place on the page, and no page: where "Skip to the content" leads in a tab of its own */
const AGAIN = 1000; /* ms between two looks for a hookline that does not answer */
const SOON = 30_000; /* ms: a page that is missing again after this was not missing for good */
const RELOADED = 'hookline-reloaded';
const main = document.getElementById('main');
const top = document.getElementById('top');
let leave = () => {};
let turn = 0;
const looks = []; // what draws the buttons of the look that are there now

/** `#/runs/id` or `#/runs?state=queued`: what the address names, or null: no page. It stays in the browser. */
function readRoute() {
    const address = location.hash === CONTENT ? '' : location.hash;
    const [path, query] = address.replace(/^#\/?/, '').split('?');
    const parts = path.split('/').filter(Boolean).map(decode);
    if (!parts.length) parts.push(FIRST);
    if (Object.hasOwn(ALIASES, parts[0])) parts[0] = ALIASES[parts[0]];
    const isThere = Object.hasOwn(PAGES, parts[0]) && parts.length <= (PAGES[parts[0]].parts ?? 1);
    return isThere ? { path: parts, query: Object.fromEntries(new URLSearchParams(query)) } : null;
}

/** Addresses are typed and cut off, too. */
function decode(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}

function mayShow(page) {
    return page.admins ? api.seesAll() : !page.changes || api.mayRun();
}

const pagesThere = () => Object.entries(PAGES).filter(([, page]) => mayShow(page));

/** `name`: of the page that is shown, if there is one. */
function showTop(name) {
    const current = PAGES[name]?.of ?? name;
    const links = Object.entries(PAGES)
        .filter(([, page]) => !page.of)
        .map(([key, page]) => {
            const isShut = !mayShow(page);
            const isHere = key === current ? 'page' : null;
            const lock = isShut ? [icon('lock'), h('span.hidden', {}, ', for admins')] : null;
            return h('a', { id: `page-${key}`, href: `#/${key}`, 'aria-current': isHere }, icon(key), page.title, lock);
        });
    const { project, role, subject, token } = api.session;
    const who = token
        ? `Signed in to project ${project}${subject ? ` as ${subject}` : ''}, role ${role}`
        : `Project ${project}; nobody is asked for a token here`;
    looks.length = 0;
    fill(
        top,
        h('a.brand', { href: '#/' }, h('span.mark', { 'aria-hidden': 'true' }), h('span', {}, 'hookline')),
        h(
            'button.button.search-open',
            { type: 'button', onclick: openPalette, title: 'Go to, find or change (Ctrl K)', 'aria-keyshortcuts': 'Control+K' },
            icon('search'),
            h('span', {}, 'Search'),
            h('kbd', { 'aria-hidden': 'true' }, 'Ctrl K'),
        ),
        h('nav', { 'aria-label': 'Pages' }, links),
        h(
            'div.who',
            { title: who },
            h('span.project', {}, h('span.word', {}, 'project '), h('b', {}, project)),
            h('span.chip', {}, role),
            h(
                'div.looks',
                {},
                themeButton(),
                densityButton(),
                zoneButton(),
                button('?', openHelp, 'quiet.wide', {
                    'aria-label': 'Keyboard',
                    title: areOn() ? 'Keyboard (?)' : 'Keyboard: single keys are off',
                }),
            ),
            h(
                'button.button.quiet',
                { type: 'button', onclick: () => end() },
                api.session.token ? 'Sign out' : 'Change project',
            ),
        ),
    );
    showCounts();
    showHere();
}

/** On a small screen the pages' names are wider than it is. */
function showHere() {
    const nav = top.querySelector('nav');
    const here = nav.querySelector('[aria-current]');
    if (here) nav.scrollLeft = here.offsetLeft - nav.offsetLeft - 16;
}

/** Times are told in UTC, or as they were before (zone.js). The page is told of a press alone: somebody may be typing a time. */
function zoneButton() {
    const press = () => {
        setTimes(isUtc() ? null : 'UTC');
        showPressed();
        renewTimes();
    };
    const element = button('UTC', press, 'quiet', { title: 'Tell times exactly, in UTC' });
    const showPressed = () => element.setAttribute('aria-pressed', String(isUtc()));
    looks.push(showPressed);
    showPressed();
    return element;
}

const isWall = () => document.body.classList.contains('wall');
const leaveWall = () => (location.hash = '#/overview');

/** What is typed while a module is on its way; the function that it answers gives it back, with whether Enter was pressed. */
function takeEarly() {
    const before = document.activeElement;
    let isEntered = false;
    const onkeydown = (event) => (isEntered ||= event.key === 'Enter');
    const field = h('input.hidden.early', { 'aria-label': 'Go to, find or change', autocomplete: 'off', onkeydown });
    document.body.append(field);
    field.focus({ preventScroll: true });
    return () => {
        const isHere = document.activeElement === field;
        field.remove();
        if (isHere) before?.focus({ preventScroll: true });
        return { text: field.value, isEntered };
    };
}

async function copyAddress() {
    const before = document.activeElement;
    const isCopied = await toClipboard(location.href, main);
    if (before !== document.body) before.focus({ preventScroll: true });
    if (isCopied) return tell('The address is copied');
    dialog('The address of this page', (close) => [
        h('p', {}, 'This browser does not let the page copy it: select and copy.'),
        h('input', { readonly: true, value: location.href, 'aria-label': 'Address', autofocus: true, onfocus: ({ target }) => target.select() }),
        h('div.actions', {}, button('Close', () => close())),
    ]);
}

async function openPalette() {
    if (document.querySelector('.early')) return;
    const take = takeEarly();
    const palette = await load(() => import('./palette.js'));
    if (!palette) return void take();
    const pages = pagesThere().filter(([, page]) => !page.of);
    palette.open(
        pages.map(([key, page]) => [page.title, `#/${key}`]),
        [
            ...(mayShow(PAGES.new) ? [['New run', () => (location.hash = '#/new')]] : []),
            ['Copy the address of this page', copyAddress],
            isWall()
                ? ['Wall: leave it', leaveWall]
                : ['Wall: the overview without controls, for a screen', () => (location.hash = '#/overview?wall=1')],
            ['Keyboard: all keys', openHelp],
            [api.session.token ? 'Sign out' : 'Change project', () => end()],
        ],
        take,
    );
}

/** Leads from one theme to the next; which holds is what it is called. */
function themeButton() {
    const press = () => setTheme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
    return lookButton('quiet', press, () => [theme(), `Theme: ${theme()}`]);
}

function densityButton() {
    const press = () => setComfortable(!isComfortable());
    return lookButton('quiet.wide', press, () =>
        isComfortable() ? ['comfortable', 'Rows: comfortable'] : ['dense', 'Rows: dense'],
    );
}

/** `tell()`: its icon, and its name. The look may be changed elsewhere, too. */
function lookButton(kind, press, tell) {
    const element = button('', press, kind);
    const draw = () => {
        const [shape, name] = tell();
        fill(element, icon(shape));
        element.setAttribute('aria-label', name);
        element.title = name;
    };
    looks.push(draw);
    draw();
    return element;
}

/**
 * Ends the page that is there, and the questions that it asks. Then `start` gets the module of the next one, unless
 * another was wanted while it was loaded.
 */
async function change(load, start) {
    const mine = ++turn;
    leave(); // it may want to know where one was
    leave = () => {};
    scrollTo(0, 0);
    document.querySelectorAll('dialog').forEach((dialog) => dialog.close());
    const page = await load().catch(() => null);
    if (mine !== turn) return;
    if (page) start(page);
    else fill(main, showMissing());
}

/** A module that could not be loaded never will be: browsers remember that, so all is loaded anew once there is an answer. */
function showMissing() {
    const waiting = h('p.hint', {}, 'It is loaded as soon as there is an answer.');
    const polling = api.poll(
        AGAIN,
        async () => {
            await api.knock();
            polling.stop();
            if (mayReload()) location.reload();
            else waiting.hidden = true;
        },
        () => {},
    );
    leave = () => polling.stop();
    return [
        h('h1', {}, 'This page is not here'),
        note(
            'error',
            'It could not be loaded',
            h('p', {}, `hookline does not answer at ${location.host}, or is another version than before.`),
            waiting,
        ),
        h('div.rest', {}, button('Load again', () => location.reload(), 'main')),
    ];
}

/** What is missing for good is not asked for without end. */
function mayReload() {
    const last = Number(sessionStorage.getItem(RELOADED));
    sessionStorage.setItem(RELOADED, Date.now());
    return Date.now() - last > SOON;
}

let kept = null; // the session that is renewed

async function keepSession() {
    if (kept === api.session || !api.isRenewable()) return;
    kept = api.session;
    const renewal = await import('./renewal.js').catch(() => null);
    if (renewal) renewal.keep(kept);
    else kept = null;
}

/** A wall has no controls: `wall=1` is of the frame, and of no page's filter. */
function takeWall(route) {
    document.body.classList.toggle('wall', route?.query.wall === '1');
    delete route?.query.wall;
}

async function show() {
    if (!api.session) return showDoor();
    tabs.tellSignedIn();
    keepSession();
    const route = readRoute();
    const page = route && PAGES[route.path[0]];
    showTop(route?.path[0]);
    document.title = `${page?.title ?? NOWHERE} · hookline`;
    takeWall(route);
    if (!page || !mayShow(page))
        return change(
            () => import('./shut.js'),
            ({ showNowhere, showShut }) => fill(main, page ? showShut(page, () => end(null, true)) : showNowhere(NOWHERE, pagesThere())),
        );
    await change(
        () => page.load(route),
        (module) => {
            // With the filter of now: one that was chosen meanwhile would be taken back, and what is being typed with it.
            const now = readRoute();
            delete now?.query.wall;
            leave = module.show(main, `${now?.path}` === `${route.path}` ? now : route);
        },
    );
}

/** Another page by a link, or the same one by another filter: what was chosen keeps the focus, if it is still there. */
async function goOn() {
    const { title, activeElement } = document;
    await show();
    if (document.title !== title) announce(document.title);
    if (document.activeElement !== document.body) return;
    const same = activeElement.id && document.getElementById(activeElement.id);
    (same || main).focus({ preventScroll: true });
}

/** Where one comes in, with what was wrong, if anything was. `open`: what a hookline that asks for no token knows. */
async function showDoor(error, open) {
    fill(top, h('span.brand', {}, h('span.mark', { 'aria-hidden': 'true' }), h('span', {}, 'hookline')));
    document.title = open ? 'Project · hookline' : 'Sign in · hookline';
    return change(
        () => import('./signin.js'),
        (page) =>
            open
                ? page.showProjects(main, { error, projects: open.projects, onDone: show })
                : page.show(main, { error, onDone: show }),
    );
}

/** Nobody is signed in: where no token is asked for, the one project there is, or a choice of them. */
async function arrive(error, mayEnter = true) {
    const door = await api.knock().catch((failure) => ({ asksToken: true, failure }));
    if (door.asksToken) return showDoor(error ?? door.failure);
    const only = door.project_id ?? (door.projects.length === 1 ? door.projects[0] : null);
    if (!only || !mayEnter) return showDoor(error, door);
    try {
        await api.signIn(null, only);
        await show();
    } catch (failure) {
        showDoor(failure, door);
    }
}

/** `isHere`: in this tab alone, and what its address names is kept for whoever signs in. */
function end(error, isHere = false) {
    const hadToken = api.session?.token;
    if (!error && !isHere) tabs.tellSignedOut(hadToken);
    api.signOut();
    if (hadToken) return showDoor(error);
    history.replaceState(null, '', location.pathname); // what it named was the last project's
    arrive(error, false);
}

/** `hookline dashboard` prints a link with `#token=…`: it is taken, and gone from the address bar. */
function takeToken() {
    const parameters = new URLSearchParams(location.hash.slice(1));
    const token = parameters.get('token');
    if (token === null) return null;
    history.replaceState(null, '', location.pathname + location.search);
    return token && { token, project: parameters.get('project') ?? api.claims(token).project_id };
}

/** Somebody is signed in here, and a link is somebody else's: whoever sent it must not choose for the one who looks. */
function confirmLink(link) {
    const { project, subject } = api.session;
    return ask({
        title: 'Sign in as somebody else?',
        text:
            `This link signs in to project ${visible(String(link.project ?? ''))} with a token of its own. You are signed in ` +
            `to project ${visible(project)}${subject ? ` as ${visible(subject)}` : ''}: what you do next would be done as somebody else.`,
        yes: 'Sign in with the link',
        act: () => true,
    });
}

async function begin() {
    const link = takeToken();
    const known = api.session ?? api.remembered() ?? (link ? null : await tabs.askOthers());
    let refusal;
    try {
        if (known && !api.session) await api.signIn(known.token, known.project);
    } catch (error) {
        refusal = error;
    }
    if (api.session) await show();
    if (link && (!api.session || (link.token !== api.session.token && (await confirmLink(link)))))
        await follow(link);
    else if (!api.session) await (known?.token ? showDoor(refusal) : arrive(refusal));
}

async function follow(link) {
    try {
        await api.signIn(link.token, link.project);
        await show();
    } catch (error) {
        showDoor(error);
    }
}

tabs.answerOthers(
    () => api.session,
    (token) => api.session?.token === token && end(null, true),
);
api.onRefused.call = (error) => end(error);
// The address is the page's, with its filters.
document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
});
addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && isWall() && !document.querySelector('dialog[open]')) leaveWall();
    if (event.key?.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || !api.session) return;
    event.preventDefault();
    openPalette();
});
addEventListener('look', () => looks.forEach((draw) => draw()));
addEventListener('hashchange', () => {
    const isLink = location.hash.startsWith('#token=');
    if (isLink) begin();
    else if (location.hash !== CONTENT) goOn();
    else main.focus();
});
begin();
