// keys.js - API Keys: the project's service accounts. A new token is shown once, and is nowhere else.
import * as api from './api.js';
import { now } from './clock.js';
import { announce, ask, badge, button, copy, dialog, fill, h, note } from './dom.js';
import { plural, time, visible } from './format.js';

const PAGE = 100;
const ROLES = [
    ['invoke', 'Invoke', 'calls the app and looks at its runs: for the programs that call it'],
    ['admin', 'Admin', 'also makes and revokes keys, cancels runs, redelivers webhooks'],
];

export function show(main) {
    const problem = h('div');
    const body = h('tbody', { role: 'rowgroup' });
    const heads = ['Name', 'Role', 'State', 'Created', 'Expires', 'Last used', 'Action'];
    const table = h(
        'table.keys',
        { 'aria-label': 'Service accounts', role: 'table' },
        h(
            'thead',
            { role: 'rowgroup' },
            h(
                'tr',
                { role: 'row' },
                heads.map((text) => h('th', { scope: 'col', role: 'columnheader' }, text)),
            ),
        ),
        body,
    );
    const rest = h('div.rest');
    const create = button(
        'Create Service Account',
        async () => {
            if (await createAccount()) load();
        },
        'main',
    );
    fill(
        main,
        h('div.title-row', {}, h('h1', {}, 'API Keys'), create),
        h(
            'p.lead',
            {},
            'A service account is a token with a name and an end: one for each program and environment, so that each can be revoked alone.',
        ),
        problem,
        table,
        rest,
    );
    const gone = new AbortController();
    let count = 0;

    async function load(cursor) {
        try {
            const query = { limit: PAGE, cursor };
            const answer = await api.get('/service-accounts', { query, signal: gone.signal });
            const rows = answer.service_accounts.map(row);
            fill(problem);
            if (cursor) body.append(...rows);
            else fill(body, rows);
            count = cursor ? count + rows.length : rows.length;
            showRest(answer.next_cursor);
        } catch (error) {
            if (error.name !== 'AbortError')
                fill(problem, note('error', 'The keys could not be loaded', h('p', {}, error.message)));
        }
    }

    function showRest(cursor) {
        table.hidden = count === 0;
        if (!count) {
            return fill(
                rest,
                note(
                    'empty',
                    'No service accounts yet',
                    h('p', {}, 'Create one: its token is what callers of the app send as a bearer token.'),
                ),
            );
        }
        fill(
            rest,
            h('span.count', {}, plural(count, 'service account')),
            cursor ? button('Show more', () => load(cursor)) : null,
        );
    }

    function row(account) {
        const isExpired = Date.parse(account.expires_at) <= now();
        const [kind, word, shape] = account.revoked_at
            ? ['failure', 'revoked', 'failure']
            : isExpired
              ? ['queued', 'expired', 'queued']
              : ['success', 'active', 'success'];
        const revoke = () =>
            ask({
                title: `Revoke “${visible(account.name)}”?`,
                text: 'Whoever uses its token is refused from now on. This cannot be taken back.',
                yes: 'Revoke',
                act: () => api.send('DELETE', `/service-accounts/${account.id}`),
            }).then((isDone) => isDone && (announce('Revoked'), load()));
        const isActive = word === 'active';
        const cell = (label, ...content) => h('td', { role: 'cell', 'data-label': label }, content);
        return h(
            'tr',
            { role: 'row' },
            h(
                'td.name',
                { role: 'cell' },
                h('strong', {}, visible(account.name)),
                h('span.sub', { title: 'id' }, account.id),
            ),
            cell('Role', account.role),
            cell(
                'State',
                badge(kind, word, shape),
                account.revoked_at && h('span.sub', {}, time(account.revoked_at)),
            ),
            cell('Created', time(account.created_at, { style: 'date' })),
            cell('Expires', time(account.expires_at, { style: 'date' })),
            cell('Last used', time(account.last_used_at, { empty: 'never' })),
            h(
                'td',
                { role: 'cell' },
                isActive
                    ? button('Revoke…', revoke, 'small', { 'aria-label': `Revoke ${visible(account.name)}` })
                    : null,
            ),
        );
    }

    load();
    return () => gone.abort();
}

/** The end of a day, in local time. */
function endOf(day) {
    const [year, month, date] = day.split('-').map(Number);
    return new Date(year, month - 1, date, 23, 59, 59);
}

function dayFromNow(days) {
    const at = new Date(now() + days * 86_400_000);
    return [at.getFullYear(), at.getMonth() + 1, at.getDate()]
        .map((n) => String(n).padStart(2, '0'))
        .join('-');
}

/** Asks for name, expiry date and role, then shows the token. Answers whether an account was made. */
function createAccount() {
    return dialog('Create Service Account', (close) => {
        const name = h('input', {
            required: true,
            maxlength: 100,
            autocomplete: 'off',
            placeholder: 'checkout-prod',
            autofocus: true,
        });
        const expiry = h('input', {
            type: 'date',
            required: true,
            value: dayFromNow(90),
            min: dayFromNow(0),
        });
        const roles = ROLES.map(([value, text, help], i) =>
            h(
                'label.choice',
                {},
                h('input', { type: 'radio', name: 'role', value, checked: i === 0 }),
                h('span', {}, h('strong', {}, text), ` ${help}`),
            ),
        );
        const presets = [30, 90, 365].map((days) =>
            button(`${days} days`, () => (expiry.value = dayFromNow(days)), 'quiet'),
        );
        const problem = h('div');
        const submit = h('button.button.main', { type: 'submit' }, 'Create');
        const form = h(
            'form',
            {
                onsubmit: async (event) => {
                    event.preventDefault();
                    submit.disabled = true;
                    try {
                        const made = await api.send('POST', '/service-accounts', {
                            name: name.value.trim(),
                            expires_at: endOf(expiry.value).toISOString(),
                            role: form.querySelector(':checked').value,
                        });
                        form.replaceWith(showToken(made, close));
                        announce('The service account was created. Copy its token now.');
                    } catch (error) {
                        fill(problem, note('error', 'It was not created', h('p', {}, error.message)));
                        submit.disabled = false;
                    }
                },
            },
            h('label.field', {}, h('span', {}, 'Name'), name),
            h('label.field', {}, h('span', {}, 'Expiry date'), expiry),
            h('div.presets', {}, presets),
            h('fieldset', {}, h('legend', {}, 'Role'), roles),
            problem,
            h(
                'div.actions',
                {},
                button('Cancel', () => close(false)),
                submit,
            ),
        );
        return form;
    });
}

function showToken(account, close) {
    const done = button('I have it', () => close(true), 'main');
    return h(
        'div',
        {},
        h(
            'p',
            {},
            'This is the token of ',
            h('strong', {}, visible(account.name)),
            '. It is shown this once: keep it where secrets are kept.',
        ),
        h('div.token', {}, h('code', { tabindex: 0 }, account.token), copy(account.token, 'Copy token')),
        h('p.hint', {}, 'Good until ', time(account.expires_at, { style: 'full' }), '.'),
        h('div.actions', {}, done),
    );
}
