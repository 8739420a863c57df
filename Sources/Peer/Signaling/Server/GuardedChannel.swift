import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import Synchronization

/// hummingbird's TLS and HTTP/1.1 channel behind a door: who comes too often is closed before the handshake costs anything.
struct GuardedChannel: ServerChildChannel {
    typealias Inner = TLSChannel<HTTP1Channel>
    typealias Value = Inner.Value

    let inner: Inner
    let connections: ConnectionRegister

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        do {
            try channel.pipeline.syncOperations.addHandler(ConnectionGuard(connections))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return inner.setup(channel: channel, logger: logger)
    }

    func handle(value: Value, logger: Logger) async {
        await inner.handle(value: value, logger: logger)
    }
}

/// The open connections, and the doorman who let them in.
final class ConnectionRegister: Sendable {
    private struct State {
        var doorman: Doorman
        /// Each closes its connection without a TLS goodbye.
        var hangUps: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }
    private let state: Mutex<State>
    private let onDecision: @Sendable (_ isAccepted: Bool) -> Void

    init(doorman: Doorman, onDecision: @escaping @Sendable (_ isAccepted: Bool) -> Void) {
        state = Mutex(State(doorman: doorman))
        self.onDecision = onDecision
    }

    func withDoorman<Result: Sendable>(_ body: @Sendable (inout Doorman, ContinuousClock.Instant) -> Result) -> Result {
        state.withLock { body(&$0.doorman, .now) }
    }

    func open(_ channel: any Channel, _ address: AddressKey, hangUp: @escaping @Sendable () -> Void) -> Bool {
        let isAccepted = state.withLock { state in
            guard state.doorman.mayConnect(address, now: .now) else { return false }
            state.hangUps[ObjectIdentifier(channel)] = hangUp
            return true
        }
        onDecision(isAccepted)
        return isAccepted
    }

    func closed(_ channel: any Channel, _ address: AddressKey) {
        state.withLock { state in
            guard state.hangUps.removeValue(forKey: ObjectIdentifier(channel)) != nil else { return }
            state.doorman.closed(address)
        }
    }

    /// For the end: without waiting for anybody.
    func hangUpAll() {
        let hangUps = state.withLock { Array($0.hangUps.values) }
        for hangUp in hangUps { hangUp() }
    }
}

/// First in the pipeline, below TLS. A peer that half-closes is taken as gone, so that long polls and event streams end.
final class ConnectionGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connections: ConnectionRegister
    private var address: AddressKey?

    init(_ connections: ConnectionRegister) { self.connections = connections }

    func channelActive(context: ChannelHandlerContext) {
        let address = PeerAddress(context.channel.remoteAddress).key
        let loop = context.eventLoop
        let bound = NIOLoopBound(context, eventLoop: loop)
        // From this handler's place on, which is below TLS: TLS would wait for the other side's goodbye.
        let hangUp: @Sendable () -> Void = { loop.execute { bound.value.close(promise: nil) } }
        guard connections.open(context.channel, address, hangUp: hangUp) else {
            context.close(promise: nil)
            return
        }
        self.address = address
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let address { connections.closed(context.channel, address) }
        address = nil
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}
