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

extension PNGIcon {
    var digest: [UInt8] { Array(repeating: 0, count: 32) }
}
