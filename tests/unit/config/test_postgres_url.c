/* test_postgres_url.c - libpq's connection strings, taken apart as libpq does. */
#include "config/postgres_url.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* "name", "name=address", "=address", one behind the other. */
static void write_hosts(const struct hl_postgres_url *url, char *out, size_t cap)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < url->host_count; i++) {
        const struct hl_postgres_host *host = &url->hosts[i];
        n += (size_t)snprintf(out + n, cap - n, "%s%.*s%s%.*s", i > 0 ? " " : "",
            HL_STR_ARG(host->name), host->address.n > 0 ? "=" : "", HL_STR_ARG(host->address));
    }
}

struct expected {
    const char *text, *hosts, *sslmode;
    bool has_password;
};

static void assert_parts(const struct expected *e, char *(*look_up)(const char *))
{
    struct hl_postgres_url url;
    char hosts[512];
    cr_assert_eq(hl_postgres_url_parse(&url, hl_str_from(e->text), look_up), HL_OK, "%s", e->text);
    write_hosts(&url, hosts, sizeof(hosts));
    cr_assert_str_eq(hosts, e->hosts, "%s: %s", e->text, hosts);
    cr_assert(hl_str_eq(url.sslmode, hl_str_from(e->sslmode)), "%s: %.*s", e->text,
        HL_STR_ARG(url.sslmode));
    cr_assert_eq(url.has_password, e->has_password, "%s", e->text);
    hl_postgres_url_fini(&url);
}

Test(postgres_url, reads_the_uri_form)
{
    static const struct expected cases[] = {
        {"postgres://", "", "", false},
        {"postgresql://", "", "", false},
        {"postgresql:///hookline", "", "", false},
        {"postgres://db", "db", "", false},
        {"postgres://db:5432/hookline", "db", "", false},
        {"postgres://me@db/", "db", "", false},
        {"postgres://me:@db/", "db", "", false},
        {"postgres://me:word@db:5432/hookline", "db", "", true},
        {"postgres://me:w%40r%2Fd@db/hookline", "db", "", true},
        {"postgres://me:wo?rd@db/hookline", "db", "", true},
        {"postgres://:word@db", "db", "", true},
        {"postgres://a,b:1,c/hookline", "a b c", "", false},
        {"postgres://a:1,b:2,c:3?sslmode=verify-full", "a b c", "verify-full", false},
        {"postgres://me@a,b", "a b", "", false},
        {"postgres://,b/", " b", "", false},
        {"postgres://a%2cb/", "a b", "", false},
        {"postgres://[::1]/", "::1", "", false},
        {"postgres://[2001:db8::1]:5432,[fe80::1%25eth0]:5433/x", "2001:db8::1 fe80::1%eth0", "",
            false},
        {"postgres://%2Fvar%2Frun%2Fpostgresql/x", "/var/run/postgresql", "", false},
        {"postgres://%2fvar%2frun:5433/x", "/var/run", "", false},
        {"postgres:///x?host=/var/run/postgresql", "/var/run/postgresql", "", false},
        {"postgres://a/x?host=b", "b", "", false},
        {"postgres://db/x?sslmode=require&connect_timeout=5", "db", "require", false},
        {"postgres://db/x?sslmode=disable&sslmode=verify%2Dfull", "db", "verify-full", false},
        {"postgres://db/x?ssl=true", "db", "require", false},
        {"postgres://db/x?password=word", "db", "", true},
        {"postgres://db/x?user=me@server&hostaddr=10.0.0.1", "db=10.0.0.1", "", false},
        {"postgres://db?", "db", "", false},
        {"postgres://db?sslmode=", "db", "", false},
        {"postgres://db?sslmode=allow&", "db", "allow", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        assert_parts(&cases[i], NULL);
}

Test(postgres_url, reads_the_keyword_form)
{
    static const struct expected cases[] = {
        {"host=db", "db", "", false},
        {"host=db dbname=hookline user=me password=word", "db", "", true},
        {" host = db  sslmode\t=\n require ", "db", "require", false},
        {"host='db' sslmode='verify-full'", "db", "verify-full", false},
        {"host='db'sslmode=require", "db", "require", false},
        {"password='it\\'s = host=x' host=db", "db", "", true},
        {"password=it\\'s\\ host=x host=db", "db", "", true},
        {"password=it's host=db", "db", "", true},
        {"password='' host=db", "db", "", false},
        {"password= host=db", "", "", true},
        {"password=word\\", "", "", true},
        {"host=a,b,c port=1,2,3", "a b c", "", false},
        {"host=/var/run/postgresql", "/var/run/postgresql", "", false},
        {"host=@hookline", "@hookline", "", false},
        {"host=::1", "::1", "", false},
        {"hostaddr=10.0.0.1,::1", "=10.0.0.1 =::1", "", false},
        {"host=a,b hostaddr=10.0.0.1,", "a=10.0.0.1 b", "", false},
        {"host=a host=b", "b", "", false},
        {"sslmode=verify-full requiressl=1", "", "require", false},
        {"dbname=postgres://x@y/z", "", "", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        assert_parts(&cases[i], NULL);
}

Test(postgres_url, that_libpq_could_not_read_is_refused)
{
    static const char *const cases[] = {
        "",
        " ",
        "hookline",
        "db.example:5432/hookline",
        "host",
        "host db",
        "=db",
        "host='db",
        "host='db\\",
        "password='it''s' host=db",
        "host=db password=two words",
        "Host=db",
        "postgres:/db?sslmode=require",
        "Postgres://db/x?sslmode=require",
        "jdbc:postgresql://db/x?sslmode=require",
        "postgres://[::1",
        "postgres://[]/",
        "postgres://[::1]x/",
        "postgres://db?sslmode",
        "postgres://db?sslmode=a=b",
        "postgres://db?=x",
        "postgres://db/%zz",
        "postgres://db/%4",
        "postgres://db%00/",
        "postgres://me:%@db/",
        "postgres://me%1:word@db/",
        "host=a,b hostaddr=10.0.0.1",
        "postgres://db/x?no_such=1",
        "host=db sslmod=require",
    };
    struct hl_postgres_url url;
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_eq(hl_postgres_url_parse(&url, hl_str_from(cases[i]), NULL), HL_ERR_INVALID, "%s",
            cases[i]);
    cr_assert_eq(hl_postgres_url_parse(&url, HL_STR("host=db\0x"), NULL), HL_ERR_INVALID);
}

Test(postgres_url, takes_no_part_of_a_password_for_a_host)
{
    static const char *const cases[] = {
        "postgres://me:wo@rd@db/x",
        "postgres://me:wo@rd:x@db/x",
        "postgres://me:wo/rd@db/x",
        "postgres://me:1/rd@db/x",
        "postgres://me:1@2/rd@db/x",
        "postgres://me:w@@rd@db/x",
        "postgres://me:w@!rd/x",
        "postgres://me:word/x",
        "host=db password=w host='w rd'",
        "host=me:word@db",
        "host=@a@b",
        "host=db port=word",
    };
    struct hl_postgres_url url;
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_eq(hl_postgres_url_parse(&url, hl_str_from(cases[i]), NULL), HL_ERR_INVALID, "%s",
            cases[i]);
}

static char *environment(const char *name)
{
    return strcmp(name, "PGHOST") == 0      ? "env-host"
           : strcmp(name, "PGSSLMODE") == 0 ? "verify-full"
                                            : NULL;
}

static char *address_environment(const char *name)
{
    return strcmp(name, "PGHOSTADDR") == 0 ? "10.0.0.9" : NULL;
}

Test(postgres_url, is_silent_where_the_environment_speaks)
{
    static const struct expected cases[] = {
        {"postgres:///x", "env-host", "verify-full", false},
        {"postgres://db/x", "db", "verify-full", false},
        {"postgres:///x?sslmode=disable", "env-host", "disable", false},
        {"dbname=x", "env-host", "verify-full", false},
        {"host='' sslmode=''", "", "", false},
        {"service=x", "", "", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        assert_parts(&cases[i], environment);
    static const struct expected addressed = {"postgres://db/x", "db=10.0.0.9", "", false};
    assert_parts(&addressed, address_environment);
}

static char *service_environment(const char *name)
{
    return strcmp(name, "PGSERVICE") == 0 ? "x" : environment(name);
}

static size_t count_exposed(const char *text, char *(*look_up)(const char *))
{
    struct hl_postgres_url url;
    size_t n = 0;
    cr_assert_eq(hl_postgres_url_parse(&url, hl_str_from(text), look_up), HL_OK, "%s", text);
    for (size_t i = 0; i < url.host_count; i++)
        n += hl_postgres_url_is_exposed(&url, &url.hosts[i]);
    hl_postgres_url_fini(&url);
    return n;
}

Test(postgres_url, is_exposed_beyond_the_machine_unless_the_certificate_is_verified)
{
    static const struct {
        const char *text;
        size_t exposed;
    } cases[] = {
        {"postgres://db/x", 1},
        {"postgres://db/x?sslmode=require", 1},
        {"postgres://db/x?sslmode=verify-ca", 1},
        {"postgres://db/x?sslmode=verify-full", 0},
        {"postgres:///x", 0},
        {"postgres://localhost,LOCALHOST,127.0.0.1,127.8.9.1,[::1]/x", 0},
        {"postgres://[::ffff:127.0.0.1],[::2],128.0.0.1,localhost.example/x", 3},
        {"postgres://%2Frun%2Fa,b,localhost,c/x", 2},
        {"host=@a sslmode=disable", 0},
        {"host=db hostaddr=127.0.0.1", 0},
        {"host=localhost hostaddr=10.0.0.1", 1},
        {"service=x", 0},
        {"service=x host=db", 0},
        {"service=x host=db sslmode=require", 1},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_eq(count_exposed(cases[i].text, NULL), cases[i].exposed, "%s", cases[i].text);
    cr_assert_eq(count_exposed("postgres://db/x", environment), 0);
    cr_assert_eq(count_exposed("sslmode=prefer", environment), 1);
    cr_assert_eq(count_exposed("postgres://db/x", service_environment), 0);
}

Test(postgres_url, is_printable_and_of_4096_bytes_at_most)
{
    static char text[HL_POSTGRES_URL_MAX + 2] = "password=";
    size_t n = strlen(text);
    memset(text + n, 'x', sizeof(text) - n);
    cr_assert(hl_postgres_url_is_valid((struct hl_str){text, HL_POSTGRES_URL_MAX}));
    cr_assert_not(hl_postgres_url_is_valid((struct hl_str){text, HL_POSTGRES_URL_MAX + 1}));
    cr_assert(hl_postgres_url_is_valid(HL_STR("postgres://db/x")));
    cr_assert(hl_postgres_url_is_valid(HL_STR("password=\xc3\xbc host=db")));
    cr_assert_not(hl_postgres_url_is_valid(HL_STR("host=db\nuser=me")));
    cr_assert_not(hl_postgres_url_is_valid(HL_STR("host=db\x7f")));
}
