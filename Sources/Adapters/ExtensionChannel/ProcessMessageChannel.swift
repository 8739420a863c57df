import FoundationEssentials
internal import Glibc
internal import LinuxRuntime

/// Why a connection cannot be used any more.
enum ChannelFailure: Error, Equatable {
    /// The other side has closed it.
    case closed
    /// A message is no JSON of its type, or longer than the limit.
    case malformed
}

/// Messages over a connection between two processes: 32 bits of length in network byte order, and JSON. Confined to one
/// thread at a time.
// SAFETY: whoever uses it holds the lock of its owner.
final class ProcessMessageChannel<Incoming: Decodable, Outgoing: Encodable>: @unchecked Sendable {
    /// The longest JSON of one message, in bytes.
    static var messageLimit: Int { 98_304 }

    private let connection: LocalConnection
    private var input: [UInt8] = []
    /// Descriptors whose messages have not been taken yet.
    private var attachments: [Int32] = []
    private var output: [(bytes: [UInt8], attachment: SharedMemory?)] = []
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)
    /// A program that sends no memory gets no descriptors of its host's table.
    private let takesAttachments: Bool

    init(_ connection: LocalConnection, takesAttachments: Bool) {
        self.connection = connection
        self.takesAttachments = takesAttachments
    }

    deinit {
        for file in attachments { close(file) }
        buffer.deallocate()
    }

    var descriptor: Int32 { connection.descriptor }

    /// Whether messages wait because the other side does not read.
    var isBlocked: Bool { !output.isEmpty }

    /// Sends a message, or keeps it until `flush`.
    func send(_ message: Outgoing, attachment: SharedMemory? = nil) throws(ChannelFailure) {
        guard let json = try? JSONEncoder().encode(message), json.count <= Self.messageLimit else { throw .malformed }
        let length = UInt32(json.count)
        let header = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
        output.append((header + json, attachment))
        try flush()
    }

    /// Sends what waits, as far as the other side has room.
    func flush() throws(ChannelFailure) {
        while let (bytes, attachment) = output.first {
            switch bytes.withUnsafeBytes({ connection.send($0, attachment: attachment?.descriptor) }) {
            case .closed: throw .closed
            case .wouldBlock: return
            case .done(let count) where count == bytes.count: output.removeFirst()
            // The descriptor went with the first byte.
            case .done(let count): output[0] = (Array(bytes[count...]), nil)
            }
        }
    }

    /// Reads what the other side has sent, once.
    /// - Returns: false if there was nothing.
    func fill() throws(ChannelFailure) -> Bool {
        var attachment: Int32?
        let result = connection.receive(into: buffer, attachment: &attachment)
        if let attachment {
            guard takesAttachments, attachments.count < 8 else {
                close(attachment)
                throw .malformed
            }
            attachments.append(attachment)
        }
        switch result {
        case .closed: throw .closed
        case .wouldBlock: return false
        case .done(let count):
            input.append(contentsOf: buffer[..<count])
            return true
        }
    }

    /// Takes the next complete message.
    func next() throws(ChannelFailure) -> Incoming? {
        guard input.count >= 4 else { return nil }
        let length = input[..<4].reduce(0) { $0 << 8 | Int($1) }
        guard length <= Self.messageLimit else { throw .malformed }
        guard input.count >= 4 + length else { return nil }
        let json = Data(input[4..<(4 + length)])
        input.removeFirst(4 + length)
        guard let message = try? JSONDecoder().decode(Incoming.self, from: json) else { throw .malformed }
        return message
    }

    /// Takes the descriptor of the next message that has one; the caller owns it.
    func takeAttachment() -> Int32? { attachments.isEmpty ? nil : attachments.removeFirst() }
}
