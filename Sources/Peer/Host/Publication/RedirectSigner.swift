import Admission
import HTTP
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import Synchronization

/// Signs a host's orders to its viewers. What makes it sign comes over a relay, which may repeat it as often as it
/// likes, so an order is used again for a while, and signatures are limited. Safe from any thread.
final class RedirectSigner: Sendable {
    private struct Order {
        let redirect: SignedRedirect
        let signed: ContinuousClock.Instant
    }

    private struct State {
        var orders: [KnockID: Order] = [:]
        var budget: TokenBucket
    }

    private let broadcast: BroadcastID
    private let identity: Identity
    private let state: Mutex<State>

    /// An order is valid for 30 s.
    private static let reuseTime = Duration.seconds(5)
    /// So many viewers may come at once, and then each second. A signature takes some 40 us.
    private static let burst = 512.0
    private static let perSecond = 200.0

    /// - Parameter broadcast: the one that the viewers know.
    init(of broadcast: BroadcastID, identity: Identity, now: ContinuousClock.Instant) {
        self.broadcast = broadcast
        self.identity = identity
        state = Mutex(State(budget: TokenBucket(burst: Self.burst, rate: Self.perSecond, now: now)))
    }

    /// Returns an order for a viewer.
    /// - Returns: nil if the viewer has not knocked or cannot check orders, or too many were signed.
    func redirect(of viewer: Viewer, to link: Link, now: ContinuousClock.Instant) -> SignedRedirect? {
        guard let knock = viewer.knock, let origin = viewer.origin else { return nil }
        return state.withLock { state in
            state.orders = state.orders.filter { now - $0.value.signed < Self.reuseTime }
            if let known = state.orders[knock]?.redirect, known.link == link.text { return known }
            state.budget.refill(now)
            guard state.budget.has() else { return nil }
            state.budget.take()
            let redirect = SignedRedirect(
                to: link, of: broadcast, viewer: viewer.fingerprint, knock: origin, now: now, signedBy: identity)
            state.orders[knock] = Order(redirect: redirect, signed: now)
            return redirect
        }
    }
}
