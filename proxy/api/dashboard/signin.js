// signin.js - where one comes in: a service account's token.
import { claims, signIn } from './api.js';
import { command, fill, h, note } from './dom.js';

export function show(main, { error, onDone }) {
    const token = h('input', {
        id: 'token',
        type: 'password',
        autocomplete: 'off',
        spellcheck: 'false',
        required: true,
        'aria-describedby': 'token-help',
        oninput: () => (projectRow.hidden = !token.value || !!claims(token.value.trim()).project_id),
    });
    const project = h('input', { id: 'project', autocomplete: 'off', spellcheck: 'false' });
    const projectRow = h(
        'label.field',
        { hidden: true },
        h('span', {}, 'Project (the token names none)'),
        project,
    );
    const problem = h('div', {}, error ? explain(error) : null);
    const submit = h('button.button.main', { type: 'submit' }, 'Sign in');

    async function onSubmit(event) {
        event.preventDefault();
        const value = token.value.trim();
        submit.disabled = true;
        try {
            await signIn(value, claims(value).project_id ?? project.value.trim());
            onDone();
        } catch (failure) {
            fill(problem, explain(failure));
            submit.disabled = false;
            token.focus();
        }
    }

    fill(
        main,
        h(
            'div.door',
            {},
            h('h1', {}, 'Sign in'),
            problem,
            h(
                'form',
                { onsubmit: onSubmit },
                h('label.field', {}, h('span', {}, 'Service account token'), token),
                h(
                    'p.hint',
                    { id: 'token-help' },
                    'It stays in this tab and goes nowhere but to this hookline.',
                ),
                projectRow,
                submit,
            ),
            h('h2', {}, 'No token at hand?'),
            h('p', {}, 'On the machine where hookline runs, this prints a link that is good for one hour:'),
            command('hookline dashboard'),
            h('p.hint', {}, 'It takes --project NAME where HOOKLINE_PROJECT_ID is not set.'),
        ),
    );
    token.focus();
}

function explain(error) {
    const titles = {
        0: 'No answer',
        401: 'This token is not taken',
        403: 'This token does not reach the project',
    };
    return note('error', titles[error.status] ?? 'Signing in did not work', h('p', {}, error.message));
}
