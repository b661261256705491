/* captured_log.c - stderr is a file for a while. */
#include "captured_log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static FILE *log_file;
static int own_stderr;

void captured_log_begin(void)
{
    hl_log_setup(HL_LOG_INFO, HL_LOG_JSON);
    log_file = tmpfile();
    own_stderr = dup(STDERR_FILENO);
    dup2(fileno(log_file), STDERR_FILENO);
}

void captured_log_end(void)
{
    dup2(own_stderr, STDERR_FILENO);
    close(own_stderr);
    fclose(log_file);
}

int captured_log_count(const char *a, const char *b)
{
    static char text[65536];
    int n = 0;
    rewind(log_file);
    size_t length = fread(text, 1, sizeof(text) - 1, log_file);
    text[length] = '\0';
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        n += strstr(line, a) && strstr(line, b);
    return n;
}
