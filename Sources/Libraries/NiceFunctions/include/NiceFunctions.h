#ifndef SHARE_NICE_FUNCTIONS_H
#define SHARE_NICE_FUNCTIONS_H

// The functions of libnice that ICETransport calls, under their own names (NiceFunctions.c): the first call of one loads the
// library. libnice needs 24 others that nobody else does (UPnP, HTTP, Kerberos, ICU), and programs that are linked with it take
// a quarter longer to start.

// Loads libnice, unless that was done before; from any thread. Returns NULL, or why it cannot be loaded, in the words of the
// dynamic linker. A function that is called all the same then ends the process.
const char *nice_functions_load(void);

#endif
