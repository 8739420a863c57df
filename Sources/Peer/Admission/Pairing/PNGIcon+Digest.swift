internal import Cryptography

extension PNGIcon {
    /// SHA-256 of the file, 32 bytes.
    var digest: [UInt8] { SHA256Hash(of: bytes).bytes }
}
