// roots.mjs - root file systems of other kinds of system, and programs of the bundle in them.
import { execFile, spawnSync } from 'node:child_process';
import { access, chmod, chown, copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FILE } from '../integration/lib/case.mjs';
import { atEnd } from '../integration/lib/cleanup.mjs';
import { temporaryDirectory } from '../integration/lib/sidecar.mjs';

/** What is tried: a tar.gz, as the target `bundle` makes it. */
export const ARCHIVE = process.env.HOOKLINE_BUNDLE;
/** A Debian system as a tar file (deploy/check-image.sh makes one and takes it from there, too). */
const DEBIAN = process.env.BASE;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const execute = promisify(execFile);

export const NOBODY = 65534;
/** The user that a root with a passwd of its own has beside root. */
export const SOMEBODY = { name: 'somebody', uid: 4711 };

/** Why none of it can be tried here; false: it can. */
export const lacking =
    (process.getuid() !== 0 && 'only root can enter another root file system') ||
    (!ARCHIVE && 'HOOKLINE_BUNDLE names no bundle: tests/run.sh packages makes one') ||
    (process.arch !== 'x64' && process.arch !== 'arm64' && `there are no bundles for ${process.arch}`);

/**
 * `place`: where the bundle lies. `authorities`: where that system keeps its list; none: it has none. `app`: how an app for
 * it is built. `make`: what is in it.
 */
const KINDS = {
    debian: {
        place: '/opt/hookline',
        authorities: '/etc/ssl/certs/ca-certificates.crt',
        app: ['cc'],
        lacking: !DEBIAN && 'BASE names no tar file of a Debian system',
        async make(root) {
            await execute('tar', ['-C', root, '-xf', DEBIAN, '--exclude=./dev/*', '--exclude=./usr/share/doc']);
        },
    },
    alpine: {
        place: '/usr/local/share/hook line',
        authorities: '/etc/ssl/cert.pem',
        app: ['musl-gcc'],
        lacking: !await isThere('/usr/bin/musl-gcc') && 'there is no musl-gcc: install musl-tools',
        async make(root) {
            await mkdir(join(root, 'lib'), { recursive: true });
            await copyFile('/usr/lib/x86_64-linux-musl/libc.so', join(root, 'lib/ld-musl-x86_64.so.1'));
            await symlink('ld-musl-x86_64.so.1', join(root, 'lib/libc.musl-x86_64.so.1'));
            await giveShell(root);
            // Whoever looks for a library here would find one that is none of ours.
            for (const name of ['libuv.so.1', 'libcurl.so.4', 'libc.so.6', 'libz.so.1'])
                await copyFile('/usr/lib/x86_64-linux-musl/libc.so', join(root, 'lib', name));
        },
    },
    distroless: {
        place: '/srv/vendor/hookline',
        authorities: '/etc/ssl/certs/ca-certificates.crt',
        app: ['cc', '-static'],
        async make(root) {
            await mkdir(join(root, 'etc/ssl/certs'), { recursive: true });
            await mkdir(join(root, 'usr/share/zoneinfo'), { recursive: true });
        },
    },
    empty: { place: '/b', authorities: null, app: ['cc', '-static'], async make() {} },
};

export const kinds = Object.keys(KINDS);

async function isThere(path) {
    return access(path).then(() => true, () => false);
}

async function giveShell(root) {
    await mkdir(join(root, 'bin'), { recursive: true });
    await copyFile('/bin/busybox', join(root, 'bin/busybox'));
    await chmod(join(root, 'bin/busybox'), 0o755);
    for (const applet of ['sh', 'env', 'sleep', 'ls']) await symlink('busybox', join(root, 'bin', applet));
}

let unpacked;

/** The bundle's folder; one for all roots, which see it by mounts. */
export async function bundle() {
    return (unpacked ??= unpack());
}

async function unpack() {
    atEnd(FILE, () => (unpacked = undefined));
    const folder = join(await temporaryDirectory(FILE), 'bundle');
    await mkdir(folder);
    await execute('tar', ['-C', folder, '--strip-components=1', '-xzf', ARCHIVE]);
    return folder;
}

export class Root {
    #mounts;

    /**
     * One that is gone with the file's tests, or why it cannot be: `{ lacking }`. What an engine gives a container is in it
     * as well: hosts, resolv.conf, /proc, /dev and a place for data.
     */
    static async make(kind) {
        const { place, authorities, app, make, lacking } = KINDS[kind];
        if (lacking) return { lacking };
        const root = new Root();
        root.path = await temporaryDirectory(FILE);
        await make(root.path);
        await chmod(root.path, 0o755);
        Object.assign(root, { kind, place, authorities });
        for (const folder of [place, '/etc', '/proc', '/dev', '/data', '/usr/local/bin'])
            await mkdir(join(root.path, folder), { recursive: true });
        for (const uid of [0, NOBODY]) await root.makeData(`/data/${uid}`, uid);
        await root.write('/etc/hosts', '127.0.0.1 localhost\n');
        await root.write('/etc/resolv.conf', 'nameserver 127.0.0.1\n');
        const { name, uid } = SOMEBODY;
        if (kind === 'alpine' || kind === 'distroless')
            await root.write('/etc/passwd', `root:x:0:0::/root:/bin/sh\n${name}:x:${uid}:${uid}::/nonexistent:/sbin/nologin\n`);
        await execute(app[0], [...app.slice(1), '-D_GNU_SOURCE', '-O1', here('app.c'), '-o', join(root.path, 'app')]);
        await symlink(join('../../..', place, 'hookline'), join(root.path, 'usr/local/bin/hookline'));
        root.#mounts = `mount --bind "$BUNDLE" "$ROOT${place}"\nmount -o remount,bind,ro "$ROOT${place}"\n`;
        return root;
    }

    async write(path, text) {
        await mkdir(join(this.path, path, '..'), { recursive: true });
        await writeFile(join(this.path, path), text);
    }

    async makeData(path, uid) {
        await mkdir(join(this.path, path), { recursive: true, mode: 0o700 });
        await chown(join(this.path, path), uid, uid);
    }

    /**
     * What becomes that program of the bundle in the root: a command. `path`: by which it is called; `user`: as whom;
     * `isBare`: without /proc and /dev; `over`: files of the machine that lie over the root's, `{ path: file }`.
     */
    async command({ path = `${this.place}/hookline`, user = NOBODY, isBare = false, over = {}, folder } = {}) {
        const files = Object.entries(over).map(([to, from]) => `mount --bind ${quote(from)} ${quote(this.path + to)}\n`);
        const proc = isBare ? '' : 'mount -t proc proc "$ROOT/proc"\nmount --rbind /dev "$ROOT/dev"\n';
        const script = `BUNDLE=${quote(folder ?? (await bundle()))} ROOT=${quote(this.path)}\n${this.#mounts}${proc}${files.join('')}exec "$@"`;
        const enter = ['python3', here('enter.py'), this.path, String(user), path];
        return [...OWN_MOUNTS, 'sh', '-ec', script, 'sh', ...enter];
    }

    /** Runs it to its end: `{ code, stdout, stderr }`. */
    async run(args, options = {}) {
        const [program, ...before] = await this.command(options);
        const { PATH } = process.env;
        const { code = 0, stdout, stderr } = await execute(program, [...before, ...args], { env: { PATH, ...options.env } }).catch((error) => error);
        return { code, stdout, stderr };
    }
}

/** In a chroot the root is no mount, whose propagation could be changed. */
const OWN_MOUNTS = spawnSync('unshare', ['--mount', 'true']).status === 0 ? ['unshare', '--mount', '--'] : ['unshare', '--mount', '--propagation', 'unchanged', '--'];

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
