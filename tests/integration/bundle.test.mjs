// A bundle's launcher: it starts the folder's loader wherever the folder is, and says in one line why it cannot.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, copyFile, cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FILE, test } from './lib/case.mjs';
import { inRepository } from './lib/function.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';

const LOADER = process.arch === 'arm64' ? 'ld-linux-aarch64.so.1' : 'ld-linux-x86-64.so.2';
/** In the place of a loader: what it was started with. */
const TELLER = '#!/bin/sh\nfor word; do echo "argument $word"; done\nexec env\n';

let compiled;

async function compile() {
    const launcher = join(await temporaryDirectory(FILE), 'hookline');
    const source = inRepository('deploy/bundle/launcher.c');
    await promisify(execFile)('cc', ['-D_GNU_SOURCE', `-I${inRepository('proxy')}`, '-static', source, '-o', launcher]);
    return launcher;
}

/** A folder like a bundle, in which the loader tells what it was given: its path, no link in it. */
async function makeBundle(t, name = 'hookline-1 of mine') {
    const folder = join(await temporaryDirectory(t), name);
    await mkdir(join(folder, 'lib'), { recursive: true });
    await copyFile(await (compiled ??= compile()), join(folder, 'hookline'));
    for (const file of [LOADER, 'hookline']) {
        await writeFile(join(folder, 'lib', file), TELLER);
        await chmod(join(folder, 'lib', file), 0o755);
    }
    return folder;
}

/** Runs a program to its end: `{ code, stderr, given, environment }`, the latter as the loader told them. */
async function launch([program, ...args], options = {}) {
    const { PATH } = process.env;
    const run = promisify(execFile)(program, args, { ...options, env: { PATH, ...options.env } });
    const { code = 0, stdout, stderr } = await run.catch((error) => error);
    const lines = stdout.split('\n').filter(Boolean);
    const words = (isArgument) => lines.filter((line) => line.startsWith('argument ') === isArgument);
    return { code, stderr, given: words(true).map((line) => line.slice('argument '.length)), environment: words(false) };
}

const expected = (folder, argv0, ...args) => [
    '--library-path', join(folder, 'lib'), '--argv0', argv0, join(folder, 'lib/hookline'), ...args,
];

test('the program is started by the folder’s loader, with the folder’s libraries and its arguments', async (t) => {
    const folder = await makeBundle(t);
    const program = join(folder, 'hookline');
    const { code, given } = await launch([program, 'config', 'check', '--', 'a b', '']);
    assert.deepEqual([code, given], [0, expected(folder, program, 'config', 'check', '--', 'a b', '')]);
});

test('the folder is found through links, along PATH and from another working directory', async (t) => {
    const folder = await makeBundle(t);
    const elsewhere = await temporaryDirectory(t);
    await symlink(join(folder, 'hookline'), join(elsewhere, 'first'));
    await symlink('first', join(elsewhere, 'hookline'));
    await symlink(folder, join(elsewhere, 'whole'));
    for (const [program, options] of [
        [join(elsewhere, 'hookline'), {}],
        ['./hookline', { cwd: elsewhere }],
        ['hookline', { env: { PATH: `${elsewhere}:/usr/bin:/bin` } }],
        ['whole/hookline', { cwd: elsewhere }],
    ]) {
        const { given, environment } = await launch([program], options);
        assert.deepEqual(given, expected(folder, program), program);
        assert.ok(environment.includes(`HOOKLINE_BUNDLE_PROGRAM=${folder}/hookline`), program);
    }
});

test('the folder is found without /proc', async (t) => {
    if (process.getuid() !== 0) return t.skip('only root can take /proc away');
    const folder = await makeBundle(t);
    const elsewhere = await temporaryDirectory(t);
    await symlink(join(folder, 'hookline'), join(elsewhere, 'hookline'));
    for (const program of [join(elsewhere, 'hookline'), './hookline']) {
        // In a chroot the root is no mount, whose propagation could be changed.
        const own = ['unshare', '--mount', '--propagation', 'unchanged', '--', 'sh', '-ec', 'mount --make-rprivate /proc; umount -l /proc; exec "$@"'];
        const without = [...own, 'sh', program, 'serve'];
        const { given, stderr } = await launch(without, { cwd: elsewhere });
        assert.deepEqual(given, expected(folder, program, 'serve'), stderr);
    }
});

test('what the environment says to the system’s loader does not reach ours, and is kept for the app', async (t) => {
    const folder = await makeBundle(t);
    const env = {
        LD_PRELOAD: '/nowhere/a.so', LD_LIBRARY_PATH: '/nowhere', LD_DEBUG: 'all', LDFLAGS: '-g', HOOKLINE_LISTEN: ':1',
        HOOKLINE_BUNDLE_PROGRAM: '/somebody/else', HOOKLINE_BUNDLE_HIDDEN_LD_AUDIT: '/nowhere/b.so',
    };
    const { environment, stderr } = await launch([join(folder, 'hookline')], { env });
    const told = environment.filter((entry) => !/^(PATH|PWD|OLDPWD|SHLVL|_)=/.test(entry)).sort();
    assert.deepEqual(told, [
        'HOOKLINE_BUNDLE_HIDDEN_LD_DEBUG=all',
        'HOOKLINE_BUNDLE_HIDDEN_LD_LIBRARY_PATH=/nowhere',
        'HOOKLINE_BUNDLE_HIDDEN_LD_PRELOAD=/nowhere/a.so',
        `HOOKLINE_BUNDLE_PROGRAM=${folder}/hookline`,
        'HOOKLINE_LISTEN=:1',
        'LDFLAGS=-g',
    ]);
    assert.equal(stderr, '');
});

test('a program that was copied without its folder, and a folder that is not whole, say so in one line', async (t) => {
    const folder = await makeBundle(t);
    const copied = join(await temporaryDirectory(t), 'hookline');
    await copyFile(join(folder, 'hookline'), copied);
    const why = (path) =>
        `hookline: ${path}: it is missing, or cannot be executed: this program is one file of a bundle; ` +
        'copy the whole folder, and make a symbolic link to the program in it\n';
    const alone = await launch([copied]);
    assert.deepEqual([alone.code, alone.stderr], [127, why(join(copied, '..', 'lib', LOADER))]);

    const whole = `${folder}-2`;
    await cp(folder, whole, { recursive: true });
    await rm(join(whole, 'lib/hookline'));
    const lacking = await launch([join(whole, 'hookline')]);
    assert.deepEqual([lacking.code, lacking.stderr], [127, why(join(whole, 'lib/hookline'))]);
});

test('a kernel before Linux 5.10 is told of in one line', async (t) => {
    const program = join(await makeBundle(t), 'hookline');
    const { code, stderr } = await launch(['setarch', '--uname-2.6', program]);
    assert.equal(code, 127);
    assert.match(stderr, /^hookline: Linux 5\.10 or newer is needed, and this is 2\.6\.[^\n]*\n$/);
});
