import Identifiers
import Identity

/// The binding of a host's later orders to one knock of a viewer, and to the time: a nonce of the viewer for
/// it, and when the viewer sent it, or the host received it.
///
/// No time of day is compared, so clocks need not agree. A server in between that delays the knock makes orders look
/// older than they are, never newer, as the host cannot receive a knock before it was sent.
public struct KnockOrigin: Sendable, Equatable {
    static let nonceLength = 16

    /// 16 bytes.
    let nonce: [UInt8]
    let instant: ContinuousClock.Instant

    /// A knock that this viewer is about to send.
    package static func random(at instant: ContinuousClock.Instant) -> KnockOrigin {
        KnockOrigin(nonce: randomBytes(nonceLength), instant: instant)
    }

    private init(nonce: [UInt8], instant: ContinuousClock.Instant) {
        self.nonce = nonce
        self.instant = instant
    }

    /// A knock that has come.
    /// - Parameter text: base64url of the nonce.
    package init?(_ text: String, receivedAt instant: ContinuousClock.Instant) {
        guard let nonce = Base64URL.decode(text, count: Self.nonceLength) else { return nil }
        self.init(nonce: nonce, instant: instant)
    }

    /// Whether the knock came before this instant.
    package func isBefore(_ other: ContinuousClock.Instant) -> Bool { instant < other }

    /// The nonce in base64url.
    package var text: String { Base64URL.encode(nonce) }

    /// Milliseconds since the knock.
    func age(at now: ContinuousClock.Instant) -> Int { max(0, Int((now - instant) / .milliseconds(1))) }
}
