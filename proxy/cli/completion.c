/* completion.c - scripts for bash, zsh and fish, made of the commands' table: which word may come next, and
 * after a command which options. */
#include "cli/completion.h"

#include <string.h>

#include "cli/argument.h"
#include "cli/synopsis.h"

/* ---- words ---- */

static struct hl_str first_word(const char *words)
{
    return (struct hl_str){words, strcspn(words, " ")};
}

/* Not said by a command before it. */
static bool is_new(const struct hl_cli *cli, size_t i)
{
    struct hl_str word = first_word(cli->commands[i].words);
    for (size_t k = 0; k < i; k++)
        if (hl_str_eq(first_word(cli->commands[k].words), word))
            return false;
    return true;
}

/* " list show": what may follow the first word; nothing for a command of one word. */
static void print_next(const struct hl_cli *cli, struct hl_str word, const char *format)
{
    for (size_t i = 0; i < cli->command_count; i++) {
        const struct hl_cli_command *c = &cli->commands[i];
        if (hl_str_eq(first_word(c->words), word) && c->words[word.n] == ' ')
            fprintf(cli->out, format, c->words + word.n + 1, c->help);
    }
}

/* "bash|zsh|fish", where that is all that may follow: as words. */
static void print_choices(FILE *out, struct hl_str choices)
{
    for (size_t i = 0; i < choices.n; i++)
        fputc(choices.p[i] == '|' ? ' ' : choices.p[i], out);
}

/* ---- bash and zsh ---- */

static void print_options(const struct hl_cli *cli, const struct hl_cli_command *command)
{
    const char *at = NULL;
    struct hl_cli_synopsis_option option;
    if (command->arguments && strchr(command->arguments, ' ') == NULL &&
        strchr(command->arguments, '|'))
        print_choices(cli->out, hl_str_from(command->arguments));
    while (hl_cli_synopsis_next(command, &at, &option))
        fprintf(cli->out, " %.*s", HL_STR_ARG(option.name));
    fputs(" --help", cli->out);
}

/* The branches of a `case` over the words before the one that is typed. */
static void print_cases(const struct hl_cli *cli)
{
    FILE *out = cli->out;
    fputs("    '') candidates='", out);
    for (size_t i = 0; i < cli->command_count; i++)
        if (is_new(cli, i))
            fprintf(out, " %.*s", HL_STR_ARG(first_word(cli->commands[i].words)));
    fputs("' ;;\n", out);
    for (size_t i = 0; i < cli->command_count; i++) {
        const struct hl_cli_command *command = &cli->commands[i];
        struct hl_str word = first_word(command->words);
        if (is_new(cli, i) && command->words[word.n] == ' ') {
            fprintf(out, "    '%.*s') candidates='", HL_STR_ARG(word));
            print_next(cli, word, " %s");
            fputs("' ;;\n", out);
        }
        fprintf(out, "    '%s'|'%s '*) candidates='", command->words, command->words);
        print_options(cli, command);
        fputs("' ;;\n", out);
    }
}

static void print_bash(const struct hl_cli *cli)
{
    fputs("# hookline completion bash: put it where bash looks for completions, or source it.\n"
          "_hookline() {\n"
          "    local word before= candidates=\n"
          "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
          "        [[ $word == -* ]] && break\n"
          "        before+=\"${before:+ }$word\"\n"
          "    done\n"
          "    case $before in\n",
        cli->out);
    print_cases(cli);
    fputs("    esac\n"
          "    COMPREPLY=($(compgen -W \"$candidates\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
          "}\n"
          "complete -o default -F _hookline hookline\n",
        cli->out);
}

static void print_zsh(const struct hl_cli *cli)
{
    fputs("#compdef hookline\n"
          "# hookline completion zsh: put it as _hookline into a folder of $fpath, or source it.\n"
          "_hookline() {\n"
          "    local word before= candidates=\n"
          "    for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
          "        [[ $word == -* ]] && break\n"
          "        before+=\"${before:+ }$word\"\n"
          "    done\n"
          "    case $before in\n",
        cli->out);
    print_cases(cli);
    fputs("    esac\n"
          "    compadd -- ${(z)candidates} || _files\n"
          "}\n"
          "if [[ $funcstack[1] == _hookline ]]; then _hookline \"$@\"; else compdef _hookline "
          "hookline; fi\n",
        cli->out);
}

/* ---- fish ---- */

/* Within single quotes. */
static void print_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void print_fish_options(const struct hl_cli *cli, const struct hl_cli_command *command)
{
    const char *at = NULL;
    struct hl_cli_synopsis_option option;
    while (hl_cli_synopsis_next(command, &at, &option)) {
        fprintf(cli->out, "complete -c hookline -n '__hookline_within %s' -l %.*s%s -d ",
            command->words, (int)option.name.n - 2, option.name.p + 2,
            option.value.n > 0 ? " -r" : "");
        print_quoted(cli->out, option.help ? option.help : "");
        if (memchr(option.value.p, '|', option.value.n)) {
            fputs(" -f -a '", cli->out);
            print_choices(cli->out, option.value);
            fputc('\'', cli->out);
        }
        fputc('\n', cli->out);
    }
}

static void print_fish(const struct hl_cli *cli)
{
    FILE *out = cli->out;
    fputs("# hookline completion fish: put it into ~/.config/fish/completions, or source it.\n"
          "function __hookline_at\n"
          "    set -l words (commandline -opc)[2..]\n"
          "    test \"$words\" = \"$argv\"\n"
          "end\n"
          "function __hookline_within\n"
          "    set -l words (commandline -opc)[2..]\n"
          "    test \"$words[1..\"(count $argv)\"]\" = \"$argv\"\n"
          "end\n"
          "complete -c hookline -f -n '__hookline_at'\n",
        out);
    for (size_t i = 0; i < cli->command_count; i++) {
        const struct hl_cli_command *command = &cli->commands[i];
        struct hl_str word = first_word(command->words);
        bool has_more = command->words[word.n] == ' ';
        if (is_new(cli, i)) {
            fprintf(
                out, "complete -c hookline -f -n '__hookline_at' -a '%.*s' -d ", HL_STR_ARG(word));
            print_quoted(out, has_more ? "" : command->help);
            fputc('\n', out);
        }
        if (has_more) {
            fprintf(out, "complete -c hookline -f -n '__hookline_at %.*s' -a '%s' -d ",
                HL_STR_ARG(word), command->words + word.n + 1);
            print_quoted(out, command->help);
            fputc('\n', out);
        }
        print_fish_options(cli, command);
    }
    fputs("complete -c hookline -f -n '__hookline_at completion' -a 'bash zsh fish'\n", out);
}

int hl_cli_completion(const struct hl_cli *cli)
{
    static const struct {
        const char *name;
        void (*print)(const struct hl_cli *cli);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    const char *shell;
    int status = hl_cli_read_word(cli, NULL, 0, &shell, "the name of a shell: bash, zsh or fish");
    if (status != HL_CLI_OK)
        return status;
    for (size_t i = 0; i < HL_ARRAY_LEN(shells); i++)
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].print(cli);
            return HL_CLI_OK;
        }
    return hl_cli_usage_error(
        cli, "completion is there for bash, zsh and fish, not for \"%s\"", shell);
}
