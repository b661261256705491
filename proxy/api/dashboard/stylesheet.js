// stylesheet.js - what one page alone looks like is loaded with it.

const loaded = new Map();

/** Resolves when its rules hold; once for each. */
export function addStyle(name) {
    if (!loaded.has(name))
        loaded.set(
            name,
            new Promise((onload, onerror) => {
                const href = new URL(name, import.meta.url);
                const link = document.createElement('link');
                Object.assign(link, { rel: 'stylesheet', href, onload, onerror });
                document.head.append(link);
            }),
        );
    return loaded.get(name);
}
