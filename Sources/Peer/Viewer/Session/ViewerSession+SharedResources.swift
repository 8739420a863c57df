package import EventLoop
package import ICETransport

extension ViewerSession {
    /// The shared loop and socket of one of many sessions in a process, in place of threads and an ICE agent of its
    /// own.
    package struct SharedResources: Sendable {
        let loop: EventLoop
        /// The numeric address that the session comes from; nil: any.
        var localAddress: String?
        /// The UDP port that it shares with others; nil: it gets one of its own.
        var socket: LoopBound<ICELiteSocket>?
        /// It receives for itself alone, and keeps few packets.
        var isOneOfMany = true
        /// It goes on at another relay by itself.
        var followsAlternates = true
        /// Which addresses the server of the link may have; nil: any, as the user has named it.
        package var permits: (@Sendable (String) -> Bool)?
        /// Called when the viewers of a relay go back to their host, in a session that forwards packets.
        package var onReturn: (@Sendable () -> Void)?

        package init(
            loop: EventLoop, localAddress: String?, socket: LoopBound<ICELiteSocket>? = nil, isOneOfMany: Bool = true,
            followsAlternates: Bool = true
        ) {
            (self.loop, self.localAddress, self.socket) = (loop, localAddress, socket)
            (self.isOneOfMany, self.followsAlternates) = (isOneOfMany, followsAlternates)
        }
    }

    /// The loop of many sessions in a process.
    package final class SharedLoop: Sendable {
        private let loop = EventLoop(name: "viewers")

        package init() {}

        /// - Parameter address: the numeric address that the session comes from.
        package func resources(at address: String) -> SharedResources {
            SharedResources(loop: loop, localAddress: address)
        }
    }
}
