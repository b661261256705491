// signin.js - where one comes in: a service account's token, or, where none is asked for, a project.
import { claims, signIn } from './api.js';
import { button, command, fill, h, note } from './dom.js';
import { visible } from './format.js';

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

/** Runs of each project are apart; its name is the first of a call's path. */
export function showProjects(main, { error, projects, onDone }) {
    const name = h('input', { id: 'project', autocomplete: 'off', spellcheck: 'false', required: true });
    const problem = h('div', {}, error ? explain(error) : null);
    const enter = async (project) => {
        try {
            await signIn(null, project);
            onDone();
        } catch (failure) {
            fill(problem, explain(failure));
        }
    };
    const onsubmit = (event) => {
        event.preventDefault();
        enter(name.value.trim());
    };
    fill(
        main,
        h(
            'div.door',
            {},
            h('h1', {}, 'Which project?'),
            problem,
            h(
                'p.hint',
                {},
                'This hookline asks for no token. A project is the first name in the path of a call: /v4/project/app/run.',
            ),
            projects.length
                ? h(
                      'div.presets',
                      {},
                      projects.map((project) => button(visible(project), () => enter(project), 'main')),
                  )
                : null,
            h(
                'form',
                { onsubmit },
                h('label.field', {}, h('span', {}, 'Project'), name),
                h('button.button', { type: 'submit' }, 'Show'),
            ),
        ),
    );
    name.focus();
}

function explain(error) {
    const titles = {
        0: 'No answer',
        401: 'This token was not accepted',
        403: 'This token does not reach the project',
    };
    return note('error', titles[error.status] ?? 'Signing in did not work', h('p', {}, error.message));
}
