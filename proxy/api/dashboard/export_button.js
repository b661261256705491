// export_button.js - the button that saves a list; what it does is loaded when it is pressed.
import { button, load } from './dom.js';

/**
 * `list`: what is saved.
 * - `name`: 'runs', the word for it and the file's name,
 * - `path`: of the list below the project, `rows`: the member of its answers that has them,
 * - `query()`: the filters of the moment, as the server takes them,
 * - `about`: in words, which of them; may be left out.
 */
export function exportButton(list) {
    return button('Export…', async () => {
        (await load(() => import('./export.js')))?.exportList(list);
    });
}
