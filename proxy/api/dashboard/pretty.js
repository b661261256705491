// pretty.js - JSON with line breaks, in pieces as it comes. Each number and string stays as it was written, and what is no
// JSON loses nothing but spaces.

const INDENTED = 40; /* levels: what is deeper begins where these do */
const MOST = 32 * 1024 * 1024; /* characters: deep or short values may need many times the room that they came in */
const TOKEN = /\s+|[{}[\],:"]|[^\s{}[\],:"]+/y;
const STRING_END = /["\\]/g;

/** `feed(text)` answers the next piece; `isCut()`: it has become so long that the rest is as it was sent. */
export function jsonFormatter() {
    let depth = 0,
        before = '', // the last token
        hasGap = false, // behind it
        isInString = false,
        isEscaped = false, // the next character
        size = 0;

    function feed(text) {
        if (size > MOST) return text;
        let out = '',
            at = 0;
        while (at < text.length) {
            if (isInString) {
                const end = endOfString(text, at);
                out += text.slice(at, end);
                at = end;
                continue;
            }
            TOKEN.lastIndex = at;
            const [token] = TOKEN.exec(text);
            at += token.length;
            if (/\s/.test(token)) hasGap = true;
            else out += put(token);
        }
        size += out.length;
        return out;
    }

    /** Where it goes on behind the string, or the piece ends. */
    function endOfString(text, from) {
        let at = isEscaped ? from + 1 : from;
        isEscaped = false;
        for (;;) {
            STRING_END.lastIndex = at;
            const end = STRING_END.exec(text)?.index ?? -1;
            if (end < 0) return text.length;
            at = end + 1;
            if (text[end] === '"') {
                isInString = false;
                return at;
            }
            isEscaped = at === text.length;
            at++;
        }
    }

    function put(token) {
        const isOpening = before === '{' || before === '[',
            isClosing = token === '}' || token === ']';
        if (isClosing) depth = Math.max(0, depth - 1);
        const isOnNextLine = before === ',' || isOpening !== isClosing;
        const out = (isOnNextLine && before && token !== ',' && token !== ':' ? breakLine() : between(token)) + token;
        if (token === '{' || token === '[') depth++;
        isInString = token === '"';
        before = token;
        hasGap = false;
        return token === ':' ? ': ' : out;
    }

    function breakLine() {
        return `\n${'  '.repeat(Math.min(depth, INDENTED))}`;
    }

    /** Two values with nothing but space between them are no JSON, or several. */
    function between(token) {
        if (!hasGap || !before || ',:{['.includes(before) || ',:}]'.includes(token)) return '';
        return depth ? ' ' : '\n';
    }

    return { feed, isCut: () => size > MOST };
}
