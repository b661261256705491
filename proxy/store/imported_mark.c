/* imported_mark.c - see imported_mark.h. The first line of the file is the id of the move, what follows is for
 * people. */
#include "store/imported_mark.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/id.h"
#include "base/str.h"
#include "store/path.h"

enum hl_err hl_imported_mark_read(const char *data_dir, struct hl_id *id)
{
    char path[HL_PATH_MAX], text[1024];
    size_t n;
    enum hl_err err = hl_path(path, "%s/moved", data_dir);
    if (!err)
        err = hl_path_read(path, text, sizeof(text), &n);
    if (err)
        return err;
    return n >= HL_ID_TEXT && hl_id_parse((struct hl_str){text, HL_ID_TEXT}, id) ? HL_OK
                                                                                 : HL_ERR_INVALID;
}

enum hl_err hl_imported_mark_write(const char *data_dir, const struct hl_id *id, const char *where)
{
    char path[HL_PATH_MAX], name[HL_ID_TEXT], text[1024];
    hl_id_format(id, name);
    int n = snprintf(text, sizeof(text), "%.*s\n%s\n", HL_ID_TEXT, name, where);
    enum hl_err err = hl_path(path, "%s/moved", data_dir);
    return err ? err : hl_path_write(path, text, (size_t)n);
}

enum hl_err hl_imported_mark_check(const char *data_dir, char *why, size_t why_len)
{
    char path[HL_PATH_MAX];
    struct stat st;
    enum hl_err err = hl_path(path, "%s/moved", data_dir);
    if (err || lstat(path, &st) != 0)
        return err;
    snprintf(why, why_len,
        "HOOKLINE_DATA_DIR: the store in %s was moved to PostgreSQL (hookline store import): what "
        "is queued in it would run twice; start with HOOKLINE_STORE=postgres, or, if nothing "
        "arrived there, remove the file %s",
        data_dir, path);
    return HL_ERR_DENIED;
}
