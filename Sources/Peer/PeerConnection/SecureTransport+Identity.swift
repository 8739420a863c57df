package import Identity

extension SecureTransport.Identity {
    /// The certificate and key of a peer, for DTLS.
    package init(_ identity: Identity) {
        self.init(certificateDER: identity.certificateDER, privateKeyDER: identity.privateKeyDER)
    }
}
