package import NIOCore
import NIOHTTP1

/// A connection of a server, with one request at a time. It belongs to the connection's task.
package final class ServerConnection {
    package let channel: any Channel
    private var parts: NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
    /// All of the present request has been read.
    private var hasEnded = true
    /// The response to the present request has no body.
    private var isHead = false
    /// No further request is answered.
    private var isLast = false

    private init(
        _ channel: any Channel, _ parts: NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator,
        _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
    ) {
        (self.channel, self.parts, self.outbound) = (channel, parts, outbound)
    }

    /// Answers the requests of a connection until it is closed.
    static func serve(_ connection: HTTPServer.Connection, _ respond: HTTPServer.Respond) async {
        // It fails only if the connection does, which is closed then.
        try? await connection.executeThenClose { inbound, outbound in
            let server = ServerConnection(connection.channel, inbound.makeAsyncIterator(), outbound)
            do {
                while let request = try await server.nextRequest() { try await respond(request, server) }
            } catch is HTTPParserError {
                try await server.refuse()
            }
            outbound.finish()
            try await connection.channel.closeFuture.get()
        }
    }

    private func nextRequest() async throws -> ServerRequest? {
        while !isLast, let part = try await parts.next() {
            // What was not read of the last request's body is skipped.
            guard case .head(let head) = part else { continue }
            (hasEnded, isHead, isLast) = (false, head.method == .HEAD, !head.isKeepAlive)
            return try ServerRequest(head)
        }
        return nil
    }

    /// Reads the body of the present request.
    /// - Returns: nil if it has more than `limit` bytes.
    /// - Throws: if the connection ends within it.
    package func readBody(upTo limit: Int) async throws -> ByteBuffer? {
        var body = ByteBuffer()
        while !hasEnded {
            switch try await parts.next() {
            case .body(var bytes):
                guard body.readableBytes + bytes.readableBytes <= limit else { return nil }
                body.writeBuffer(&bytes)
            case .end: hasEnded = true
            case .head, nil: throw ChannelError.inputClosed
            }
        }
        return body
    }

    /// Has the client send the body (RFC 9110 section 10.1.1).
    package func askForBody() async throws {
        try await outbound.write(.head(HTTPResponseHead(version: .http1_1, status: .continue)))
    }

    /// Writes the response to the present request, until the end of its body.
    package func write(_ response: RouteResponse) async throws {
        if !response.isConnectionKept { isLast = true }
        let response = isHead ? response.withoutBody : response
        let head = HTTPServerResponsePart.head(response.head)
        switch response.body.content {
        case .whole(let body) where body.readableBytes == 0: try await outbound.write(contentsOf: [head, .end(nil)])
        case .whole(let body):
            try await outbound.write(contentsOf: [head, .body(.byteBuffer(body)), .end(nil)])
        case .parts:
            try await outbound.write(head)
            try await response.body.write(BodyWriter(outbound: outbound))
        }
    }

    /// Answers what is no request.
    private func refuse() async throws {
        let head = HTTPResponseHead(
            version: .http1_1, status: .badRequest, headers: ["connection": "close", "content-length": "0"])
        try await outbound.write(contentsOf: [.head(head), .end(nil)])
    }

    private struct BodyWriter: ResponseBodyWriter {
        let outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>

        func write(_ buffer: ByteBuffer) async throws { try await outbound.write(.body(.byteBuffer(buffer))) }
        func finish() async throws { try await outbound.write(.end(nil)) }
    }
}
