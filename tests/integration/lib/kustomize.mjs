// kustomize.mjs - renders a kustomization as `kubectl kustomize` does, as far as those of deploy/ go: resources, components,
// patches (strategic merges and JSON patches, by kind and label), images. What it does not know is an error.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

const KNOWN = new Set(['apiVersion', 'kind', 'resources', 'components', 'patches', 'images']);

/** What an entry of a list is known by; lists that are not here are replaced whole. */
const MERGE_KEYS = {
    containers: 'name', initContainers: 'name', env: 'name', volumes: 'name', ports: 'containerPort', volumeMounts: 'mountPath',
};

/** The objects that the kustomization in `directory` makes. */
export async function render(directory) {
    const objects = [];
    await apply(directory, objects);
    return objects;
}

/** The YAML documents of a file. */
export const readObjects = async (path) => parseAllDocuments(await readFile(path, 'utf8')).map((one) => one.toJS());

/** What the kustomization, or component, in `directory` adds to `objects` and changes of them. */
export async function apply(directory, objects) {
    const own = parse(await readFile(join(directory, 'kustomization.yaml'), 'utf8'));
    for (const name of Object.keys(own)) if (!KNOWN.has(name)) throw new Error(`${directory}: ${name} is not known here`);
    for (const name of own.resources ?? []) objects.push(...(await readObjects(join(directory, name))));
    for (const name of own.components ?? []) await apply(join(directory, name), objects);
    for (const { path, target } of own.patches ?? []) {
        const patch = parse(await readFile(join(directory, path), 'utf8'));
        for (const object of objects.filter((one) => isMeant(one, target))) change(object, patch);
    }
    for (const image of own.images ?? []) for (const object of objects) rename(object, image);
}

function isMeant({ kind, metadata }, { kind: kinds, labelSelector }) {
    const [label, value] = labelSelector.split('=');
    return new RegExp(`^(?:${kinds})$`).test(kind) && metadata.labels?.[label] === value;
}

function change(object, patch) {
    if (Array.isArray(patch)) {
        patch.forEach((one) => operate(object, one));
        return;
    }
    const { apiVersion, kind, metadata, ...rest } = patch; // of any object
    void [apiVersion, kind, metadata];
    merge(object, rest);
}

/** RFC 6902. */
function operate(object, { op, path, from, value }) {
    if (op === 'move') add(object, path, take(object, from));
    else if (op === 'add') add(object, path, structuredClone(value));
    else throw new Error(`${op} is not known here`);
}

function at(object, path) {
    const words = path.split('/').slice(1);
    const last = words.pop();
    return [words.reduce((one, word) => one[word], object), last];
}

function add(object, path, value) {
    const [parent, last] = at(object, path);
    if (last === '-') parent.push(value);
    else if (Array.isArray(parent)) parent.splice(Number(last), 0, value);
    else parent[last] = value;
}

function take(object, path) {
    const [parent, last] = at(object, path);
    return parent.splice(Number(last), 1)[0]; // of a list
}

function merge(into, from) {
    for (const [name, value] of Object.entries(from)) {
        const old = into[name];
        if (Array.isArray(value) && Array.isArray(old) && MERGE_KEYS[name]) mergeList(old, value, MERGE_KEYS[name]);
        else if (isMap(value) && isMap(old)) merge(old, value);
        else into[name] = structuredClone(value);
    }
}

/** New entries come first, as kustomize has them. */
function mergeList(old, entries, key) {
    const added = [];
    for (const entry of entries) {
        const same = old.find((one) => one[key] === entry[key]);
        if (same) merge(same, entry);
        else added.push(structuredClone(entry));
    }
    old.unshift(...added);
}

const isMap = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

function rename(object, { name, newName, newTag }) {
    const pod = object.spec?.template?.spec;
    for (const container of [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])])
        if (container.image === name) container.image = `${newName}:${newTag}`;
}
