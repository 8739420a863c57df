/// Stands in for the parts of Admission that need other packages; no document is read with them.
enum SealedSetup {
    static func digest(of bytes: [UInt8]) -> [UInt8] { Array(repeating: 0, count: 32) }
}

extension PNGIcon {
    var digest: [UInt8] { Array(repeating: 0, count: 32) }
}
