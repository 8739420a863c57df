package import LinuxRuntime
import Synchronization

/// One side of a WebSocket (RFC 6455) whose messages are small: texts and bytes in both directions.
///
/// Safe from any thread. ``MessageSocketHandler`` is its side on the event loop, or a relay has the connection and
/// passes the messages on. Nothing waits: a peer that does not read, sends too fast or sends what is no message is
/// closed.
package final class MessageSocket: Sendable {
    package enum Message: Sendable, Equatable {
        case text(String)
        case binary([UInt8])
    }

    package enum Role: Sendable {
        /// Gets masked frames, limits their rate, and sends pings.
        case server
        /// Masks its frames.
        case client
    }

    package struct Limits: Sendable {
        /// Of a message, in bytes, whether it comes in one frame or in several.
        package var messageSize = 16_384
        /// Frames that a server reads, of every kind.
        package var frameRate = RequestLimiter.Rate(burst: 60, perSecond: 120)
        /// Messages that have come and that nobody has read yet.
        package var unread = 64
        /// Messages that are not written yet: from then on those that may be dropped are.
        package var droppableQueue = 32
        /// Messages that are not written yet: one more closes the socket.
        package var queue = 256
        package var ping: Duration = .seconds(10)
        /// The time without a frame after which the peer has gone.
        package var silence: Duration = .seconds(30)
        /// The time for the peer to answer a close frame.
        package var closing: Duration = .seconds(1)

        package init() {}
    }

    /// Why a socket is closed (RFC 6455 section 7.4).
    package struct CloseCode: RawRepresentable, Sendable, Equatable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The purpose is fulfilled: the broadcast has ended.
        package static let normal = CloseCode(rawValue: 1_000)
        /// The server stops.
        package static let goingAway = CloseCode(rawValue: 1_001)
        package static let protocolError = CloseCode(rawValue: 1_002)
        package static let invalidText = CloseCode(rawValue: 1_007)
        /// Too many frames.
        package static let policy = CloseCode(rawValue: 1_008)
        package static let tooLarge = CloseCode(rawValue: 1_009)
        /// The peer does not read what it gets, or this side does not get on with what it sends.
        package static let tooSlow = CloseCode(rawValue: 1_013)
        /// The token is not valid any more.
        package static let unauthorized = CloseCode(rawValue: 4_401)
        /// A newer socket of the same token has its place.
        package static let replaced = CloseCode(rawValue: 4_409)
    }

    /// The side that has the connection.
    package struct Connection: Sendable {
        /// Returns at once; `written` follows each call later.
        let write: @Sendable (String) -> Void
        let close: @Sendable (CloseCode) -> Void

        package init(write: @escaping @Sendable (String) -> Void, close: @escaping @Sendable (CloseCode) -> Void) {
            (self.write, self.close) = (write, close)
        }
    }

    /// For another message that is to be sent.
    private enum Room {
        case some
        case none
        case overflow
    }

    private struct State {
        /// Nil before the socket is open.
        var connection: Connection?
        /// What was sent before the socket is open.
        var waiting: [String] = []
        /// Messages that are not written yet.
        var queued = 0
        /// Set when nothing is sent any more.
        var closing: CloseCode?
    }

    private let state = Mutex(State())
    package let limits: Limits
    let role: Role
    /// What the peer sends, until either side closes the socket.
    package let messages: AsyncStream<Message>
    private let feed: AsyncStream<Message>.Continuation
    /// The code with which the socket was closed, first by either side; nil: the connection was lost.
    package let closed = OneShot<CloseCode?>()

    package init(_ role: Role, limits: Limits = .init()) {
        (self.role, self.limits) = (role, limits)
        (messages, feed) = AsyncStream.makeStream(of: Message.self, bufferingPolicy: .bufferingOldest(limits.unread))
    }

    /// Sends a text. Never waits.
    /// - Parameters:
    ///   - text: of `limits.messageSize` bytes at most; a longer one is not sent.
    ///   - isDroppable: it is not sent if more than `limits.droppableQueue` messages are waiting.
    /// - Returns: whether it will be written, if the connection lasts.
    @discardableResult
    package func send(_ text: String, isDroppable: Bool = false) -> Bool {
        guard text.utf8.count <= limits.messageSize else { return false }
        let (room, connection): (Room, Connection?) = state.withLock { state in
            guard state.closing == nil, !isDroppable || state.queued <= limits.droppableQueue else {
                return (.none, nil)
            }
            guard state.queued < limits.queue else { return (.overflow, nil) }
            state.queued += 1
            if state.connection == nil { state.waiting.append(text) }
            return (.some, state.connection)
        }
        if case .overflow = room { close(.tooSlow) }
        guard case .some = room else { return false }
        connection?.write(text)
        return true
    }

    /// Sends a close frame, after what was sent before. Only the first call has an effect.
    package func close(_ code: CloseCode) {
        let connection: Connection? = state.withLock { state in
            guard state.closing == nil else { return nil }
            state.closing = code
            return state.connection
        }
        connection?.close(code)
    }

    // MARK: The side that has the connection

    /// Begins to send.
    package func opened(_ connection: Connection) {
        let closing = state.withLock { state in
            state.connection = connection
            // With the lock, so that nothing that is sent later comes first.
            for text in state.waiting { connection.write(text) }
            state.waiting = []
            return state.closing
        }
        if let closing { connection.close(closing) }
    }

    package func written() { state.withLock { $0.queued -= 1 } }

    /// - Returns: false if there is no room for it.
    package func received(_ message: Message) -> Bool {
        if case .dropped = feed.yield(message) { return false }
        return true
    }

    /// One side closes the socket, or the connection was lost. Only the first call has an effect.
    package func ended(_ code: CloseCode?) {
        state.withLock { state in
            state.closing = state.closing ?? code ?? .goingAway
            // What has the connection refers to this socket.
            (state.connection, state.waiting) = (nil, [])
        }
        closed.fulfil(code)
        feed.finish()
    }
}
