import MediaCore
import NIOCore
import Synchronization

/// Parses the bytes of a server-sent-events stream into events and feeds them to an `AsyncThrowingStream`. Called on
/// the connection's event loop.
final class EventStreamReader<Event: StreamEvent>: Sendable {
    private struct State {
        var parser = EventStreamParser()
        var hasEnded = false
    }
    private let state = Mutex(State())
    private let feed: AsyncThrowingStream<Event, any Error>.Continuation
    private let lost: SignalingError
    private let hangUp: @Sendable () -> Void

    init(
        _ feed: AsyncThrowingStream<Event, any Error>.Continuation, lost: SignalingError,
        hangUp: @escaping @Sendable () -> Void
    ) {
        self.feed = feed
        self.lost = lost
        self.hangUp = hangUp
    }

    func read(_ bytes: ByteBuffer) {
        var events: [Event] = []
        let isReadable = state.withLock { state in
            do throws(EventStreamParser.TooLong) {
                try state.parser.feed(bytes.readableBytesView) { name, data in
                    if let event = Event(name: name, data: data) { events.append(event) }
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
            if event.isFinal { finish(nil) }
        }
        if !isReadable {
            finish(lost)
            hangUp()
        }
    }

    /// Handles the close of the connection. Without a final event before, the stream ends with `.connectionLost`.
    func end(_ error: (any Error)?) { finish(lost) }

    /// Ends the stream. Only the first call has an effect.
    private func finish(_ error: SignalingError?) {
        let isFirst = state.withLock { $0.hasEnded.setOnce() }
        if isFirst { feed.finish(throwing: error) }
    }
}
