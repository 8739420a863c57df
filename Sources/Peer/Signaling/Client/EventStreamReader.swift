import NIOCore
import Synchronization

/// From the bytes of an event stream to events, called on the connection's event loop.
final class EventStreamReader: Sendable {
    private struct State {
        var parser = EventStreamParser()
        var hasEnded = false
    }
    private let state = Mutex(State())
    private let feed: AsyncThrowingStream<HostEvent, any Error>.Continuation
    private let lost: SignalingError
    private let hangUp: @Sendable () -> Void

    init(
        _ feed: AsyncThrowingStream<HostEvent, any Error>.Continuation, lost: SignalingError,
        hangUp: @escaping @Sendable () -> Void
    ) {
        self.feed = feed
        self.lost = lost
        self.hangUp = hangUp
    }

    func read(_ bytes: ByteBuffer) {
        var events: [HostEvent] = []
        let isReadable = state.withLock { state in
            do throws(EventStreamParser.TooLong) {
                try state.parser.feed(bytes.readableBytesView) { name, data in
                    if let event = HostEvent(name: name, data: data) { events.append(event) }
                }
                return true
            } catch {
                return false
            }
        }
        for event in events {
            if case .dropped = feed.yield(event) {
                finish(lost)
                hangUp()
                return
            }
            if case .ended = event { finish(nil) }
        }
        if !isReadable {
            finish(lost)
            hangUp()
        }
    }

    /// The connection has closed; without `ended` before, it was lost.
    func end(_ error: (any Error)?) { finish(lost) }

    /// The first call counts.
    private func finish(_ error: SignalingError?) {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        if isFirst { feed.finish(throwing: error) }
    }
}
