/* unread_git.c - stands for libgit2 in the programs of tests: criterion brings it for the differences that its newer
 * assertions show, which no test here uses. Each test is a process of its own, which would load it and what it needs
 * (OpenSSL, Kerberos, ssh), read the machine's certificates for it, and look through all of them for leaks at its end. */
int git_libgit2_init(void);
int git_libgit2_shutdown(void);
int git_diff_buffers(void);

/* How often it was called. */
int git_libgit2_init(void)
{
    return 1;
}

int git_libgit2_shutdown(void)
{
    return 0;
}

/* Fails: there is no difference to be shown. */
int git_diff_buffers(void)
{
    return -1;
}
