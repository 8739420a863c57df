import Admission
import Transport

extension SecureTransport.Identity {
    /// The certificate and key of a peer, for DTLS.
    init(_ identity: Identity) {
        self.init(certificateDER: identity.certificateDER, privateKeyDER: identity.privateKeyDER)
    }
}
