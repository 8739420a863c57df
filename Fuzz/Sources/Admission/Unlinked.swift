/// Stands in for the parts of Admission that need other packages; no document is read with them.
package struct Identity: Sendable {
    let fingerprint: [UInt8]
    let certificateDER: [UInt8]
}

enum CertificateSignature {
    static let length = 64

    static func isValid(
        _ signature: [UInt8], over bytes: [UInt8], certificate: [UInt8], fingerprint: [UInt8]
    ) -> Bool { false }
}

enum SealedSetup {
    static func digest(of bytes: [UInt8]) -> [UInt8] { Array(repeating: 0, count: 32) }
}

extension PNGIcon {
    var digest: [UInt8] { Array(repeating: 0, count: 32) }
}

public struct ShortAuthenticationString: Hashable, Sendable, CustomStringConvertible {
    public let words: [String]
    public var description: String { words.joined(separator: " ") }

    package init?(words: [String]) {
        guard words.count == 4, words.allSatisfy({ WordList.words.contains($0) }) else { return nil }
        self.words = words
    }
}
