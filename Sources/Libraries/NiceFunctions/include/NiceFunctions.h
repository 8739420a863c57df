#ifndef SHARE_NICE_FUNCTIONS_H
#define SHARE_NICE_FUNCTIONS_H

// The functions of libnice that ICETransport calls, under their own names (NiceFunctions.c): the first call of one loads the
// library. libnice needs 30 more that nobody else does (UPnP, HTTP, Kerberos, ICU), and programs that are linked with it take
// 20 ms longer to start.

// Loads libnice, unless that was done before; from any thread. Where it is missing the process ends with 127, as that of a
// program that is linked with it does.
void nice_functions_load(void);

#endif
