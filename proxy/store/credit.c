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

static void keep_back(struct hl_credit_account *account, struct hl_credit *back)
{
    back->m.msg.next = account->backs;
    account->backs = &back->m.msg;
}

static struct hl_credit *pop_back(struct hl_credit_account *account)
{
    struct hl_credit *back = HL_CONTAINER_OF(account->backs, struct hl_credit, m.msg);
    account->backs = back->m.msg.next;
    return back;
}

static void free_backs(struct hl_credit_account *account)
{
    while (account->backs)
        free(pop_back(account));
}

void hl_credit_book_fini(struct hl_credit_book *book)
{
    for (size_t i = 0; i < book->n; i++)
        free_backs(&book->accounts[i]);
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

static void send_back(struct hl_mailbox *box, struct hl_credit *credit, uint32_t n)
{
    credit->n = n;
    credit->m.msg.type = HL_STORE_CREDIT_BACK;
    credit->m.rc = HL_OK;
    hl_mailbox_post(box, &credit->m.msg);
}

void hl_credit_add(struct hl_credit_book *book, struct hl_credit *credit)
{
    struct hl_credit_account *account = find_or_open(book, credit->m.reply_to);
    if (!account && credit->returns && credit->n > 0) {
        send_back(credit->m.reply_to, credit, credit->n);
        return;
    }
    if (account) {
        account->is_hinted = false;
        account->claims = credit->claims;
        account->wants_hints |= credit->returns || credit->n == 0;
        *(credit->returns ? &account->returning : &account->standing) += credit->n;
        if (credit->returns && credit->has_wish)
            account->wished[credit->wish] += credit->n;
        book->total += credit->n;
        if (credit->returns && credit->n > 0) {
            keep_back(account, credit);
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
    free_backs(account);
    account->wants_hints = account->is_hinted = false;
    account->taken = 0;
    account->withdrawals++;
}

/* A unit that is taken has a message of its own: what stays goes back without it. */
static struct hl_credit *take_back(struct hl_credit_account *account)
{
    bool is_needed = account->returning > 1 && !account->backs->next;
    return is_needed ? calloc(1, sizeof(struct hl_credit)) : pop_back(account);
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
    if (note->was_returning && !(note->back = take_back(account)))
        return false;
    account->taken++;
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
    if (hl_credit_is_void(book, note)) {
        free(note.back);
        return;
    }
    if (note.back)
        keep_back(account, note.back);
    account->taken--;
    ++*(note.was_returning ? &account->returning : &account->standing);
    if (note.has_wish)
        account->wished[note.wish]++;
    book->total++;
}

void hl_credit_count_claim(const struct hl_credit_book *book, struct hl_credit_note note)
{
    _Atomic uint32_t *claims = book->accounts[note.account].claims;
    if (claims)
        atomic_fetch_add(claims, 1);
}

void hl_credit_spend(struct hl_credit_book *book, struct hl_credit_note note)
{
    free(note.back);
    if (!hl_credit_is_void(book, note))
        book->accounts[note.account].taken--;
}

void hl_credit_return_unused(struct hl_credit_book *book)
{
    for (size_t i = 0; i < book->n; i++) {
        struct hl_credit_account *account = &book->accounts[i];
        if (account->returning == 0)
            continue;
        struct hl_credit *back = pop_back(account);
        uint32_t n = account->returning;
        book->total -= n;
        account->returning = 0;
        memset(account->wished, 0, sizeof(account->wished));
        free_backs(account);
        send_back(account->box, back, n);
    }
}

void hl_credit_hint(struct hl_credit_book *book)
{
    for (size_t i = 0; i < book->n; i++) {
        struct hl_credit_account *account = &book->accounts[i];
        bool has_some = account->standing + account->returning + account->taken > 0;
        if (!account->wants_hints || account->is_hinted || has_some)
            continue;
        struct hl_msg *work = calloc(1, sizeof(*work));
        if (!work)
            return;
        work->type = HL_STORE_WORK;
        account->is_hinted = true;
        hl_mailbox_post(account->box, work);
    }
}
