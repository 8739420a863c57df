package import MediaCore

/// Decides what a session may make its transport do at the cost of others. Called on the network loop.
package protocol TransportAllowance: AnyObject {
    /// Counts an ICE agent if it may be made now.
    func takeAgent(now: MediaInstant) -> Bool

    /// Counts a remote candidate if connectivity checks to it may start now.
    func takeCandidate(now: MediaInstant) -> Bool
}
