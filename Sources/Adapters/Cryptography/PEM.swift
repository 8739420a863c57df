internal import COpenSSL

/// The textual encoding of keys and certificates (RFC 7468).
public enum PEM {
    public struct Block: Sendable {
        /// As in "CERTIFICATE".
        public let label: String
        public let der: [UInt8]

        public init(_ label: String, _ der: [UInt8]) { (self.label, self.der) = (label, der) }
    }

    public static func text(_ block: Block) -> String {
        let memory = BIO_new(BIO_s_mem())
        defer { BIO_free(memory) }
        guard PEM_write_bio(memory, block.label, "", block.der, block.der.count) > 0 else {
            preconditionFailure("OpenSSL does not encode bytes as text")
        }
        let count = Int(BIO_ctrl_pending(memory))
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            length = Int(max(BIO_read(memory, buffer.baseAddress, Int32(count)), 0))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The blocks of a text, in their order; nil if one of them is damaged or has headers.
    public static func blocks(of text: String) -> [Block]? {
        OpenSSL.call {
            Array(text.utf8).withUnsafeBufferPointer { bytes in
                guard !bytes.isEmpty, let memory = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
                else { return [] }
                defer { BIO_free(memory) }
                var blocks: [Block] = []
                while true {
                    var (label, header): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
                    var (data, count): (UnsafeMutablePointer<UInt8>?, Int) = (nil, 0)
                    guard PEM_read_bio(memory, &label, &header, &data, &count) == 1 else {
                        return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE ? blocks : nil
                    }
                    defer {
                        cssl_free(label)
                        cssl_free(header)
                        cssl_free(data)
                    }
                    guard let label, let header, header.pointee == 0 else { return nil }
                    blocks.append(
                        Block(String(cString: label), Array(UnsafeBufferPointer(start: data, count: count))))
                }
            }
        }
    }
}

extension PEM.Block: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["label": label]) }
}
