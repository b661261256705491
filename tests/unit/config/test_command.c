#include <criterion/criterion.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/str.h"
#include "config/command.h"

static struct hl_command command;

static enum hl_err parse(const char *text)
{
    hl_command_fini(&command);
    return hl_command_parse(hl_str_from(text), &command);
}

static void end(void)
{
    hl_command_fini(&command);
}

TestSuite(command, .fini = end);

/* What the shell is given. */
static const char *line(const char *text)
{
    cr_assert_eq(parse(text), HL_OK, "%s", text);
    cr_assert(command.is_shell);
    cr_assert_str_eq(command.argv[0], "/bin/sh");
    cr_assert_str_eq(command.argv[1], "-c");
    cr_assert_null(command.argv[3]);
    return command.argv[2];
}

Test(command, leaves_a_line_to_the_shell)
{
    static const char *const lines[] = {
        "cd app && exec node server.js",
        "python3 -c \"import app; app.main()\"",
        "node app.js > out.log",
        "(node app.js)",
        "echo `date`",
        "$APP --port $PORT",
        "\"/opt/my app/run\"",
        "NAME=\"a b\" node app.js",
        "exec node app.js",
        "eval node app.js",
        ". ./start.sh",
        "NAME=1",
        "exit 1",
        "cd /",
        "node app.js \\\n --port 1",
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(lines); i++)
        cr_assert_str_eq(line(lines[i]), lines[i]);
}

Test(command, knows_what_is_run_where_the_text_says_it)
{
    cr_assert_eq(parse("[\"node\", \"app.js\"]"), HL_OK);
    cr_assert_str_eq(command.program, "node");
    cr_assert_eq(parse("A=1 B=2  /opt/app --port 1"), HL_OK);
    cr_assert_str_eq(command.program, "/opt/app");
    cr_assert_eq(parse("node"), HL_OK);
    cr_assert_str_eq(command.program, "node");
    cr_assert_eq(parse("cd app && node"), HL_OK);
    cr_assert_null(command.program, "only the shell knows");
    cr_assert_eq(parse("PATH=/opt/app node"), HL_OK);
    cr_assert_null(command.program, "nor is it looked for where ours are");
}

Test(command, lets_the_one_program_of_a_line_take_the_shells_place)
{
    cr_assert_str_eq(line("node app.js"), "exec node app.js");
    cr_assert_str_eq(line("  gunicorn app:app --bind 0.0.0.0:$PORT "),
        "exec gunicorn app:app --bind 0.0.0.0:$PORT");
    cr_assert_str_eq(
        line("uvicorn app:app --port ${PORT:-80}"), "exec uvicorn app:app --port ${PORT:-80}");
    cr_assert_str_eq(
        line("A=1 B=x.y,z=3  ./run 'with spaces'"), "A=1 B=x.y,z=3  exec ./run 'with spaces'");
    cr_assert_str_eq(line("x"), "exec x");
}

static void assert_words(const char *text, const char *const words[])
{
    cr_assert_eq(parse(text), HL_OK, "%s", text);
    cr_assert_not(command.is_shell);
    size_t i = 0;
    for (; words[i]; i++)
        cr_assert_str_eq(command.argv[i], words[i], "%s", text);
    cr_assert_null(command.argv[i], "%s", text);
}

Test(command, takes_a_json_array_word_by_word)
{
    assert_words("[\"node\"]", (const char *const[]){"node", NULL});
    assert_words(" [ \"a\" ,\t\"b c\",\n\"$PORT\", \"\" , \"x,y\" ] ",
        (const char *const[]){"a", "b c", "$PORT", "", "x,y", NULL});
    assert_words(
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", (const char *const[]){"\"\\/\b\f\n\r\t", NULL});
    assert_words("[\"\\u0041\\u00fc\\u20AC\\ud83d\\ude42\", \"\xc3\xbc]\"]",
        (const char *const[]){"A\xc3\xbc\xe2\x82\xac\xf0\x9f\x99\x82", "\xc3\xbc]", NULL});
}

Test(command, refuses_what_is_neither)
{
    static const char *const texts[] = {"", " ", "[", "[]", "[\"a\"", "[\"a\",]", "[\"a\" \"b\"]",
        "[1]", "[\"a\",null]", "[[\"a\"]]", "[{\"a\":\"b\"}]", "[\"\"]", "[\"a\\u0000\"]",
        "[\"\\ud83d\"]", "[\"\\ud83dx\"]", "[\"\\ude42\"]", "[\"a\"] b", "[ -f x ] && y"};
    for (size_t i = 0; i < HL_ARRAY_LEN(texts); i++)
        cr_assert_eq(parse(texts[i]), HL_ERR_INVALID, "%s", texts[i]);
    cr_assert_eq(hl_command_parse(HL_STR("a\0b"), &command), HL_ERR_INVALID);
}

static struct hl_user user;
static char why[64];

static enum hl_err find(const char *text)
{
    return hl_user_find(hl_str_from(text), &user, why, sizeof(why));
}

static bool is_in_group(gid_t gid)
{
    for (int i = 0; i < user.group_count; i++)
        if (user.groups[i] == gid)
            return true;
    return false;
}

Test(user, is_found_by_name_with_its_groups_and_home)
{
    cr_assert_eq(find("root"), HL_OK);
    cr_assert_eq(user.uid, 0);
    cr_assert_eq(user.gid, 0);
    cr_assert(is_in_group(0));
    cr_assert_str_eq(user.name, "root");
    cr_assert_str_eq(user.home, "/root");
    cr_assert_eq(find("daemon"), HL_OK);
    cr_assert_eq(user.uid, 1);
}

Test(user, is_found_by_number)
{
    cr_assert_eq(find("1"), HL_OK);
    cr_assert_str_eq(user.name, "daemon");
    cr_assert_eq(user.uid, 1);
    cr_assert_eq(user.gid, 1);
}

Test(user, that_no_passwd_knows_has_the_group_of_its_number_and_no_other)
{
    cr_assert_eq(find("54321"), HL_OK);
    cr_assert_eq(user.uid, 54321);
    cr_assert_eq(user.gid, 54321);
    cr_assert_eq(user.group_count, 1);
    cr_assert(is_in_group(54321));
    cr_assert_str_eq(user.name, "");
}

Test(user, with_a_group_is_in_that_one_alone)
{
    cr_assert_eq(find("54321:54322"), HL_OK);
    cr_assert_eq(user.gid, 54322);
    cr_assert_eq(find("root:daemon"), HL_OK);
    cr_assert_eq(user.uid, 0);
    cr_assert_eq(user.gid, 1);
    cr_assert_eq(user.group_count, 1);
    cr_assert(is_in_group(1));
}

Test(user, that_does_not_exist_is_refused_with_a_reason)
{
    static const char *const nobodies[] = {"", ":", "no-such-user", "-1", "4294967295",
        "4294967296", "1x", "root:no-such-group", "root:", "0:4294967295"};
    for (size_t i = 0; i < HL_ARRAY_LEN(nobodies); i++) {
        cr_assert_eq(find(nobodies[i]), HL_ERR_INVALID, "%s", nobodies[i]);
        cr_assert(strstr(why, "of this system"), "%s: %s", nobodies[i], why);
    }
}
