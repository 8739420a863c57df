import NIOCore
import NIOHTTP1

extension PinnedHTTPClient {
    /// Opens a stream of events. The stream ends after the final event, and throws `.connectionLost` when the
    /// connection breaks.
    /// - Parameters:
    ///   - capacity: of the queue of unread events; nil: as configured.
    ///   - silence: how long the server may send nothing, not even a comment; nil: for ever. With it, only an answer that
    ///     says that the resource has gone is `.gone`.
    func events<Event: StreamEvent>(
        _: Event.Type, _ path: String, timeout: Duration?, capacity: Int? = nil, silence: Duration? = nil
    ) async throws(SignalingError) -> AsyncThrowingStream<Event, any Error> {
        let channel = try await connect(timeout: timeout)
        let (events, feed) = AsyncThrowingStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingOldest(capacity ?? configuration.eventCapacity))
        let reader = EventStreamReader(feed, lost: SignalingError.lost(server)) { channel.close(promise: nil) }
        let head = channel.eventLoop.makePromise(of: HTTPResponseHead.self)
        let request = HTTPExchange.Request(
            head: requestHead(.GET, path, nil, 0, [("Accept", "text/event-stream")]), body: nil,
            kind: .stream(head: head, piece: { reader.read($0) }, end: { reader.end($0) }))
        feed.onTermination = { _ in channel.close(promise: nil) }
        let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(timeout ?? configuration.answerTimeout)) {
            channel.close(promise: nil)
        }
        // Cancelled on the event loop, which may be shut down by the time this function continues.
        head.futureResult.whenComplete { _ in deadline.cancel() }
        if let silence {
            try? await channel.eventLoop.submit {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(IdleStateHandler(readTimeout: TimeAmount(silence)), position: .first)
                try pipeline.addHandler(SilenceHandler())
            }.get()
        }
        HTTPExchange.send(request, on: channel)
        do {
            let status = try await head.futureResult.get().status
            guard status == .ok else {
                channel.close(promise: nil)
                if silence != nil, status == .forbidden {
                    throw SignalingError(.refused, "the identifier is another certificate's there")
                }
                if silence != nil, status == .conflict {
                    throw SignalingError(.identifierInUse, "the identifier is in use there")
                }
                if silence != nil, ![401, 404, 410].contains(status.code) { throw SignalingError.lost(server) }
                throw SignalingError(.gone, "the \(server.role) does not tell its events (\(status.code))")
            }
        } catch {
            throw connector.explain(error)
        }
        streams = streams.filter(\.isActive) + [channel]
        return events
    }
}

/// Closes a connection on which nothing arrives any more.
private final class SilenceHandler: ChannelInboundHandler {
    typealias InboundIn = Any

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
