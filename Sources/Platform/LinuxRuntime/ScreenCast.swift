package import MediaCore

/// A screen cast that the desktop has granted.
package struct ScreenCastGrant: Sendable, Equatable {
    package enum Kind: Sendable, Equatable { case monitor, window, other }

    /// A connection to PipeWire that shows the node alone. Whoever gets the grant closes it.
    package var descriptor: Int32
    /// The PipeWire node that sends the frames.
    package var node: UInt32
    package var kind: Kind

    package init(descriptor: Int32, node: UInt32, kind: Kind) {
        (self.descriptor, self.node, self.kind) = (descriptor, node, kind)
    }
}

/// Asks the desktop for a screen cast.
package protocol ScreenCast: AnyObject, Sendable {
    /// Ends an earlier grant and asks for a new one. Blocks until the desktop, or its user, has answered; `close` ends
    /// that.
    /// - Parameter usesRestoring: whether the desktop may grant what it granted last time, without asking its user.
    func open(usesRestoring: Bool) throws(SourceFailure) -> ScreenCastGrant

    /// Whether the desktop has ended the grant, as its user can.
    var isEnded: Bool { get }

    /// Sets what is called, on any thread, when `isEnded` becomes true. It must not block.
    func onEnd(_ body: @escaping @Sendable () -> Void)

    /// Ends the grant. A second call does nothing.
    func close()
}
