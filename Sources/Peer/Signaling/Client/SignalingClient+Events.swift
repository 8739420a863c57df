import Admission
import NIOCore
import NIOHTTP1

extension SignalingClient {
    /// Opens the host's stream of events. The stream ends after `.ended` or `.removed`, and throws `.connectionLost` when the
    /// connection breaks.
    public func events(
        timeout: Duration? = nil
    ) async throws(SignalingError) -> AsyncThrowingStream<HostEvent, any Error> {
        let channel = try await connect(timeout: timeout)
        let (events, feed) = AsyncThrowingStream.makeStream(
            of: HostEvent.self, bufferingPolicy: .bufferingOldest(configuration.eventCapacity))
        let reader = EventStreamReader(feed, lost: SignalingError.lost(link)) { channel.close(promise: nil) }
        let head = channel.eventLoop.makePromise(of: HTTPResponseHead.self)
        let request = HTTPExchange.Request(
            head: requestHead(.GET, "/\(link.id.text)/events", nil, 0, [("Accept", "text/event-stream")]), body: nil,
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
                throw SignalingError(.gone, "the host does not tell its events (\(status.code))")
            }
        } catch {
            throw connector.explain(error)
        }
        streams = streams.filter(\.isActive) + [channel]
        return events
    }
}
