# common.sh - what the scripts here share; they source it.

# connects PORT
connects() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# listens PORT PID TRIES: waits until that process does, a tenth of a second a try; false: it ended, or does not.
listens() {
    local i
    for ((i = 0; i < $3; i++)); do
        # Twice: hookline tries its ports first, and under valgrind it is a while until it listens for good.
        ! connects "$1" || ! sleep 0.5 || ! connects "$1" || return 0
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# A good token of about 400 bytes, `token`, with `claims`, signed with `secret`.
make_token() {
    secret=$(head -c 24 /dev/urandom | base64url)
    claims=$(printf '{"iss":"https://id.example/realms/bench","sub":"%036d","aud":"hookline","project_id":"p","iat":%d,"exp":%d,"jti":"%036d"}' \
        1 "$(date +%s)" $(($(date +%s) + 86400)) 2 | base64url)
    token=$(printf '{"alg":"HS256","typ":"JWT"}' | base64url).$claims
    token+=.$(printf %s "$token" | openssl dgst -sha256 -hmac "$secret" -binary | base64url)
}

base64url() {
    base64 -w0 | tr '+/' '-_' | tr -d =
}
