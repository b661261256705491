// keys.js - API Keys: the project's service accounts. A new token is shown once, and is nowhere else.
import * as api from './api.js';
import { now } from './clock.js';
import { announce, ask, badge, busy, button, copy, dialog, fill, h, note, refill } from './dom.js';
import { exportButton } from './export_button.js';
import { plural, time, visible } from './format.js';
import { limitFields, limitWords } from './limits.js';

const PAGE = 100;
const ROLES = [
    ['invoke', 'Invoke', 'calls the app and looks at its runs: for the programs that call it'],
    ['admin', 'Admin', 'also makes and revokes keys, cancels runs, redelivers webhooks'],
    ['viewer', 'Viewer', 'sees what an admin sees, but webhooks’ URLs, and changes nothing'],
];

/** Accounts whose tokens nobody has said that he has, with whose session made them; not beyond this page's life. */
let unseen = [];

export function show(main) {
    const list = new AccountList();
    const about =
        'A service account is a token with a name and an end: one for each program and environment, so that each can be revoked alone.';
    const saving = exportButton({
        name: 'api keys',
        path: '/service-accounts',
        rows: 'service_accounts',
        query: () => ({}),
        about: 'All keys of the project, including revoked and expired ones, without their tokens.',
    });
    const actions = h('div.actions', {}, saving, api.isAdmin() ? list.create : null);
    fill(
        main,
        h('div.title-row', {}, h('h1', {}, 'API Keys'), actions),
        h('p.lead', {}, about),
        api.isAdmin() ? null : h('p.hint', {}, `Admins make and revoke keys; the role ${api.session.role} sees them.`),
        list.elements,
    );
    list.load();
    return () => list.end();
}

/** Whoever closes the page is asked whether he means it. */
addEventListener('beforeunload', (event) => {
    if (unseen.length) event.preventDefault();
});

function forget(account) {
    unseen = unseen.filter((other) => other.account !== account);
}

class AccountList {
    #gone = new AbortController();
    #count = 0;
    #problem = h('div');
    #body = h('tbody', { role: 'rowgroup' });
    #table = makeTable(this.#body);
    #rest = h('div.rest');
    #unseen = h('div');
    elements = [this.#problem, this.#unseen, this.#table, this.#rest];
    create = button(
        'Create Service Account',
        async () => {
            await createAccount(() => this.#showUnseen());
            this.#showUnseen();
            this.load(); // it may be there although its dialog was closed with Escape
        },
        'main',
    );

    end() {
        this.#gone.abort();
    }

    /** A token that went with its dialog, by Escape or by a way to another page, is here still: for who made it. */
    #showUnseen() {
        unseen = unseen.filter(({ of }) => of === api.session?.token);
        const show = ({ account }) => {
            const have = () => {
                this.#showUnseen();
                this.create.focus();
            };
            return note('kept', 'Keep this token', showToken(account, have));
        };
        fill(this.#unseen, unseen.map(show));
    }

    async load(cursor) {
        this.#showUnseen();
        try {
            const query = { limit: PAGE, cursor };
            const answer = await api.get('/service-accounts', { query, signal: this.#gone.signal });
            const rows = answer.service_accounts.map((account) => this.#makeRow(account));
            fill(this.#problem);
            if (cursor) this.#body.append(...rows);
            else fill(this.#body, rows);
            this.#count = cursor ? this.#count + rows.length : rows.length;
            this.#showRest(answer.next_cursor);
        } catch (error) {
            const why = note('error', 'The keys could not be loaded', h('p', {}, error.message));
            if (error.name !== 'AbortError') fill(this.#problem, why);
        }
    }

    #showRest(cursor) {
        this.#table.hidden = this.#count === 0;
        const next = 'Create one: its token is what callers of the app send as a bearer token.';
        refill(
            this.#rest,
            this.#count
                ? h('span.count', {}, plural(this.#count, 'service account'))
                : note('empty', 'No service accounts yet', h('p', {}, next)),
            cursor ? button('Show more', ({ target }) => busy(target, () => this.load(cursor))) : null,
        );
    }

    #makeRow(account) {
        const [kind, state] = stateOf(account);
        const name = visible(account.name);
        const label = { 'aria-label': `Revoke ${name}` };
        const revoke = button('Revoke…', () => this.#revoke(account), 'small', label);
        const limits = button('Limits…', () => this.#limit(account), 'small', {
            'aria-label': `Limits of ${name}`,
            'data-limits': account.id,
        });
        const cell = (of, ...content) => h('td', { role: 'cell', 'data-label': of }, content);
        const id = h('span.sub', { title: 'id' }, account.id);
        const revoked = account.revoked_at && h('span.sub', {}, time(account.revoked_at));
        return h(
            'tr',
            { role: 'row' },
            h('td.name', { role: 'cell' }, h('strong', {}, name), id),
            cell('Role', account.role),
            cell('State', badge(kind, state), revoked),
            cell('Limits', h('span.limits', {}, limitWords(account))),
            cell('Created', time(account.created_at, { style: 'date' })),
            cell('Expires', time(account.expires_at, { style: 'date' })),
            cell('Last used', time(account.last_used_at, { empty: 'never' })),
            h('td', { role: 'cell' }, state === 'active' && api.isAdmin() ? h('div.row-actions', {}, limits, revoke) : null),
        );
    }

    async #limit(account) {
        if (!(await changeLimits(account))) return;
        await this.load();
        announce('The limits were changed');
        this.#body.querySelector(`[data-limits="${account.id}"]`)?.focus();
    }

    async #revoke(account) {
        const isDone = await ask({
            title: `Revoke “${visible(account.name)}”?`,
            text: 'Whoever uses its token is refused from now on. This cannot be taken back.',
            yes: 'Revoke',
            act: () => api.send('DELETE', `/service-accounts/${account.id}`),
        });
        if (!isDone) return;
        await this.load();
        announce('Revoked');
        this.create.focus(); // the button that had the focus is gone
    }
}

function makeTable(body) {
    const names = ['Name', 'Role', 'State', 'Limits', 'Created', 'Expires', 'Last used', 'Action'];
    const heads = names.map((text) => h('th', { scope: 'col', role: 'columnheader' }, text));
    return h(
        'table.keys',
        { 'aria-label': 'Service accounts', role: 'table' },
        h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads)),
        body,
    );
}

/** Asks for other limits. Resolves with whether they were changed. */
function changeLimits(account) {
    return dialog(`Limits of “${visible(account.name)}”`, (close) => {
        const { fields, read } = limitFields(account);
        const problem = h('div');
        const submit = h('button.button.main', { type: 'submit' }, 'Save');
        const save = async () => {
            try {
                await api.send('PATCH', `/service-accounts/${account.id}`, read());
                close(true);
            } catch (error) {
                fill(problem, note('error', 'They were not changed', h('p', {}, error.message)));
            }
        };
        const onsubmit = (event) => {
            event.preventDefault();
            busy(submit, save);
        };
        const cancel = button('Cancel', () => close(false));
        const hint = h('p.hint', {}, 'They apply at once, to new calls. An empty field means no limit.');
        return h('form', { onsubmit }, hint, fields, problem, h('div.actions', {}, cancel, submit));
    });
}

function stateOf(account) {
    if (account.revoked_at) return ['failure', 'revoked'];
    return Date.parse(account.expires_at) <= now() ? ['queued', 'expired'] : ['success', 'active'];
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

/** Asks for name, expiry date and role, then shows the token. Resolves when that is over; `onLate`: it was made after that. */
function createAccount(onLate) {
    return dialog('Create Service Account', (close) => {
        const { fields, read } = makeFields();
        const problem = h('div');
        const submit = h('button.button.main', { type: 'submit' }, 'Create');
        const make = async () => {
            try {
                const made = await api.send('POST', '/service-accounts', read());
                unseen.push({ of: api.session?.token, account: made });
                announce('The service account was created. Copy its token now.');
                if (!form.isConnected) return onLate();
                const token = showToken(made, close);
                form.replaceWith(token);
                token.querySelector('button').focus();
            } catch (error) {
                fill(problem, note('error', 'It was not created', h('p', {}, error.message)));
            }
        };
        const onsubmit = (event) => {
            event.preventDefault();
            busy(submit, make);
        };
        const cancel = button('Cancel', () => close(false));
        const form = h('form', { onsubmit }, fields, problem, h('div.actions', {}, cancel, submit));
        return form;
    });
}

/** What an account is made of, and `read()`: the body of the request for it. */
function makeFields() {
    const name = h('input', {
        required: true,
        maxlength: 100,
        autocomplete: 'off',
        placeholder: 'checkout-prod',
        autofocus: true,
    });
    const day = { required: true, value: dayFromNow(90), min: dayFromNow(0) };
    const expiry = h('input', { type: 'date', ...day });
    const presets = [30, 90, 365].map((days) =>
        button(`${days} days`, () => (expiry.value = dayFromNow(days)), 'quiet'),
    );
    const roles = ROLES.map(([value, text, help], i) =>
        h(
            'label.choice',
            {},
            h('input', { type: 'radio', name: 'role', value, checked: i === 0 }),
            h('span', {}, h('strong', {}, text), ` ${help}`),
        ),
    );
    const role = h('fieldset', {}, h('legend', {}, 'Role'), roles);
    const limits = limitFields();
    return {
        fields: [
            h('label.field', {}, h('span', {}, 'Name'), name),
            h('label.field', {}, h('span', {}, 'Expiry date'), expiry),
            h('div.presets', {}, presets),
            role,
            h('details', {}, h('summary', {}, 'Limits'), h('fieldset', {}, limits.fields)),
        ],
        read: () => ({
            ...limits.read(),
            name: name.value.trim(),
            expires_at: endOf(expiry.value).toISOString(),
            role: role.querySelector(':checked').value,
        }),
    };
}

function showToken(account, close) {
    const have = () => {
        forget(account);
        close(true);
    };
    const done = button('I have it', have, 'main');
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
