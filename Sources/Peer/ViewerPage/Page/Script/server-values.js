// Values of the server, which replaces the words in double braces (PageFiles.swift).

// 256 words in the protocol's order.
export const wordList = '{{words}}'.split(' ');
// Sentence and hint for a link whose broadcast is over.
export const oldLinkMessage = ['{{oldLink}}', '{{oldLinkRemedy}}'];
// The SHA-256 of the certificate with whose key this server signs, in base64url.
export const serverFingerprint = '{{serverFingerprint}}';
