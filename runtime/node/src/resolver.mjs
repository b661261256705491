// resolver.mjs - finds this package for files that have it not among their own: hooks of module.register().
let entry;

export function initialize({ url }) {
    entry = url;
}

export async function resolve(specifier, context, next) {
    return specifier === 'hookline-functions'
        ? { url: entry, format: 'module', shortCircuit: true }
        : next(specifier, context);
}
