// The rules and the board of deploy/monitoring ask for what /metrics says, and each rule has a test that fires it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from './lib/case.mjs';
import { expressions, read } from './lib/monitoring.mjs';
import { parseMetrics } from './lib/prometheus.mjs';
import { RUN, stage } from './lib/stage.mjs';

/** Of Prometheus itself: what it adds to each sample, and where a histogram's bucket ends. */
const ITS_OWN = new Set(['job', 'instance', 'le']);
const METRIC = /\b((?:hookline|process)_\w+)(?:\{([^}]*)\})?/g;
const FAMILY = /_(bucket|sum|count)$/;

/** What an expression asks for: `[{ name, labels }]`; labels that are grouped by are of each of its metrics. */
function asked(expression) {
    const grouped = [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, names]) => names.split(/, */));
    return [...expression.matchAll(METRIC)].map(([, name, matchers = '']) => ({
        name: name.replace(FAMILY, ''),
        labels: [...[...matchers.matchAll(/(\w+)\s*=?[~=]/g)].map(([, label]) => label), ...grouped].filter((label) => !ITS_OWN.has(label)),
    }));
}

const source = (path) => readFile(new URL(`../../proxy/${path}`, import.meta.url), 'utf8');

test('each metric and label that rules and board ask for is exported', async (t) => {
    const { call, sidecar } = await stage(t);
    await call(RUN);
    const families = new Map(parseMetrics((await sidecar.admin('/metrics')).text).map((family) => [family.name, family]));
    const ofReplicas = await source('api/metrics.c');
    const all = [...(await expressions('rules.yaml')), ...(await expressions('board.json'))];
    assert.ok(all.length > 60, `${all.length} expressions`);
    for (const expression of all) {
        for (const { name, labels } of asked(expression)) {
            const family = families.get(name);
            if (!family) assert.ok(ofReplicas.includes(`"${name}"`), `${name} is not exported: ${expression}`);
            const known = new Set(family?.samples.flatMap((sample) => Object.keys(sample.labels)));
            for (const label of family ? labels : [])
                assert.ok(known.has(label), `${name} has no label ${label}: ${expression}`);
            if (/use max\(\), never sum\(\)/.test(family?.help))
                assert.doesNotMatch(expression, new RegExp(`sum(?: by \\([^)]*\\))? \\((?:increase|rate)?\\(?${name}\\b`), expression);
        }
    }
});

test('each rule has a test in which it is quiet and one in which it fires', async () => {
    const rules = [...(await read('rules.yaml')).matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => name);
    const tests = await read('rules-test.yaml');
    assert.ok(rules.length >= 8, `${rules.length} rules`);
    assert.equal(new Set(rules).size, rules.length);
    for (const name of rules) {
        assert.match(tests, new RegExp(`\\{alertname: ${name}, .*exp_alerts: \\[\\]\\}`), `${name} is never quiet`);
        assert.match(tests, new RegExp(`alertname: ${name}\n.*\n +exp_alerts:\n +- exp_labels`), `${name} is never fired`);
    }
});
