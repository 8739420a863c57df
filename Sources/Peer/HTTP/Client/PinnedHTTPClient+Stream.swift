package import NIOCore
package import NIOHTTP1

/// A response whose body is passed on while it arrives.
package struct HTTPResponseStream: Sendable {
    package let head: HTTPResponseHead
    /// Ends with the body. Throws `.connectionLost` when the connection breaks, or when too much of it was not read.
    package let pieces: AsyncThrowingStream<ByteBuffer, any Error>
}

extension PinnedHTTPClient {
    /// Unread pieces of a response.
    private static let pieceCapacity = 256

    /// Sends a GET request on a new connection, which is closed when `pieces` is over or read no longer.
    package func stream(
        _ path: String, extra: [(String, String)]
    ) async throws(SignalingError) -> HTTPResponseStream {
        guard !isClosed else { throw .lost(server) }
        let channel = try await connect(timeout: nil)
        do {
            return try await stream(path, extra, on: channel)
        } catch {
            channel.close(promise: nil)
            throw connector.explain(error)
        }
    }

    private func stream(
        _ path: String, _ extra: [(String, String)], on channel: any Channel
    ) async throws -> HTTPResponseStream {
        let (pieces, feed) = AsyncThrowingStream.makeStream(
            of: ByteBuffer.self, bufferingPolicy: .bufferingOldest(Self.pieceCapacity))
        let lost = SignalingError.lost(server)
        feed.onTermination = { _ in channel.close(promise: nil) }
        let answer = try await withTaskCancellationHandler {
            try await head(
                of: path, extra, on: channel, within: configuration.answerTimeout,
                piece: { piece in
                    guard case .dropped = feed.yield(piece) else { return }
                    feed.finish(throwing: lost)
                    channel.close(promise: nil)
                },
                end: { error in feed.finish(throwing: error == nil ? nil : lost) })
        } onCancel: {
            channel.close(promise: nil)
        }
        return HTTPResponseStream(head: answer, pieces: pieces)
    }

    /// Sends a GET request whose response is read as it comes, and waits for its head.
    /// - Parameters:
    ///   - piece: called with each piece of the body, on the event loop.
    ///   - end: called at the end of the body, with an error if it has not come whole.
    func head(
        of path: String, _ extra: [(String, String)], on channel: any Channel, within limit: Duration,
        piece: @escaping @Sendable (ByteBuffer) -> Void, end: @escaping @Sendable ((any Error)?) -> Void
    ) async throws -> HTTPResponseHead {
        let head = channel.eventLoop.makePromise(of: HTTPResponseHead.self)
        streams = streams.filter(\.isActive) + [channel]
        let limit = TimeAmount(limit)
        let deadline = channel.eventLoop.scheduleTask(in: limit) {
            head.fail(ChannelError.connectTimeout(limit))
            channel.close(promise: nil)
        }
        // Cancelled on the event loop, which may be shut down by the time this function continues.
        head.futureResult.whenComplete { _ in deadline.cancel() }
        HTTPExchange.send(
            HTTPExchange.Request(
                head: requestHead(.GET, path, nil, 0, extra), body: nil,
                kind: .stream(head: head, piece: piece, end: end)), on: channel)
        return try await head.futureResult.get()
    }
}
