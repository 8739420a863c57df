package import NIOCore

/// Takes the parts of a response's body.
package protocol ResponseBodyWriter {
    mutating func write(_ buffer: ByteBuffer) async throws
    /// Called once, behind the last part.
    mutating func finish() async throws
}

/// The body of a response: its bytes, or what writes them as they come.
package struct ResponseBody: Sendable {
    enum Content: Sendable {
        case whole(ByteBuffer)
        case parts(@Sendable (inout any ResponseBodyWriter) async throws -> Void)
    }
    let content: Content

    package init(_ bytes: ByteBuffer = ByteBuffer()) { content = .whole(bytes) }

    /// - Parameter write: called once at most. The body ends when it returns.
    package init(_ write: @escaping @Sendable (_ writer: inout any ResponseBodyWriter) async throws -> Void) {
        content = .parts(write)
    }

    /// In bytes; nil if that is not known yet.
    package var length: Int? {
        if case .whole(let bytes) = content { bytes.readableBytes } else { nil }
    }

    /// Writes all of the body.
    package func write(_ writer: any ResponseBodyWriter) async throws {
        var writer = writer
        switch content {
        case .whole(let bytes): if bytes.readableBytes > 0 { try await writer.write(bytes) }
        case .parts(let write): try await write(&writer)
        }
        try await writer.finish()
    }
}
