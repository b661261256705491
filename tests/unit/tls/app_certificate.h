/* app_certificate.h - what a server that is an app shows, in tests of TLS. */
#ifndef HL_TEST_APP_CERTIFICATE_H
#define HL_TEST_APP_CERTIFICATE_H

/* For app.test and 127.0.0.1, the subject other.test; valid until the year 2126. */
static const char app_certificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBgzCCASmgAwIBAgIUYZDWW4a+1F4RwtcaxJaL5UIyTLMwCgYIKoZIzj0EAwIw\n"
    "DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI3MDg1NTAzWhgPMjEyNjExMDMwODU1MDNa\n"
    "MBUxEzARBgNVBAMMCm90aGVyLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n"
    "AAQ3zFbZdgkeWnI+x1kt/yBu7nz5BpF00K0UtfdoIllikk7lANgjEf/qL9I0XV0W\n"
    "vYqIwmt3DVXNiioO+gHItO3/o10wWzAZBgNVHREEEjAQgghhcHAudGVzdIcEfwAA\n"
    "ATAdBgNVHQ4EFgQUUGGlj9QH2deCAQzlZX+MY0anE74wHwYDVR0jBBgwFoAUszyZ\n"
    "ba4lDLyeoIefpskO34vbMH8wCgYIKoZIzj0EAwIDSAAwRQIhAP2pvyezR4+3kcsX\n"
    "oGqXnJT1bUvI7uLj8HGrz7k1NEC0AiAWhdoEDsyIMxpjWdPrf3uNfVmZHFRcezO2\n"
    "IcAGtdY9oA==\n"
    "-----END CERTIFICATE-----\n";

#endif
