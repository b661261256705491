/* credit.c - the store's accounts of what it may push to whom. The store's thread only. Turns go
 * round the accounts by single units, so that a worker with much credit does not take the whole
 * queue before another one's small credit is seen. */
#include "store/credit.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "loop/mailbox.h"
#include "store/claim.h"

void hl_credit_book_init(struct hl_credit_book *book)
{
    *book = (struct hl_credit_book){0};
}

void hl_credit_book_fini(struct hl_credit_book *book)
{
    for (size_t i = 0; i < book->n; i++)
        free(book->accounts[i].back);
    free(book->accounts);
    hl_credit_book_init(book);
}

static struct hl_credit_account *find(
    const struct hl_credit_book *book, const struct hl_mailbox *box)
{
    for (size_t i = 0; i < book->n; i++)
        if (book->accounts[i].box == box)
            return &book->accounts[i];
    return NULL;
}

static struct hl_credit_account *find_or_open(struct hl_credit_book *book, struct hl_mailbox *box)
{
    struct hl_credit_account *account = find(book, box);
    if (account)
        return account;
    if (book->n == book->cap) {
        size_t cap = book->cap ? 2 * book->cap : 16;
        account = realloc(book->accounts, cap * sizeof(*account));
        if (!account)
            return NULL;
        book->accounts = account;
        book->cap = cap;
    }
    account = &book->accounts[book->n++];
    *account = (struct hl_credit_account){.box = box};
    return account;
}

static void send_back(struct hl_credit *credit, uint32_t n)
{
    credit->n = n;
    credit->m.msg.type = HL_STORE_CREDIT_BACK;
    credit->m.rc = HL_OK;
    hl_mailbox_post(credit->m.reply_to, &credit->m.msg);
}

void hl_credit_add(struct hl_credit_book *book, struct hl_credit *credit)
{
    struct hl_credit_account *account = find_or_open(book, credit->m.reply_to);
    if (!account && credit->returns && credit->n > 0) {
        send_back(credit, credit->n);
        return;
    }
    if (account) {
        account->is_hinted = false;
        account->wants_hints |= credit->returns || credit->n == 0;
        *(credit->returns ? &account->returning : &account->standing) += credit->n;
        if (credit->returns && credit->has_wish)
            account->wished[credit->wish] += credit->n;
        book->total += credit->n;
        if (credit->returns && credit->n > 0 && !account->back) {
            account->back = credit;
            return;
        }
    }
    free(credit);
}

void hl_credit_withdraw(struct hl_credit_book *book, const struct hl_mailbox *box)
{
    struct hl_credit_account *account = find(book, box);
    if (!account)
        return;
    book->total -= account->standing + account->returning;
    account->standing = account->returning = 0;
    memset(account->wished, 0, sizeof(account->wished));
    account->wants_hints = false;
    account->withdrawals++;
}

static void take_wish(struct hl_credit_account *account, struct hl_credit_note *note)
{
    for (unsigned i = 0; i < HL_PRIORITIES && !note->has_wish; i++) {
        note->has_wish = account->wished[i] > 0;
        note->wish = (enum hl_priority)i;
    }
    if (note->has_wish)
        account->wished[note->wish]--;
}

bool hl_credit_take(struct hl_credit_book *book, struct hl_credit_note *note)
{
    if (book->total == 0)
        return false;
    struct hl_credit_account *account;
    do {
        book->turn = (book->turn + 1) % book->n;
        account = &book->accounts[book->turn];
    } while (account->returning == 0 && account->standing == 0);
    *note = (struct hl_credit_note){.account = book->turn,
        .was_returning = account->returning > 0,
        .withdrawals = account->withdrawals};
    --*(note->was_returning ? &account->returning : &account->standing);
    if (note->was_returning)
        take_wish(account, note);
    book->total--;
    return true;
}

bool hl_credit_is_void(const struct hl_credit_book *book, struct hl_credit_note note)
{
    return book->accounts[note.account].withdrawals != note.withdrawals;
}

void hl_credit_put_back(struct hl_credit_book *book, struct hl_credit_note note)
{
    struct hl_credit_account *account = &book->accounts[note.account];
    if (hl_credit_is_void(book, note))
        return;
    ++*(note.was_returning ? &account->returning : &account->standing);
    if (note.has_wish)
        account->wished[note.wish]++;
    book->total++;
}

void hl_credit_return_unused(struct hl_credit_book *book)
{
    for (size_t i = 0; i < book->n; i++) {
        struct hl_credit_account *account = &book->accounts[i];
        if (account->returning == 0)
            continue;
        struct hl_credit *back = account->back;
        uint32_t n = account->returning;
        book->total -= n;
        account->returning = 0;
        memset(account->wished, 0, sizeof(account->wished));
        account->back = NULL;
        send_back(back, n);
    }
}

void hl_credit_hint(struct hl_credit_book *book)
{
    for (size_t i = 0; i < book->n; i++) {
        struct hl_credit_account *account = &book->accounts[i];
        if (!account->wants_hints || account->is_hinted || account->standing || account->returning)
            continue;
        struct hl_msg *work = calloc(1, sizeof(*work));
        if (!work)
            return;
        work->type = HL_STORE_WORK;
        account->is_hinted = true;
        hl_mailbox_post(account->box, work);
    }
}
