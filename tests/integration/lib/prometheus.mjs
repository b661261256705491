// prometheus.mjs - reads the Prometheus text format (version 0.0.4) and holds it to its grammar.
import assert from 'node:assert/strict';

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([^ ]+)(?: -?[0-9]+)?$/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/;

/** `[{ name, type, help, samples: [{ name, labels, value }] }]`; anything malformed throws. */
export function parseMetrics(text) {
    assert.ok(text.endsWith('\n'), 'the last line ends with a line feed');
    const families = new Map();
    const seen = new Set();
    for (const line of text.slice(0, -1).split('\n')) {
        const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
        if (comment) {
            const [, kind, name, rest] = comment;
            assert.match(name, NAME);
            const family = families.get(name) ?? { name, samples: [] };
            assert.equal(
                family[kind.toLowerCase()],
                undefined,
                `${kind} ${name} stands there twice`,
            );
            assert.equal(family.samples.length, 0, `${kind} ${name} comes after its samples`);
            if (kind === 'TYPE') assert.match(rest, /^(counter|gauge|histogram|summary|untyped)$/);
            family[kind.toLowerCase()] = rest;
            families.set(name, family);
            continue;
        }
        const sample = SAMPLE.exec(line);
        assert.ok(sample, `not a sample: ${line}`);
        const [, name, labelText = '', valueText] = sample;
        const key = `${name}{${labelText}}`;
        assert.ok(!seen.has(key), `${key} stands there twice`);
        seen.add(key);
        const family = familyOf(families, name);
        assert.ok(family?.type, `${name} has no TYPE`);
        family.samples.push({ name, labels: parseLabels(labelText), value: parseValue(valueText) });
    }
    return [...families.values()];
}

function familyOf(families, name) {
    const base = name.replace(/_(bucket|sum|count)$/, '');
    const histogram = families.get(base);
    return families.get(name) ?? (histogram?.type === 'histogram' ? histogram : undefined);
}

function parseLabels(text) {
    const labels = {};
    for (let rest = text; rest; ) {
        const label = LABEL.exec(rest);
        assert.ok(label, `not a label: ${rest}`);
        labels[label[1]] = label[2].replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
        rest = rest.slice(label[0].length);
    }
    return labels;
}

function parseValue(text) {
    if (/^[+-]?Inf$/.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
    const value = Number(text);
    assert.ok(!Number.isNaN(value) || text === 'NaN', `not a value: ${text}`);
    return value;
}
