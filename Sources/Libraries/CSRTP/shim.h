#ifndef SHARE_CSRTP_H
#define SHARE_CSRTP_H
#include <srtp2/cipher.h>
#include <srtp2/srtp.h>
#endif
