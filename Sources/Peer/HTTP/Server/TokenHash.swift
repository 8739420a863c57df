package import Cryptography

/// The hash of a bearer token. Only hashes are stored and compared, so that the time taken reveals nothing about a
/// token.
package typealias TokenHash = SHA256Hash

extension TokenHash {
    package init(of token: String) { self.init(of: Array(token.utf8)) }
}
