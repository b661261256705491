/* test_error_line.c - the line that says what went wrong, of answers of all kinds. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/utf8.h"
#include "http/error_line.h"
#include "http/json_check.h"

static char line[HL_ERROR_LINE_MAX + 1];

static const char *of_text(const char *text)
{
    hl_error_line_of_text(hl_str_from(text), line);
    return line;
}

static const char *of_json(const char *text)
{
    struct hl_json_check check;
    hl_json_check_init(&check);
    cr_assert(
        hl_json_check_feed(&check, text, strlen(text)) && hl_json_check_end(&check), "%s", text);
    hl_error_line_of_json(hl_str_from(text), line);
    return line;
}

/* ---- texts ---- */

Test(error_line, of_a_text_is_its_first_line_with_anything_to_read)
{
    cr_expect_str_eq(of_text("boom"), "boom");
    cr_expect_str_eq(of_text("\n \t\r\n  boom: it broke \t\r\nat line 3\n"), "boom: it broke");
    cr_expect_str_eq(of_text("one\rtwo"), "one");
    cr_expect_str_eq(of_text("one\xe2\x80\xa8two"), "one", "a line separator");
    cr_expect_str_eq(of_text("\xef\xbb\xbf"
                             "boom"),
        "boom", "a byte order mark");
    cr_expect_str_eq(of_text(""), "");
    cr_expect_str_eq(of_text(" \r\n\t\n"), "");
}

Test(error_line, of_what_python_prints_is_what_was_raised)
{
    cr_expect_str_eq(
        of_text("Traceback (most recent call last):\n"
                "  File \"a.py\", line 1, in f\n"
                "    raise KeyError('x')\n"
                "KeyError: 'x'\n"
                "\nDuring handling of the above exception, another exception occurred:\n\n"
                "Traceback (most recent call last):\n"
                "  File \"a.py\", line 3, in g\n"
                "ValueError: no such order\n\n"),
        "ValueError: no such order");
    cr_expect_str_eq(
        of_text("Traceback (most recent call last):"), "Traceback (most recent call last):");
    cr_expect_str_eq(of_text("Traceback (most recent call last):\n  File"),
        "Traceback (most recent call last):");
}

Test(error_line, of_a_text_has_markup_as_it_stands)
{
    cr_expect_str_eq(
        of_text("<script>alert('1')</script>&amp;\n"), "<script>alert('1')</script>&amp;");
}

Test(error_line, of_a_text_has_no_control_and_nothing_that_turns_the_direction)
{
    cr_expect_str_eq(of_text("a\tb\x1b[31m\x7f"), "a b\xef\xbf\xbd[31m\xef\xbf\xbd");
    cr_expect_str_eq(of_text("a\xc2\x9b"
                             "b"),
        "a\xef\xbf\xbd"
        "b",
        "C1");
    cr_expect_str_eq(of_text("x\xe2\x80\xae"
                             "gpj.exe"),
        "x\xef\xbf\xbd"
        "gpj.exe",
        "an override");
    cr_expect_str_eq(of_text("\xe2\x80\x8f"
                             "a\xe2\x80\x8e"
                             "b\xd8\x9c"),
        "ab", "marks");
}

Test(error_line, of_a_text_that_is_no_utf8_has_replacements)
{
    cr_expect_str_eq(of_text("donn\xe9"
                             "es"),
        "donn\xef\xbf\xbd"
        "es");
    cr_expect_str_eq(of_text("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    cr_expect_str_eq(of_text("cut \xf0\x9f\x98"), "cut \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    hl_error_line_of_text((struct hl_str){"a\0b", 3}, line);
    cr_expect_str_eq(line, "a\xef\xbf\xbd"
                           "b");
}

Test(error_line, is_cut_behind_a_character)
{
    char text[4 * 200 + 1] = "";
    for (int i = 0; i < 200; i++)
        strcat(text, "\xf0\x9f\x98\x80");
    of_text(text);
    cr_expect_eq(strlen(line), HL_ERROR_LINE_MAX);
    cr_expect_eq(hl_utf8_count(hl_str_from(line)), HL_ERROR_LINE_CHARACTERS);
    cr_expect(hl_utf8_is_valid(hl_str_from(line)));
    memset(text, 'x', 300);
    text[300] = '\0';
    cr_expect_eq(strlen(of_text(text)), HL_ERROR_LINE_CHARACTERS);
    memset(text + 100, ' ', 200);
    cr_expect_eq(strlen(of_text(text)), 100, "no blank is left at its end");
}

/* ---- HTML ---- */

static const char *of_html(const char *text)
{
    hl_error_line_of_html(hl_str_from(text), line);
    return line;
}

Test(error_line, of_html_is_its_first_line_outside_the_markup)
{
    cr_expect_str_eq(
        of_html("<!doctype html>\n<html lang=en>\n<title>500 Internal Server Error</title>\n"
                "<h1>Internal Server Error</h1>\n<p>The server encountered"),
        "500 Internal Server Error");
    cr_expect_str_eq(of_html("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>"),
        "502 Bad Gateway");
    cr_expect_str_eq(
        of_html("<html><head><meta charset=\"utf-8\"><style>p { x: \"</p>\" }</style>"
                "<SCRIPT>alert('no')</SCRIPT ><!-- no > --></head><body><p>No <b>such</b>"
                " order<br>at line 3"),
        "No such order");
    cr_expect_str_eq(of_html("a &lt;b&gt; &amp;amp; &#39;c&#x27; &unknown; & 1 < 2"),
        "a <b> &amp; 'c' &unknown; & 1 < 2");
    cr_expect_str_eq(of_html("plain\ntext"), "plain");
    cr_expect_str_eq(of_html("<p></p>&nbsp;<p> </p>"), "");
}

Test(error_line, of_html_is_as_harmless_as_of_a_text)
{
    cr_expect_str_eq(of_html("a&#27;[1m&#x202e;b&#xd800;c&#0;d&#x110000;&#zz;"),
        "a\xef\xbf\xbd[1m\xef\xbf\xbd"
        "b\xef\xbf\xbd"
        "c\xef\xbf\xbd"
        "d\xef\xbf\xbd\xef\xbf\xbd");
    cr_expect_str_eq(of_html("a&#10;b"), "a");
    static const char *const cut[] = {"<", "<!", "<!-", "<!--", "<a", "</", "<style>", "<style></",
        "<script></scrip", "&", "&#", "&#x", "&#;", "&;"};
    for (size_t i = 0; i < HL_ARRAY_LEN(cut); i++) {
        size_t n = strlen(cut[i]);
        char *text = malloc(n); /* so that a sanitizer sees a byte too far */
        cr_assert(text);
        memcpy(text, cut[i], n);
        hl_error_line_of_html((struct hl_str){text, n}, line);
        cr_expect(
            line[0] == '\0' || line[0] == '<' || line[0] == '&' || line[0] == '\xef', "%s", cut[i]);
        free(text);
    }
}

/* ---- long bodies ---- */

static char *long_body(size_t n, const char *before, char fill, const char *behind)
{
    char *text = malloc(n + 1);
    cr_assert(text);
    memset(text, fill, n);
    memcpy(text, before, strlen(before));
    memcpy(text + n - strlen(behind), behind, strlen(behind));
    text[n] = '\0';
    return text;
}

Test(error_line, of_a_long_body_is_sought_in_its_beginning_alone)
{
    char *text = long_body(1024 * 1024, "", 'x', "");
    cr_expect_eq(strlen(of_text(text)), HL_ERROR_LINE_CHARACTERS);
    free(text);
    text = long_body(1024 * 1024, "", '\n', "late");
    cr_expect_str_eq(of_text(text), "");
    free(text);
    text = long_body(1024 * 1024, "{\"detail\":\"", 'x', "\"}");
    cr_expect_eq(strlen(of_json(text)), HL_ERROR_LINE_CHARACTERS);
    free(text);
    text =
        long_body(1024 * 1024, "{\"message\":\"early\",\"a\":\"", 'x', "\",\"detail\":\"late\"}");
    cr_expect_str_eq(of_json(text), "early");
    free(text);
    text = long_body(1024 * 1024, "{\"a\":", ' ', "1,\"detail\":\"late\"}");
    cr_expect_str_eq(of_json(text), "");
    free(text);
}

/* Whatever the last byte that is looked at is a part of. */
Test(error_line, of_json_may_end_anywhere)
{
    static const char json[] = "{\"a\":[1,{\"b\":\"\\\"]\"}],\"error\":{\"code\":\"x\",\"message\":"
                               "\"\\ud83d\\ude00 \xf0\x9f\x98\x80\\n\"},\"title\":\"t\"}";
    for (size_t n = 0; n < sizeof(json); n++) {
        char *cut = malloc(n ? n : 1); /* so that a sanitizer sees a byte too far */
        cr_assert(cut);
        memcpy(cut, json, n);
        hl_error_line_of_json((struct hl_str){cut, n}, line);
        cr_expect(hl_utf8_is_valid(hl_str_from(line)), "%zu", n);
        free(cut);
    }
    cr_expect_str_eq(of_json(json), "\xf0\x9f\x98\x80 \xf0\x9f\x98\x80");
}

/* ---- JSON ---- */

Test(error_line, of_a_list_of_details_is_the_first_that_says_something)
{
    cr_expect_str_eq(
        of_json("{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"Field required\"},{\"msg\":\"x\"}]}"),
        "Field required");
    cr_expect_str_eq(of_json("{\"detail\":[],\"title\":\"t\"}"), "t");
    cr_expect_str_eq(of_json("{\"detail\":[1],\"message\":\"m\"}"), "m");
    cr_expect_str_eq(of_json("{\"detail\":{\"msg\":\"x\"},\"title\":\"t\"}"), "t");
}

Test(error_line, of_json_is_a_string_of_the_first_of_four_members)
{
    cr_expect_str_eq(
        of_json("{\"title\":\"t\",\"message\":\"m\",\"error\":\"e\",\"detail\":\"d\"}"), "d");
    cr_expect_str_eq(of_json("{\"title\":\"t\",\"message\":\"m\",\"error\":\"e\"}"), "e");
    cr_expect_str_eq(of_json("{\"title\":\"t\",\"message\":\"m\"}"), "m");
    cr_expect_str_eq(of_json(" {\"status\":500, \"title\" : \"t\"}\n"), "t");
}

Test(error_line, of_json_may_be_the_message_of_an_error)
{
    cr_expect_str_eq(of_json("{\"error\":{\"code\":7,\"inner\":{\"message\":\"no\"},\"message\":"
                             "\"m\"},\"title\":\"t\"}"),
        "m");
    cr_expect_str_eq(of_json("{\"error\":{\"code\":7},\"title\":\"t\"}"), "t");
    cr_expect_str_eq(
        of_json("{\"error\":{},\"message\":{\"message\":\"no\"},\"title\":\"t\"}"), "t");
    cr_expect_str_eq(of_json("{\"error\":[{\"message\":\"no\"}]}"), "");
}

Test(error_line, of_json_passes_over_what_is_no_text_or_says_nothing)
{
    cr_expect_str_eq(
        of_json("{\"detail\":500,\"error\":true,\"message\":null,\"title\":\"t\"}"), "t");
    cr_expect_str_eq(of_json("{\"detail\":[{\"a\":\"no\"}],\"title\":\"t\"}"), "t");
    cr_expect_str_eq(of_json("{\"detail\":\"\",\"error\":\" \\n\\t\",\"title\":\"t\"}"), "t");
    cr_expect_str_eq(of_json("{\"a\":{\"detail\":\"no\"},\"b\":[\"detail\",\"no\"]}"), "");
    cr_expect_str_eq(of_json("{\"a\":\"}\",\"b\":\"\\\"detail\\\":\",\"title\":\"t\"}"), "t");
    static const char *const none[] = {"{}", "[]", "[{\"detail\":\"no\"}]", "\"no\"", "7", "null"};
    for (size_t i = 0; i < HL_ARRAY_LEN(none); i++)
        cr_expect_str_eq(of_json(none[i]), "", "%s", none[i]);
}

Test(error_line, of_json_is_the_last_of_several_by_one_name)
{
    cr_expect_str_eq(of_json("{\"detail\":\"one\",\"detail\":\"two\"}"), "two");
    cr_expect_str_eq(of_json("{\"detail\":\"one\",\"detail\":2,\"title\":\"t\"}"), "t");
}

Test(error_line, of_json_is_what_its_escapes_stand_for)
{
    cr_expect_str_eq(of_json("{\"detail\":\"a \\\"b\\\" \\u00e9\\/\\\\ \\ud83d\\ude00\"}"),
        "a \"b\" \xc3\xa9/\\ \xf0\x9f\x98\x80");
    cr_expect_str_eq(of_json("{\"detail\":\"\\n\\r\\n one\\ntwo\"}"), "one");
    cr_expect_str_eq(of_json("{\"detail\":\"a\\u0000\\u001b[1m\\b\"}"),
        "a\xef\xbf\xbd\xef\xbf\xbd[1m\xef\xbf\xbd");
    cr_expect_str_eq(of_json("{\"detail\":\"\\ud83d\\u0041\\ud83d\\n\"}"), "\xef\xbf\xbd"
                                                                           "A\xef\xbf\xbd");
    cr_expect_str_eq(of_json("{\"detail\":\"\\u202egpj\\u200f\"}"), "\xef\xbf\xbdgpj");
    cr_expect_str_eq(of_json("{\"detail\":\"\\ud7ff\\ud7ff\"}"), "\xed\x9f\xbf\xed\x9f\xbf");
}
