// The Debian package in a fresh Debian 12: what deb.sh tries, a test for each line that it says.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { test } from '../integration/lib/case.mjs';

const PROGRAM = fileURLToPath(new URL('deb.sh', import.meta.url));
const MINUTES = 60_000;
/** A package that is there; without one it is built. */
const PACKAGE = process.env.HOOKLINE_DEB;

const lacking = process.getuid() !== 0 ? 'root' : ['podman', 'debootstrap', 'lintian'].find((tool) => spawnSync(tool, ['--version']).error);

test('the Debian package is installed, serves, is upgraded, removed and purged', { skip: lacking && `needs ${lacking}`, limit: 30 * MINUTES }, async (t) => {
    const child = spawn(PROGRAM, PACKAGE ? [PACKAGE] : [], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill());
    const ended = new Promise((resolve) => child.once('close', resolve));
    let checks = 0;
    for await (const line of createInterface({ input: child.stdout })) {
        const [, verdict, name] = /^(ok|FAILED) +(.*)/.exec(line) ?? [];
        if (!verdict) t.diagnostic(line);
        else await t.test(name, () => assert.equal(verdict, 'ok', 'what it said follows'));
        checks += verdict ? 1 : 0;
    }
    assert.equal(await ended, 0);
    assert.ok(checks > 30, `${checks} checks`);
});
