// playground.js - a run sent from here: what is to be called, with what, how; and what comes of it.
// Not here: what comes (outcome.js), which functions there are (runtime/, /v2/functions).
import * as api from './api.js';
import { addStyle, announce, copy, fill, h, note, select } from './dom.js';
import { visible } from './format.js';
import { Outcome } from './outcome.js';
import { findTagFault } from './tags.js';

await addStyle('playground.css');

const OTHER = ' '; // no function has that name
const METHODS = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'];
const MODES = [
    ['sync', 'Wait', 'for the answer, on this connection'],
    ['async', 'Queue', 'it: accepted at once, and its result is kept'],
    ['stream', 'Stream', 'its events, as the app sends them'],
];
const PRIORITIES = ['high', 'normal', 'low'];

/** What was typed last: it is there again when one comes back from the run. */
const typed = { project: null };

export function show(main) {
    if (typed.project !== api.session.project) reset();
    const play = new Playground();
    fill(main, h('p.crumb', {}, h('a', { href: '#/runs' }, 'All runs')), h('h1', {}, 'New run'), play.element);
    play.begin();
    return () => play.end();
}

/** A call to begin with the next time that the page is shown: `{ app, path, method, mode, body }`. */
export function prefill(call) {
    reset();
    Object.assign(typed, { isFilled: false, name: OTHER }, call);
}

function reset() {
    const app = api.session.app_name ?? api.session.apps[0] ?? 'my-app';
    Object.assign(typed, { project: api.session.project, app, name: OTHER, path: 'run', method: 'POST' });
    Object.assign(typed, { body: '{}', isFilled: true, mode: 'sync', webhook: '' });
    Object.assign(typed, { priority: '', timeout: '', startTimeout: '', tags: '', isOpen: false });
}

class Playground {
    #gone = new AbortController();
    #isSending = false;
    #functions = null; // as the app says; null: it does not
    #target = h('div.pair');
    #takes = h('dl.takes', { hidden: true });
    #problem = h('div');
    #outcome = new Outcome();
    #body = h('textarea', {
        id: 'body',
        spellcheck: 'false',
        'aria-describedby': 'takes',
        oninput: () => {
            typed.body = this.#body.value;
            typed.isFilled = false;
        },
    });
    #bodyRow = h('div.field', {}, h('label', { for: 'body' }, 'JSON body'), this.#body);
    #send = h('button.button.main', { type: 'submit' }, 'Send');
    element = h('div.play', {}, this.#form(), this.#outcome.element);

    begin() {
        this.#body.value = typed.body;
        this.#showTarget();
        this.#ask();
    }

    end() {
        this.#gone.abort();
        this.#outcome.end();
    }

    /** An app that is no function host, or not there yet, is called by a path. */
    async #ask() {
        const answer = await api.get('/v2/functions', { signal: this.#gone.signal }).catch(() => null);
        if (!Array.isArray(answer?.functions) || !answer.functions.length) return;
        this.#functions = answer.functions.filter(({ name }) => typeof name === 'string');
        // Whoever types another path meanwhile goes on.
        if (this.#target.contains(document.activeElement)) {
            this.#target.querySelector('datalist').after(this.#functionField());
            return this.#showTakes();
        }
        const isThere = this.#functions.some(({ name }) => name === typed.path);
        if (typed.isFilled) this.#choose(isThere ? typed.path : this.#functions[0].name);
        else this.#showTarget();
    }

    /* ---- what is called ---- */

    #form() {
        const onsubmit = (event) => {
            event.preventDefault();
            this.#submit();
        };
        const onkeydown = (event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.#submit();
        };
        const text = (name, label, attributes) => {
            const input = h('input', {
                value: typed[name],
                autocomplete: 'off',
                spellcheck: 'false',
                oninput: () => (typed[name] = input.value),
                ...attributes,
            });
            return h('label.field', {}, h('span', {}, label), input);
        };
        const details = h(
            'details',
            { open: typed.isOpen, ontoggle: ({ target }) => (typed.isOpen = target.open) },
            h('summary', {}, 'Webhook, tags, priority, deadline'),
            h(
                'div',
                {},
                text('webhook', 'Webhook (the result is sent there)', { type: 'url', placeholder: 'https://…' }),
                text('tags', 'Tags (runs are found by them)', { id: 'tags', placeholder: 'tier=gold, order=17' }),
                h(
                    'div.pair',
                    {},
                    select(
                        'Priority',
                        [['', 'as usual'], ...PRIORITIES.map((word) => [word, word])],
                        typed.priority,
                        (value) => (typed.priority = value),
                    ),
                    text('timeout', 'At most in the app', { placeholder: '90s' }),
                    text('startTimeout', 'At most in the queue', { placeholder: '5m' }),
                ),
            ),
        );
        const actions = h('div.actions', {}, this.#send, copy(() => this.#curl(), 'Copy as curl'), h('span.hint.wide', {}, 'Ctrl+Enter sends'));
        const modes = h('fieldset.modes', {}, h('legend', {}, 'Mode'), MODES.map(showMode));
        this.#takes.id = 'takes';
        const parts = [this.#target, this.#bodyRow, this.#takes, modes, details, this.#problem, actions];
        return h('form.play-form', { onsubmit, onkeydown, 'aria-label': 'The call' }, parts);
    }

    #showTarget() {
        const field = (name, label, attributes = {}) => {
            const input = h('input', {
                value: typed[name],
                required: true,
                autocomplete: 'off',
                spellcheck: 'false',
                oninput: () => (typed[name] = input.value.trim()),
                ...attributes,
            });
            return h('label.field', {}, h('span', {}, label), input);
        };
        const isPath = typed.name === OTHER;
        fill(
            this.#target,
            field('app', 'App', { readonly: api.session.app_name !== null, list: 'apps' }),
            h('datalist', { id: 'apps' }, api.session.apps.map((name) => h('option', { value: name }))),
            this.#functions ? this.#functionField() : null,
            isPath ? field('path', 'Path') : null,
            isPath
                ? select('Method', METHODS.map((word) => [word, word]), typed.method, (word) => {
                      typed.method = word;
                      this.#bodyRow.hidden = word === 'GET';
                  })
                : null,
        );
        this.#bodyRow.hidden = isPath && typed.method === 'GET';
        this.#showTakes();
    }

    #functionField() {
        const names = this.#functions.map(({ name }) => [name, visible(name)]);
        return select('Function', [...names, [OTHER, 'Another path…']], typed.name, (name) => this.#choose(name));
    }

    #choose(name) {
        typed.name = name;
        const chosen = this.#chosen();
        if (chosen) Object.assign(typed, { path: name, method: 'POST' });
        if (chosen && typed.isFilled) {
            typed.body = this.#body.value = JSON.stringify(example(chosen.input), null, 2);
            typed.isFilled = true;
        }
        this.#showTarget();
        if (document.activeElement === document.body) document.getElementById('select-function')?.focus();
    }

    #chosen() {
        return this.#functions?.find(({ name }) => name === typed.name);
    }

    #showTakes() {
        const input = this.#chosen()?.input;
        const rows = Object.entries(input?.properties ?? {}).map(([name, schema]) => {
            const isRequired = input.required?.includes(name);
            const fallback = 'default' in schema ? `, else ${JSON.stringify(schema.default)}` : '';
            const what = `${kindOf(schema, input)}${isRequired ? ', required' : fallback}`;
            return h('div', {}, h('dt', {}, h('code', {}, visible(name))), h('dd', {}, visible(what)));
        });
        this.#takes.hidden = !rows.length;
        const about = input?.description && [
            h('dt.hidden', {}, 'About'),
            h('dd', {}, visible(input.description)),
        ];
        fill(this.#takes, about ? h('div', {}, about) : null, rows);
    }

    /* ---- the call ---- */

    /** The call, or null: what is wrong is said. */
    #read() {
        const path = typed.path.replace(/^\/+/, '');
        const isJson = typed.method !== 'GET';
        const text = this.#body.value.trim();
        if (isJson && text) {
            try {
                JSON.parse(text);
            } catch (error) {
                fill(this.#problem, note('error', 'The body is not JSON', h('p', {}, error.message)));
                this.#body.focus();
                return null;
            }
        }
        const fault = findTagFault(typed.tags);
        if (fault) {
            fill(this.#problem, note('error', 'The tags cannot be sent', h('p', {}, fault)));
            const field = document.getElementById('tags');
            field.closest('details').open = true;
            field.focus();
            return null;
        }
        fill(this.#problem);
        const fields = {
            'Content-Type': isJson && text && 'application/json',
            Accept: typed.mode === 'stream' ? 'text/event-stream' : '*/*',
            'X-Run-Priority': typed.priority,
            'X-Run-Timeout': typed.timeout.trim(),
            'X-Run-Start-Timeout': typed.startTimeout.trim(),
            'X-Run-Tag': typed.tags.trim(),
        };
        const headers = Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
        const query = {};
        if (typed.mode === 'async') query.async = 'true';
        if (typed.webhook.trim()) query.webhookEndpoint = typed.webhook.trim();
        const segments = [api.session.project, typed.app].map(encodeURIComponent).join('/');
        const target = { method: typed.method, path: `/v4/${segments}/${path}`, query };
        return { ...target, headers, text: isJson ? text : undefined };
    }

    /** One at a time; the button stays one that has the focus. */
    async #submit() {
        const call = this.#isSending ? null : this.#read();
        if (!call) return;
        this.#isSending = true;
        this.#send.setAttribute('aria-disabled', 'true');
        announce('Sent');
        await this.#outcome.send(call, typed.mode);
        this.#isSending = false;
        this.#send.removeAttribute('aria-disabled');
    }

    #curl() {
        const call = this.#read();
        return call && curl(call);
    }
}

function showMode([value, name, about]) {
    const onchange = () => (typed.mode = value);
    const radio = h('input', { type: 'radio', name: 'mode', value, checked: typed.mode === value, onchange });
    return h('label.choice', {}, radio, h('span', {}, h('strong', {}, name), ` ${about}`));
}

const DEEPEST = 6; // of an example; a model may lead to itself

/** What a schema's "#/$defs/…" stands for. */
function follow(schema, root) {
    const name = /^#\/\$defs\/([^/]+)$/.exec(schema?.$ref ?? '')?.[1];
    return (name ? root.$defs?.[decodeURIComponent(name)] : schema) ?? {};
}

/** A body to begin with: the parameters, and of a model inside what it requires. */
function example(input, root = input, depth = 0) {
    const all = Object.entries(input?.properties ?? {});
    const entries = depth ? all.filter(([name]) => input.required?.includes(name)) : all;
    const value = (schema) => ('default' in schema ? schema.default : valueOf(schema, root, depth));
    return Object.fromEntries(entries.map(([name, schema]) => [name, value(schema)]));
}

function valueOf(schema, root, depth) {
    const first = follow(schema.anyOf?.[0] ?? schema, root);
    const type = Array.isArray(first.type) ? first.type[0] : first.type;
    if (first.enum) return first.enum[0];
    if (type === 'object' && depth < DEEPEST) return example(first, root, depth + 1);
    return { string: '', integer: 0, number: 0, boolean: false, array: [], object: {} }[type] ?? null;
}

/** A model by its name and members; those of one inside are in the example. */
function kindOf(schema, root) {
    if (schema.$ref) {
        const members = Object.keys(follow(schema, root).properties ?? {});
        return `${schema.$ref.split('/').pop()}${members.length ? ` {${members.join(', ')}}` : ''}`;
    }
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
    if (schema.anyOf) return schema.anyOf.map((option) => kindOf(option, root)).join(' | ');
    if (schema.type === 'array' && schema.items?.$ref) return `array of ${kindOf(schema.items, root)}`;
    return [schema.type ?? 'any'].flat().join(' | ');
}

const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function curl({ method, path, query, headers, text }) {
    const search = new URLSearchParams(query).toString();
    const url = `${api.runListener()}${path}${search && `?${search}`}`;
    const parts = [`curl -N -X ${method} ${quote(url)}`];
    if (api.session.token) parts.push('-H "Authorization: Bearer $TOKEN"');
    for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quote(`${name}: ${value}`)}`);
    if (text) parts.push(`--data-binary ${quote(text)}`);
    return parts.join(' \\\n  ');
}
