package import Admission
package import Transport

extension SecureTransport.Identity {
    /// The certificate and key of a peer, for DTLS.
    package init(_ identity: Identity) {
        self.init(certificateDER: identity.certificateDER, privateKeyDER: identity.privateKeyDER)
    }
}
