/// Stands in for the parts of Identity that need other packages; no document is read with them.
package struct Identity: Sendable {
    package let fingerprint: [UInt8]
    package let certificateDER: [UInt8]
}

package enum CertificateSignature {
    package static let length = 64

    package static func isValid(
        _ signature: [UInt8], over bytes: [UInt8], certificate: [UInt8], fingerprint: [UInt8]
    ) -> Bool { false }
}

public struct ShortAuthenticationString: Hashable, Sendable, CustomStringConvertible {
    public let words: [String]
    public var description: String { words.joined(separator: " ") }

    package init?(words: [String]) {
        guard words.count == 4, words.allSatisfy({ WordList.words.contains($0) }) else { return nil }
        self.words = words
    }
}
