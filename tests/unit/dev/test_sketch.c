#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "dev/sketch.h"

static void read_text(struct hl_dev_sketch *sketch, const char *text)
{
    char path[] = "/tmp/hl-sketch-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    hl_dev_sketch_read(sketch, path);
    unlink(path);
}

Test(sketch, gives_parameters_without_defaults_a_value_of_their_type)
{
    static struct hl_dev_sketch sketch;
    read_text(&sketch,
        "import os\n\n\ndef run(prompt: str, n: int, deep: dict[str, int], flag: bool,\n"
        "        ratio: float = (1.5), *rest, seed=None):\n    return 1\n");
    cr_assert_eq(sketch.count, 1);
    cr_assert_str_eq(sketch.functions[0].name, "run");
    cr_assert_str_eq(sketch.functions[0].json,
        "{\"prompt\": \"hello\", \"n\": 1, \"deep\": {}, \"flag\": true}");
    cr_assert_not(sketch.functions[0].yields);
}

Test(sketch, tells_those_that_yield_and_prefers_run)
{
    static struct hl_dev_sketch sketch;
    read_text(&sketch,
        "async def words(text):\n    for w in text.split():\n        yield w\n\n"
        "def other():\n    pass\n\ndef _hidden():\n    yield 1\n\ndef run():\n    return 2\n");
    cr_assert_eq(sketch.count, 3);
    cr_assert_str_eq(hl_dev_sketch_pick(&sketch, true)->name, "words");
    cr_assert_str_eq(hl_dev_sketch_pick(&sketch, true)->json, "{\"text\": \"hello\"}");
    cr_assert_str_eq(hl_dev_sketch_pick(&sketch, false)->name, "run");
}

Test(sketch, is_empty_of_what_is_no_such_file)
{
    static struct hl_dev_sketch sketch;
    static const char *const texts[] = {"", "def", "def (", "def f", "def f(", "def f(a, b",
        "x = 1\n", "    def inner():\n", "class A:\n    def f(self):\n        pass\n"};
    for (size_t i = 0; i < HL_ARRAY_LEN(texts); i++) {
        read_text(&sketch, texts[i]);
        cr_assert_null(hl_dev_sketch_pick(&sketch, true), "%s", texts[i]);
    }
    hl_dev_sketch_read(&sketch, "/nonexistent");
    cr_assert_eq(sketch.count, 0);
}
