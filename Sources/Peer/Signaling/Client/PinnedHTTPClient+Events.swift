import NIOCore
import NIOHTTP1

extension PinnedHTTPClient {
    /// Opens a stream of events. The stream ends after the final event, and throws `.connectionLost` when the
    /// connection breaks.
    /// - Parameter capacity: of the queue of unread events; nil: as configured.
    func events<Event: StreamEvent>(
        _: Event.Type, _ path: String, timeout: Duration?, capacity: Int? = nil
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
        HTTPExchange.send(request, on: channel)
        do {
            let status = try await head.futureResult.get().status
            guard status == .ok else {
                channel.close(promise: nil)
                throw SignalingError(.gone, "the \(server.role) does not tell its events (\(status.code))")
            }
        } catch {
            throw connector.explain(error)
        }
        streams = streams.filter(\.isActive) + [channel]
        return events
    }
}
