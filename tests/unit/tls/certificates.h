/* certificates.h - what servers and authorities of tests of TLS are: P-256, made for them alone. */
#ifndef HL_TEST_CERTIFICATES_H
#define HL_TEST_CERTIFICATES_H

/* Of both certificates of servers. */
static const char server_key[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQguvr5UISxejyrYK3s\n"
    "F+rYOdLog5ubzm9pwdPRbJq67w2hRANCAAR+spL0nMzGAYRtztTCPTsboV3/+3Ek\n"
    "TcpbOzClWTj2k+iKiGsetzlEqaZ90kMiLZbi+VmNjGohTG7mP5/WJp27\n"
    "-----END PRIVATE KEY-----\n";

/* For app.test and 127.0.0.1, the subject other.test; valid until the year 2126. */
static const char app_certificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBgzCCASmgAwIBAgIUfRl4ilr9lQJjU1W5u08DqMzEc+MwCgYIKoZIzj0EAwIw\n"
    "DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI3MTIzNDE0WhgPMjEyNjExMDMxMjM0MTRa\n"
    "MBUxEzARBgNVBAMMCm90aGVyLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n"
    "AAR+spL0nMzGAYRtztTCPTsboV3/+3EkTcpbOzClWTj2k+iKiGsetzlEqaZ90kMi\n"
    "LZbi+VmNjGohTG7mP5/WJp27o10wWzAZBgNVHREEEjAQgghhcHAudGVzdIcEfwAA\n"
    "ATAdBgNVHQ4EFgQUdZdRWHtqt+r91hriIwGObAI1OgIwHwYDVR0jBBgwFoAU2t+m\n"
    "qBzFs0XPwKxX8203rrb0H08wCgYIKoZIzj0EAwIDSAAwRQIhAKVArcwEjeXY03KV\n"
    "E6ldE/KBoY7VmQ8jxWd0sl8aaukYAiB6JNsT+y6/eTPBhTgkPZyoQC+BQNxqE3TW\n"
    "QuzH2mSJww==\n"
    "-----END CERTIFICATE-----\n";

/* Has expired; names no host. */
static const char expired_certificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBCzCBsgIBATAKBggqhkjOPQQDAjANMQswCQYDVQQDDAJjYTAeFw0yNTAxMDEw\n"
    "MDAwMDBaFw0yNTAxMDIwMDAwMDBaMBcxFTATBgNVBAMMDGV4cGlyZWQudGVzdDBZ\n"
    "MBMGByqGSM49AgEGCCqGSM49AwEHA0IABH6ykvSczMYBhG3O1MI9OxuhXf/7cSRN\n"
    "yls7MKVZOPaT6IqIax63OUSppn3SQyItluL5WY2MaiFMbuY/n9YmnbswCgYIKoZI\n"
    "zj0EAwIDSAAwRQIgCrPcn2jv2sJ7zBA4A+3a9miWn2d3n/MvVMTd7swARDcCIQCq\n"
    "vOAa+pa1fGukqOdmzP4t32Vgi+0eb2eK5QBAwp9TtA==\n"
    "-----END CERTIFICATE-----\n";

#endif
