import DTLSTransport
import Identity

/// The identity that the last session of a loop used, which is nearly always that of the next. Confined to the network
/// loop.
final class DTLSIdentityCache {
    private var last: (certificateDER: [UInt8], identity: DTLSIdentity)?

    func identity(of own: Identity) throws(DTLSFailure) -> DTLSIdentity {
        if let last, last.certificateDER == own.certificateDER { return last.identity }
        let made = try DTLSIdentity(certificateDER: own.certificateDER, privateKeyDER: own.privateKeyDER)
        last = (own.certificateDER, made)
        return made
    }
}
