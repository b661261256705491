// csv.js - rows as CSV (RFC 4180). Pure.

/** What a program that opens the file would take for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** Columns of rows like `row`: an object's members are columns of their own. */
export function columnsOf(row) {
    return Object.entries(row).flatMap(([name, value]) =>
        isObject(value) ? Object.keys(value).map((inner) => [name, inner]) : [[name]],
    );
}

export function csvHead(columns) {
    return csvLine(columns.map((path) => path.join('.')));
}

export function csvRow(columns, row) {
    return csvLine(columns.map((path) => path.reduce((value, name) => value?.[name], row)));
}

function csvLine(values) {
    return `${values.map(cell).join(',')}\r\n`;
}

function cell(value) {
    if (value === null || value === undefined) return '';
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    const safe = typeof value !== 'number' && FORMULA.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function isObject(value) {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
}
