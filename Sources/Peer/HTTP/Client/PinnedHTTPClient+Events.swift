import NIOCore
import NIOHTTP1

extension PinnedHTTPClient {
    /// Opens a stream of events, on an idle connection if there is one. The stream ends after the final event, and
    /// throws `.connectionLost` when the connection breaks.
    /// - Parameters:
    ///   - timeout: time limit for a new connection, and again for the answer. Nil: the default limit, and an idle
    ///     connection may be used.
    ///   - capacity: of the queue of unread events; nil: as configured.
    ///   - silence: how long the server may send nothing, not even a comment; nil: for ever. With it, only an answer
    ///     that says that the resource has gone is `.gone`.
    package func events<Event: StreamEvent>(
        _: Event.Type, _ path: String, timeout: Duration?, capacity: Int? = nil, silence: Duration? = nil
    ) async throws(SignalingError) -> AsyncThrowingStream<Event, any Error> {
        guard !isClosed else { throw .lost(server) }
        // After an outage an idle connection may be dead without notice.
        if timeout == nil, silence == nil, let channel = takeIdle() {
            do {
                return try await events(Event.self, path, on: channel, timeout: nil, capacity, silence: nil)
            } catch {
                // The stream is opened again only if the server has closed the idle connection meanwhile.
                guard error is HTTPExchange.Unanswered, !Task.isCancelled else { throw connector.explain(error) }
            }
        }
        let channel = try await connect(timeout: timeout)
        do {
            return try await events(Event.self, path, on: channel, timeout: timeout, capacity, silence: silence)
        } catch {
            throw connector.explain(error)
        }
    }

    private func events<Event: StreamEvent>(
        _: Event.Type, _ path: String, on channel: any Channel, timeout: Duration?, _ capacity: Int?, silence: Duration?
    ) async throws -> AsyncThrowingStream<Event, any Error> {
        let (events, feed) = AsyncThrowingStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingOldest(capacity ?? configuration.eventCapacity))
        let reader = EventStreamReader(feed, lost: SignalingError.lost(server)) { channel.close(promise: nil) }
        feed.onTermination = { _ in channel.close(promise: nil) }
        if let silence {
            try? await channel.eventLoop.submit {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(IdleStateHandler(readTimeout: TimeAmount(silence)), position: .first)
                try pipeline.addHandler(SilenceHandler())
            }.get()
        }
        let status = try await head(
            of: path, [("Accept", "text/event-stream")], on: channel, within: timeout ?? configuration.answerTimeout,
            piece: { reader.read($0) }, end: { reader.end($0) }
        ).status
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
        guard !isClosed else {
            channel.close(promise: nil)
            throw SignalingError.lost(server)
        }
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
