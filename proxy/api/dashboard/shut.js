// shut.js - what is shown in the place of a page: to whom may not see it, and at an address that names none.
import { button, h, note } from './dom.js';
import { visible } from './format.js';

/** What a page is that others may look at, and how to become one of them. */
export function showShut(page, onSignIn) {
    return [
        h('h1', {}, page.title),
        note(
            'empty',
            page.admins ? 'This page is for admins' : 'This page is not for viewers',
            h('p', {}, page.admins ? `It shows ${page.admins}.` : `It ${page.changes}.`),
            h(
                'p',
                {},
                page.admins
                    ? 'Your role, invoke, may send runs, and see the runs and API keys of its project.'
                    : 'Your role, viewer, sees what an admin sees, and changes nothing.',
            ),
            h(
                'p',
                {},
                'Sign in with a key of the role admin, or with the link that “hookline dashboard” prints where hookline runs.',
            ),
            button('Sign in as somebody else', onSignIn),
        ),
    ];
}

/** What an address is told that was mistyped or cut off, and where one can go from there. */
export function showNowhere(title, pages) {
    return [
        h('h1', {}, title),
        note(
            'empty',
            'Nothing is at this address',
            h('p', {}, 'The dashboard has no page ', h('code', {}, visible(location.hash)), '. These are there:'),
            h('ul.pages', {}, pages.map(([key, page]) => h('li', {}, h('a', { href: `#/${key}` }, page.title)))),
        ),
    ];
}
