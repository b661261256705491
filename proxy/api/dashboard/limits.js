// limits.js - the limits of a service account: in words, and as fields of a form. The server says what is none.
import { h } from './dom.js';

const PRIORITIES = ['low', 'normal', 'high'];

/** "100/m, 4 at once, high": what an account may not, or may more than others. */
export function limitWords(account) {
    const words = [
        account.rate,
        account.max_running && `${account.max_running} at once`,
        account.max_queued && `${account.max_queued} queued`,
        account.max_priority !== 'normal' && `priority ${account.max_priority}`,
    ];
    return words.filter(Boolean).join(', ') || 'none';
}

let made = 0;

function limitField(label, help, attributes) {
    const id = `limit-${++made}`;
    const about = { id, 'aria-describedby': `${id}-help` };
    const input = h('input', { ...about, autocomplete: 'off', placeholder: 'no limit', ...attributes });
    const hint = h('small.hint', { id: `${id}-help` }, help);
    return { input, field: h('div.field', {}, h('label', { for: id }, label), input, hint) };
}

/** Fields that begin with an account's limits, and `read()`: what they say, null for none. */
export function limitFields(account = {}) {
    const whole = { type: 'number', min: 1, step: 1 };
    const rate = limitField('Rate', 'calls in a second, minute, hour or day: 10/s, 100/m, 1000/h, 5000/d', {
        value: account.rate ?? '',
    });
    const running = limitField('At once', 'calls inside the app; queued runs wait, synchronous calls get 429', {
        ...whole,
        value: account.max_running ?? '',
    });
    const queued = limitField('Queued', 'asynchronous runs that wait; beyond it 429', {
        ...whole,
        value: account.max_queued ?? '',
    });
    const most = account.max_priority ?? 'normal';
    const options = PRIORITIES.map((value) => h('option', { value, selected: value === most }, value));
    const priority = h('select', {}, options);
    const number = ({ input }) => (input.value.trim() === '' ? null : Number(input.value));
    return {
        fields: [
            rate.field,
            running.field,
            queued.field,
            h('label.field', {}, h('span', {}, 'Highest priority'), priority),
        ],
        read: () => ({
            rate: rate.input.value.trim() || null,
            max_running: number(running),
            max_queued: number(queued),
            max_priority: priority.value,
        }),
    };
}
