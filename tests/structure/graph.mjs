// Who calls whom among the files of proxy/ and runtime/, read from the symbols of the object files: no circle among the
// files of a folder, and no folder calls one that stands after it in CMakeLists.txt.
//
//   node tests/structure/graph.mjs BUILD            checks; the exit status says whether it holds
//   node tests/structure/graph.mjs BUILD FOLDER…    draws these folders (store, runtime/core …) as well: each file and
//                                                   those that it calls
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const [build, ...drawn] = process.argv.slice(2);
if (!build) {
    console.error('usage: node tests/structure/graph.mjs BUILD [FOLDER…]');
    process.exit(2);
}

const text = readFileSync('CMakeLists.txt', 'utf8');
const folders = [
    ...text.match(/^hl_folder\(\w+/gm).map((line) => line.slice('hl_folder('.length)).map((name) => [name, `hl_${name}`, `proxy/${name}`]),
    ...['core', 'c'].map((name) => [`runtime/${name}`, `hl_runtime_${name}`, `runtime/${name}`]),
].map(([name, target, path]) => ({ name, path, objects: join(build, 'CMakeFiles', `${target}.dir`, path) }));
const files = folders.flatMap((folder) => readFolder(folder));
// The proxy and the function hosts are programs of their own: a name may stand in both.
const isHost = (file) => file.folder.path.startsWith('runtime/');
const ownersOf = (some) => new Map(some.flatMap((file) => file.defined.map((symbol) => [symbol, file])));
const ofProxy = ownersOf(files.filter((file) => !isHost(file))), ofHosts = ownersOf(files.filter(isHost));
for (const file of files)
    file.calls = new Set(file.wanted.map((symbol) => (isHost(file) && ofHosts.get(symbol)) || ofProxy.get(symbol))
        .filter((other) => other && other !== file));

function readFolder(folder) {
    // An object file stays when its source has gone.
    const isThere = (name) => name.endsWith('.c.o') && existsSync(join(folder.path, name.slice(0, -'.o'.length)));
    const names = readdirSync(folder.objects, { recursive: true }).filter(isThere).sort();
    const lines = execFileSync('nm', ['-P', '-A', ...names], { cwd: folder.objects, encoding: 'utf8', maxBuffer: 1 << 28 }).split('\n');
    const symbols = new Map(names.map((name) => [`${name}:`, []]));
    for (const [file, symbol, kind] of lines.map((line) => line.split(' ')))
        symbols.get(file)?.push([symbol, kind]);
    return names.map((name) => ({
        folder,
        name: name.slice(0, -'.o'.length),
        defined: symbols.get(`${name}:`).filter(([, kind]) => /^[A-TV-Z]$/.test(kind)).map(([symbol]) => symbol),
        wanted: symbols.get(`${name}:`).filter(([, kind]) => kind === 'U').map(([symbol]) => symbol),
    }));
}

// Tarjan's strongly connected components; those of more than one file are circles.
function findCircles(nodes) {
    const seen = new Map(), stack = [], circles = [];
    const visit = (node) => {
        const entry = { low: seen.size, at: seen.size, isOpen: true };
        seen.set(node, entry);
        stack.push(node);
        for (const next of node.calls) {
            if (!nodes.includes(next))
                continue;
            const other = seen.get(next) ?? visit(next);
            if (other.isOpen)
                entry.low = Math.min(entry.low, other.low);
        }
        if (entry.low === entry.at) {
            const circle = stack.splice(stack.indexOf(node));
            circle.forEach((member) => { seen.get(member).isOpen = false; });
            if (circle.length > 1)
                circles.push(circle);
        }
        return entry;
    };
    nodes.forEach((node) => seen.has(node) || visit(node));
    return circles;
}

let faults = 0;
const fault = (text) => { faults++; console.log(text); };
for (const folder of folders) {
    const own = files.filter((file) => file.folder === folder);
    if (drawn.includes(folder.name))
        for (const file of own)
            console.log(`${folder.name}/${file.name} ─▶ ${[...file.calls].filter((other) => other.folder === folder).map((other) => other.name).join(' ') || '–'}`);
    for (const circle of findCircles(own))
        fault(`circle in ${folder.name}/: ${circle.map((file) => file.name).join(' ')}`);
    for (const file of own)
        for (const other of file.calls)
            if (folders.indexOf(other.folder) > folders.indexOf(folder))
                fault(`${folder.name}/${file.name} calls ${other.folder.name}/${other.name}, which stands after it`);
}
console.log(`${files.length} files in ${folders.length} folders: ${faults || 'no'} faults`);
process.exit(faults ? 1 : 0);
