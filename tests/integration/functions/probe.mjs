// probe.mjs - probe.c in JavaScript: functions that show what a function sees, and that do what functions do wrong.
import { setTimeout as rest } from 'node:timers/promises';
import { context, reply } from 'hookline-functions';

const counted = { opened: 0, waiting: 0, cancelled: 0, gone: 0, poured: 0, setups: 0 };

export function setup() {
    console.log('setting up');
    counted.setups++;
    if (process.env.PROBE_SETUP) throw new Error(`returned ${process.env.PROBE_SETUP}`);
}

export function run(input) {
    const { runId, attempt, deadline, headers } = context();
    console.log(`seen: ${input.text ?? 'nothing'}`);
    return { run_id: runId, attempt, has_deadline: deadline !== undefined, field: headers['x-probe'] ?? null, input };
}

export const typed = run;

export async function* stream({ values, fails = false }) {
    yield* values;
    if (fails) throw new Error(`broke after ${values.length}`);
}

export async function* gated({ n }, { signal }) {
    let i = 0;
    try {
        for (; i < n; i++) {
            while (counted.opened <= i && !signal.aborted) await rest(1);
            yield i;
        }
    } finally {
        if (i < n) counted.gone++;
    }
}

export function open() {
    counted.opened++;
}

export async function hold(_, call) {
    const before = counted.opened;
    counted.waiting++;
    console.log('holding');
    while (counted.opened === before && !call.isCancelled) await rest(1);
    if (call.isCancelled) counted.cancelled++;
    return 'held';
}

export function* pour() {
    try {
        for (;;) {
            yield 'x'.repeat(64 * 1024);
            counted.poured++;
        }
    } finally {
        counted.gone++;
    }
}

export const counts = () => counted;

export const bytes = ({ status = 200, type = 'image/png' }) => reply(status, Buffer.from('\x89PNG\0\r\n', 'latin1'), type);

const typed_takes = { s: 'string', i: 'integer', r: 'number', b: 'boolean', a: 'array', o: 'object' };
export const schema = {
    typed: {
        type: 'object',
        properties: {
            ...Object.fromEntries(Object.entries(typed_takes).map(([name, type]) => [name, { type }])),
            any: true,
        },
        required: ['s'],
        additionalProperties: false,
    },
};
