/* completion.c - scripts for bash, zsh and fish, made of the commands' table: which word may come next, after a
 * command which options, and after an option which words, or the name of a file. */
#include "cli/catalog.h"

#include <string.h>

#include "cli/cli.h"
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

/* ---- what options take ---- */

enum value {
    VALUE_NONE,
    VALUE_WORDS, /* of which hl_cli_synopsis_word knows */
    VALUE_FILE,
    VALUE_BODY, /* a text, or a file behind "@" */
    VALUE_TEXT  /* whatever it is: no shell knows */
};

static enum value value_of(const struct hl_cli_synopsis_option *option)
{
    struct hl_str word;
    size_t at = 0;
    if (option->value.n == 0)
        return VALUE_NONE;
    if (hl_cli_synopsis_word(option, &at, &word))
        return VALUE_WORDS;
    if (hl_str_eq(option->value, HL_STR("FILE")))
        return VALUE_FILE;
    return hl_str_eq(option->value, HL_STR("BODY")) ? VALUE_BODY : VALUE_TEXT;
}

static void print_words(FILE *out, const struct hl_cli_synopsis_option *option)
{
    struct hl_str word;
    for (size_t at = 0; hl_cli_synopsis_word(option, &at, &word);)
        fprintf(out, " %.*s", HL_STR_ARG(word));
}

/* "bash|zsh|fish", where that is all that the command takes. */
static bool takes_words(
    const struct hl_cli_command *command, struct hl_cli_synopsis_option *arguments)
{
    *arguments = (struct hl_cli_synopsis_option){
        .value = hl_str_from(command->arguments ? command->arguments : "")};
    return hl_cli_synopsis_has_choices(arguments);
}

/* ---- bash and zsh ---- */

static void print_options(const struct hl_cli *cli, const struct hl_cli_command *command)
{
    const char *at = NULL;
    struct hl_cli_synopsis_option option;
    if (takes_words(command, &option))
        print_words(cli->out, &option);
    while (hl_cli_synopsis_next(command, &at, &option))
        fprintf(cli->out, " %.*s", HL_STR_ARG(option.name));
    fputs(" --help", cli->out);
}

/* A `case` over the option before what is typed, if one of the command's takes a value. */
static void print_values(FILE *out, const struct hl_cli_command *command)
{
    static const char *const kinds[] = {[VALUE_WORDS] = "words",
        [VALUE_FILE] = "file",
        [VALUE_BODY] = "body",
        [VALUE_TEXT] = "text"};
    const char *at = NULL;
    bool is_first = true;
    struct hl_cli_synopsis_option option;
    while (hl_cli_synopsis_next(command, &at, &option)) {
        enum value value = value_of(&option);
        if (value == VALUE_NONE)
            continue;
        fprintf(out, "%s            %.*s) value=%s candidates='",
            is_first ? "\n        case $option in\n" : "", HL_STR_ARG(option.name), kinds[value]);
        print_words(out, &option);
        fputs("' ;;\n", out);
        is_first = false;
    }
    fputs(is_first ? " ;;\n" : "        esac ;;\n", out);
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
        fputc('\'', out);
        print_values(out, command);
    }
}

static void print_bash(const struct hl_cli *cli)
{
    fputs("# hookline completion bash: put it where bash looks for completions, or source it.\n"
          "_hookline() {\n"
          "    local i=$COMP_CWORD word=${COMP_WORDS[COMP_CWORD]}\n"
          "    local option mark file before= candidates= value=\n"
          "    # = and @ are words of their own to bash\n"
          "    mark=${word%%[!=@]*} word=${word#\"${word%%[!=@]*}\"}\n"
          "    while ((i > 1)) && [[ ${COMP_WORDS[i-1]} =~ ^[=@]+$ ]]; do\n"
          "        mark=${COMP_WORDS[i-1]}$mark\n"
          "        ((i--))\n"
          "    done\n"
          "    option=${COMP_WORDS[i-1]}\n"
          "    for i in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
          "        [[ $i == -* ]] && break\n"
          "        before+=\"${before:+ }$i\"\n"
          "    done\n"
          "    case $before in\n",
        cli->out);
    print_cases(cli);
    fputs("    esac\n"
          "    COMPREPLY=($(compgen -W \"$candidates\" -- \"$word\"))\n"
          "    # where nothing is known bash completes files, but none behind @\n"
          "    [[ -n $value && $value != file ]] && compopt +o default 2>/dev/null\n"
          "    if [[ $value == body && $mark == *@ ]]; then\n"
          "        while IFS= read -r word; do\n"
          "            file=@$(printf %q \"$word\")\n"
          "            [[ -d $word ]] && file+=/ && compopt -o nospace 2>/dev/null\n"
          "            COMPREPLY+=(\"$file\")\n"
          "        done < <(compgen -f -- \"${word//\\\\/}\")\n"
          "    fi\n"
          "}\n"
          "complete -o default -F _hookline hookline\n",
        cli->out);
}

static void print_zsh(const struct hl_cli *cli)
{
    fputs("#compdef hookline\n"
          "# hookline completion zsh: put it as _hookline into a folder of $fpath, or source it.\n"
          "_hookline() {\n"
          "    local word before= candidates= value= option=${words[CURRENT-1]}\n"
          "    for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
          "        [[ $word == -* ]] && break\n"
          "        before+=\"${before:+ }$word\"\n"
          "    done\n"
          "    [[ ${words[CURRENT]} == --*=* ]] && option=${words[CURRENT]%%=*} && compset -P 1 "
          "'*='\n"
          "    case $before in\n",
        cli->out);
    print_cases(cli);
    fputs("    esac\n"
          "    case $value in\n"
          "        words) compadd -- ${(z)candidates} ;;\n"
          "        file) _files ;;\n"
          "        body) compset -P @ && _files ;;\n"
          "        text) return 1 ;;\n"
          "        *) compadd -- ${(z)candidates} || _files ;;\n"
          "    esac\n"
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

/* What may follow: words, files, or nothing that is known. */
static void print_fish_value(FILE *out, const struct hl_cli_synopsis_option *option)
{
    enum value value = value_of(option);
    if (value == VALUE_FILE)
        fputs(" -r -F", out);
    else if (value == VALUE_BODY)
        fputs(" -x -a '(__hookline_body)'", out);
    else if (value == VALUE_TEXT)
        fputs(" -x", out);
    if (value != VALUE_WORDS)
        return;
    fputs(" -x -a '", out);
    print_words(out, option);
    fputc('\'', out);
}

static void print_fish_options(const struct hl_cli *cli, const struct hl_cli_command *command)
{
    const char *at = NULL;
    struct hl_cli_synopsis_option option;
    while (hl_cli_synopsis_next(command, &at, &option)) {
        fprintf(cli->out, "complete -c hookline -n '__hookline_within %s' -l %.*s -d ",
            command->words, (int)option.name.n - 2, option.name.p + 2);
        print_quoted(cli->out, option.help ? option.help : "");
        print_fish_value(cli->out, &option);
        fputc('\n', cli->out);
    }
    if (takes_words(command, &option)) {
        fprintf(cli->out, "complete -c hookline -f -n '__hookline_at %s' -a '", command->words);
        print_words(cli->out, &option);
        fputs("'\n", cli->out);
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
          "function __hookline_body\n"
          "    set -l typed (commandline -ct | string replace -r -- '^--[^=]*=' '')\n"
          "    string match -q -- '@*' \"$typed\"\n"
          "    and printf '@%s\\n' (__fish_complete_path (string sub -s 2 -- \"$typed\"))\n"
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
        cli, "completion is available for bash, zsh and fish, not for \"%s\"", shell);
}
