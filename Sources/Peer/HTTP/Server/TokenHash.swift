package import Crypto

/// The hash of a bearer token. Only hashes are stored and compared, so that the time taken reveals nothing about a
/// token.
package typealias TokenHash = SHA256.Digest

extension TokenHash {
    package init(of token: String) { self = SHA256.hash(data: Array(token.utf8)) }
}
