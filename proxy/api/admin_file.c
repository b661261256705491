/* admin_file.c - see admin_file.h.
 * Owns: the file's reader, and the answer's head while it waits. Thread: control.
 * Promise: a file is sent no faster than the peer takes it; one that turns out to be damaged is refused, or cut off
 * where part of it has gone out.
 * Not here: reading and checking it (body/body_reader.c). */
#include "api/admin_file.h"

#include "api/admin_connection.h"
#include "api/admin_response.h"
#include "base/log.h"
#include "body/body_reader.h"
#include "store/store.h"

static void on_piece(void *owner, enum hl_err err, struct hl_str piece, bool is_last);

static void read_next(struct hl_admin_connection *c)
{
    struct hl_admin_file *file = &c->answer.file;
    if (file->is_reading || hl_stream_is_blocked(&c->stream))
        return;
    file->is_reading = hl_body_reader_next(file->reader);
    if (!file->is_reading)
        hl_admin_connection_close(c);
}

void hl_admin_file_begin(struct hl_admin_connection *c, struct hl_buf head, struct hl_body *body)
{
    struct hl_admin_file *file = &c->answer.file;
    const char *data_dir = hl_store_data_dir(c->home->view.store);
    file->head = head;
    file->reader = hl_body_reader_new(c->home->loop, data_dir, body, on_piece, c);
    if (file->reader)
        read_next(c);
    else
        hl_admin_connection_close(c);
}

void hl_admin_file_drained(struct hl_admin_connection *c)
{
    if (!c->answer.file.reader)
        return;
    read_next(c);
    hl_admin_connection_go_on(c); /* a deadline runs for what waits for the socket */
}

/* Nothing was sent yet: what is wrong can be said. */
static void refuse(struct hl_admin_connection *c, enum hl_err err)
{
    hl_admin_file_drop(c);
    hl_admin_response_refuse(c, hl_refusal(err == HL_ERR_NOT_FOUND ? HL_REFUSAL_RESULT_REMOVED
                                                                   : HL_REFUSAL_RESULT_UNREADABLE));
    hl_admin_connection_go_on(c);
}

static void on_piece(void *owner, enum hl_err err, struct hl_str piece, bool is_last)
{
    struct hl_admin_connection *c = owner;
    struct hl_admin_file *file = &c->answer.file;
    file->is_reading = false;
    if (err != HL_OK)
        HL_LOG(ERROR, "a kept response cannot be read", HL_LOG_ID("run_id", &c->answer.call.id),
            HL_LOG_TEXT("error", hl_err_text(err)));
    if (err != HL_OK && file->head.n > 0) {
        refuse(c, err);
        return;
    }
    if (err == HL_OK)
        err = file->head.n > 0 ? hl_stream_write2(&c->stream, hl_buf_str(&file->head), piece)
                               : hl_stream_write(&c->stream, piece.p, piece.n);
    hl_buf_fini(&file->head);
    if (err != HL_OK) {
        hl_admin_connection_close(c);
        return;
    }
    if (is_last) {
        hl_admin_file_drop(c);
        hl_admin_response_end(c);
    } else {
        read_next(c);
    }
    hl_admin_connection_go_on(c);
}

void hl_admin_file_drop(struct hl_admin_connection *c)
{
    struct hl_admin_file *file = &c->answer.file;
    hl_body_reader_free(file->reader);
    file->reader = NULL;
    file->is_reading = false;
    hl_buf_fini(&file->head);
}
