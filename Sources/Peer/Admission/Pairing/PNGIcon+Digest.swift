import Crypto

extension PNGIcon {
    /// SHA-256 of the file, 32 bytes.
    var digest: [UInt8] { Array(SHA256.hash(data: bytes)) }
}
