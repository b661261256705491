/* catalog.c - all commands. What help, completion and the man page say comes from here.
 * Not here: how one is found among them (command.c), what its options mean (synopsis.c). */
#include "cli/catalog.h"

#include "cli/backup.h"
#include "cli/call.h"
#include "cli/check.h"
#include "cli/completion.h"
#include "cli/config.h"
#include "cli/dashboard.h"
#include "cli/deliveries.h"
#include "cli/destinations.h"
#include "cli/dev.h"
#include "cli/health.h"
#include "cli/help.h"
#include "cli/key.h"
#include "cli/man.h"
#include "cli/outcome.h"
#include "cli/redeliver.h"
#include "cli/runs.h"
#include "cli/sign.h"
#include "cli/store.h"
#include "cli/story.h"
#include "cli/token.h"

#define RUN      "01a201a0-7ddc"
#define BODY     "'{\"text\": \"hi\"}'"
#define WITH_TWO "--id " RUN "-7120-be8f-0d98886c0abe --timestamp 1795334400 --signature v1,4f8a…"

const struct hl_cli_command hl_cli_commands[] = {
    {"serve", NULL, NULL, "run the sidecar; also what happens without a command",
        {"serve", "config check && hookline serve"}, false},
    {"dev", hl_cli_dev, "[--fail-hooks LIST] PYTHON_FILE | URL | -- COMMAND …",
        "run an app under work with hookline in front, no settings; again when its files change",
        {"dev main.py", "dev --fail-hooks 500,timeout -- npm start"}, false},
    {"call", hl_cli_call,
        "PATH [--json BODY] [--data BODY] [--header FIELD] [--method M] [--async] [--webhook URL] "
        "[--project P]",
        "call the app through hookline, with a token of this machine, and print what it answers",
        {"call /v4/demo/words/run --json " BODY,
            "call /v4/demo/words/run --json @body.json --async"},
        true},
    {"token create", hl_cli_token_create,
        "--name NAME --expires TIME [--project P] [--role invoke|admin] [--rate 100/s|m|h|d] "
        "[--max-running N] [--max-queued N] [--max-priority high|normal|low]",
        "make a service account and print its token, this once",
        {"token create --project demo --name ci --expires 90d",
            "token create --name ops --role admin --expires 2027-01-31"},
        true},
    {"token list", hl_cli_token_list, "[--project P] [--json]",
        "list service accounts, revoked and expired ones too",
        {"token list", "token list --project demo --json"}, true},
    {"token revoke", hl_cli_token_revoke, "ID", "refuse a service account's token from now on",
        {"token revoke 01a201b0-de13-7679-a880-d5f0d89eee58", "token revoke 01a201b0-de13"}, true},
    {"runs list", hl_cli_runs_list,
        "[--project P] [--app A] [--state queued|running|success|failure|cancelled] "
        "[--async|--sync] [--path PART] [--status CODE|CLASS|none] [--reason REASON] "
        "[--webhook none|pending|delivered|dead] [--since TIME] [--until TIME] [--limit N] "
        "[--follow] [--json]",
        "list runs, newest first",
        {"runs list --state failure --since 1h", "runs list --follow --app words"}, true},
    {"runs show", hl_cli_runs_show, "RUN_ID [--json]",
        "say what became of a run, with every attempt of its webhook",
        {"runs show " RUN, "runs show " RUN " --json"}, true},
    {"runs result", hl_cli_runs_result, "RUN_ID [--wait] [--output FILE]",
        "print the response of a run, as the app gave it",
        {"runs result " RUN, "runs result " RUN " --wait --output result.png"}, true},
    {"runs logs", hl_cli_runs_logs, "RUN_ID [--json]",
        "what was logged about a run; a line of JSON each where it does not go to a terminal",
        {"runs logs " RUN, "runs logs " RUN " --json | jq .msg"}, true},
    {"runs wait", hl_cli_runs_wait, "RUN_ID [--timeout TIME]",
        "wait for a run's end; exit with 0 if it is a success",
        {"runs wait " RUN, "runs wait " RUN " --timeout 10m && echo done"}, true},
    {"runs send", hl_cli_runs_send,
        "APP [--json BODY] [--data BODY] [--header FIELD] [--webhook URL] [--project P] [--wait]",
        "begin an asynchronous run of an app and print its id; with --wait its response",
        {"runs send words --project demo --json " BODY, "runs send words --json @body.json --wait"},
        true},
    {"runs cancel", hl_cli_runs_cancel, "RUN_ID", "end a run: a queued one never starts",
        {"runs cancel " RUN "-7120-be8f-0d98886c0abe", "runs cancel " RUN}, true},
    {"runs rerun", hl_cli_runs_rerun, "RUN_ID",
        "a new run with the kept request of one that has ended",
        {"runs rerun " RUN, "runs wait $(hookline runs rerun " RUN ")"}, true},
    {"runs redeliver", hl_cli_runs_redeliver,
        "RUN_ID | --since TIME [--until TIME] [--state dead|delivered] [--app A] "
        "[--destination URL] [--status CODE|CLASS|none] [--project P] [--after DELIVERY_ID] "
        "[--dry-run] [--yes]",
        "send a run's webhook again, or all dead ones since a time",
        {"runs redeliver " RUN, "runs redeliver --since 1h --dry-run"}, true},
    {"deliveries list", hl_cli_deliveries_list,
        "[--project P] [--app A] [--run RUN_ID] [--state pending|delivered|dead] "
        "[--destination URL] [--status CODE|CLASS|none] [--since TIME] [--until TIME] [--limit N] "
        "[--json]",
        "list webhooks, newest first",
        {"deliveries list --state dead --since 1d", "deliveries list --run " RUN}, true},
    {"deliveries show", hl_cli_deliveries_show, "DELIVERY_ID [--json]",
        "say what became of a webhook, attempt by attempt",
        {"deliveries show 01a201a0-7de7", "deliveries show 01a201a0-7de7 --json"}, true},
    {"deliveries redeliver", hl_cli_deliveries_redeliver,
        "DELIVERY_ID | --since TIME [--until TIME] [--state dead|delivered] [--app A] "
        "[--destination URL] [--status CODE|CLASS|none] [--project P] [--after DELIVERY_ID] "
        "[--dry-run] [--yes]",
        "send a webhook again, or all dead ones since a time",
        {"deliveries redeliver 01a201a0-7de7",
            "deliveries redeliver --since 1h --app words --dry-run"},
        true},
    {"deliveries destinations", hl_cli_deliveries_destinations,
        "[--project P] [--limit N] [--json]",
        "list where webhooks go, and which of those places do not answer",
        {"deliveries destinations --project demo",
            "deliveries destinations --json | jq 'select(.failing_since)'"},
        true},
    {"sign", hl_cli_sign, "--id RUN_ID [--timestamp SECONDS] [--secret-file FILE] [FILE]",
        "print the fields that sign a webhook's body, from FILE or stdin",
        {"sign --id " RUN "-7120-be8f-0d98886c0abe --secret-file secret body.json",
            "sign --id " RUN "-7120-be8f-0d98886c0abe < body.json"},
        false},
    {"verify", hl_cli_verify,
        "--id RUN_ID --timestamp SECONDS --signature TEXT [--secret-file FILE] [FILE]",
        "exit with 0 if the signature is that of the body, from FILE or stdin",
        {"verify " WITH_TWO " body.json", "verify " WITH_TWO " --secret-file secret < body.json"},
        false},
    {"key create", hl_cli_key_create, NULL,
        "print a new key: HOOKLINE_KEY of all replicas on one database",
        {"key create", "key create > /etc/hookline/key"}, false},
    {"store migrate", hl_cli_store_migrate, "[--role ROLE]",
        "make or update the schema in PostgreSQL, and let replicas connect as that role",
        {"store migrate", "store migrate --role hookline"}, false},
    {"store status", hl_cli_store_status, "[--json]",
        "with PostgreSQL: the replicas, what they have and what waits",
        {"store status", "store status --json"}, false},
    {"store import", hl_cli_store_import, "DATA_DIR",
        "bring into PostgreSQL what the data directory of a stopped hookline holds",
        {"store import /var/lib/hookline", "store import ./hookline-data"}, false},
    {"store rekey", hl_cli_store_rekey, NULL,
        "with PostgreSQL: seal anew, with HOOKLINE_KEY, what HOOKLINE_PREVIOUS_KEY opens",
        {"store rekey", "store status && hookline store rekey"}, false},
    {"store backup", hl_cli_store_backup, "[--rate SIZE] DIR",
        "copy the data directory as it is at one moment, beside the sidecar that runs on it",
        {"store backup /backup/hookline", "store backup --rate 8MiB /backup/$(date +%F)"}, false},
    {"store check", hl_cli_store_check, "[DIR]",
        "read all of the data directory, or of another one, and say what is damaged",
        {"store check", "store check /backup/hookline"}, false},
    {"dashboard", hl_cli_dashboard, "[--project P]",
        "print a link to the dashboard that signs in for an hour",
        {"dashboard --project demo", "dashboard"}, false},
    {"health", hl_cli_health, NULL,
        "exit with 0 if the sidecar is ready: for container health checks",
        {"health", "health && echo ready"}, false},
    {"config check", hl_cli_config_check, NULL,
        "say whether hookline could start with these settings; changes nothing",
        {"config check", "config check && systemctl restart hookline"}, false},
    {"config show", hl_cli_config_show, NULL, "print the settings in effect, secrets masked",
        {"config show", "config show | grep WEBHOOK"}, false},
    {"config table", hl_cli_config_table, NULL, "print all settings as a Markdown table",
        {"config table", "config table > settings.md"}, false},
    {"completion", hl_cli_completion, "bash|zsh|fish",
        "print what makes a shell complete commands, options and what options take",
        {"completion bash > /etc/bash_completion.d/hookline", "completion fish | source"}, false},
    {"man", hl_cli_man, NULL, "print the manual page", {"man > hookline.1", "man | man -l -"},
        false},
    {"help", hl_cli_help_words, "[COMMAND…]",
        "say what there is; about a command: its options and two examples",
        {"help runs list", "help deliveries"}, false},
    {"version", hl_cli_version, NULL, "print the version", {"version", "--version"}, false},
    {"--help", hl_cli_help, NULL, "print the commands, and every setting",
        {"--help", "--help | grep -A3 RETENTION"}, false},
    {"--version", hl_cli_version, NULL, "print the version", {"--version", "version"}, false},
};

const size_t hl_cli_command_count = HL_ARRAY_LEN(hl_cli_commands);
