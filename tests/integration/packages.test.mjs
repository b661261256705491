// What packages say of hookline (versions, the Debian package's unit and file of settings) holds of the program. tests/packages/ installs them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { run } from './lib/sidecar.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, 'deploy/deb');

/** The lines NAME=value of a file, those behind `mark` as well: `[name, value]` each. */
async function assignments(file, mark = '') {
    const lines = (await readFile(join(FOLDER, file), 'utf8')).split('\n');
    return lines.flatMap((line) => [...line.matchAll(new RegExp(`^(?:${mark})(\\w+)=(.*)$`, 'g'))].map(([, ...pair]) => pair));
}

/** What holds with these settings: their texts, by name. */
async function holding(settings) {
    const { code, stdout, stderr } = await run(['config', 'show'], { HOOKLINE_DATA_DIR: '/var/lib/hookline', ...settings });
    assert.deepEqual([code, stderr], [0, '']);
    return Object.fromEntries(stdout.split('\n').map((line) => line.replace(/ +# .*/, '').split(/=(.*)/s)));
}

/** A duration of hookline's or of systemd's, in seconds. */
function seconds(text) {
    const units = { h: 3600, m: 60, min: 60, s: 1 };
    return [...text.matchAll(/(\d+)(h|min|m|s)/g)].reduce((sum, [, n, unit]) => sum + n * units[unit], 0);
}

test('the file of settings says what holds without it, and proposes what is understood', async () => {
    const said = Object.fromEntries(await assignments('hookline.default'));
    const defaults = await holding({});
    for (const [name, value] of Object.entries(said)) assert.equal(value, defaults[name], name);
    const proposed = Object.fromEntries((await assignments('hookline.default', '#')).filter(([, value]) => value !== ''));
    assert.ok(Object.keys(proposed).length >= 3);
    const shown = await holding(proposed);
    for (const [name, value] of Object.entries(proposed)) assert.equal(shown[name], value, name);
});

test('the unit gives a stop as long as hookline may take for it', async () => {
    const unit = Object.fromEntries(await assignments('hookline.service'));
    const defaults = await holding({});
    const parts = ['HOOKLINE_SHUTDOWN_DELAY', 'HOOKLINE_DRAIN_TIMEOUT', 'HOOKLINE_APP_STOP_TIMEOUT'].map((name) => seconds(defaults[name]));
    assert.ok(parts.every((part) => part > 0), parts.join());
    assert.ok(seconds(unit.TimeoutStopSec) >= parts.reduce((a, b) => a + b) + 10);
    assert.deepEqual([unit.KillMode, unit.DynamicUser, unit.StateDirectory, unit.SuccessExitStatus], ['mixed', 'yes', 'hookline', '3']);
});

test('systemd counts at most 2.0 of 10 for what the unit leaves open', async (t) => {
    const ask = promisify(execFile)('systemd-analyze', ['security', '--offline=true', '--threshold=20', '--no-pager', join(FOLDER, 'hookline.service')]);
    const { stdout } = await ask.catch((error) => (error.code === 'ENOENT' ? {} : Promise.reject(error)));
    if (stdout === undefined) return t.skip('no systemd-analyze');
    assert.match(stdout, /Overall exposure level for hookline\.service: [01]\.\d OK/);
});

test('all that is handed out has the program’s version, and no other is released', async () => {
    const version = (await run(['--version'], {})).stdout.trim().replace('hookline ', '');
    assert.equal(JSON.parse(await readFile(join(ROOT, 'runtime/node/package.json'), 'utf8')).version, version);
    const [, image = version] = /image\.version="(.*?)"/.exec(await readFile(join(ROOT, 'Dockerfile'), 'utf8')) ?? [];
    assert.equal(image, version);
    const refused = await promisify(execFile)(join(ROOT, 'deploy/release.sh'), ['9.9.9']).catch((error) => error);
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(refused.stderr, new RegExp(`CMakeLists\\.txt says that this is version ${version}, not 9\\.9\\.9`));
});
