internal import CNice
internal import EventLoop
internal import Glibc
internal import LinuxRuntime
public import MediaCore
import SessionDescription

/// The consent of the destination of an agent's packets, and the other source of datagrams.
struct ConsentState {
    var checks: ConsentChecks?
    var timer: LoopTimer?
    /// When the destination became the present one.
    var since: MediaInstant?
    /// When the destination last answered a check, or was selected.
    var lastAnswer: MediaInstant?
    /// The destination's number in checks.
    var number: Int32 = 0
    /// The highest number so far, including that of a source that is being checked.
    var newest: Int32 = 0
    /// The source of the last datagram that did not come from the destination.
    var unverified: UnverifiedAddress?

    struct UnverifiedAddress {
        var address: sockaddr_storage
        var descriptor: Int32
        var seen: MediaInstant
        var number: Int32?
        var checked: MediaInstant?
    }
}

/// Consent to send (RFC 7675) for the present destination of packets, not for the whole session. The agent makes a
/// check of its own each 5 s. When the destination is silent, it follows the peer to another address.
///
/// It differs from RFC 7675 in one point: an unanswered check is repeated each 500 ms. A browser that has dropped its
/// pair creates it again when such a check arrives (triggered check, RFC 8445 section 7.3.1.4), which ends the outage.
extension ICEAgent {
    /// RFC 7675 section 5.1.
    static let consentLimit = MediaDuration.seconds(30)
    static let checkInterval = MediaDuration.seconds(5)
    /// The interval of checks while one is unanswered.
    static let repetitionInterval = MediaDuration.milliseconds(500)
    /// The interval between two checks of another source.
    static let unverifiedAddressCheckInterval = MediaDuration.milliseconds(250)

    /// When packets were first sent to the present destination; nil while there is no pair.
    public var pairSince: MediaInstant? { consent.since }

    /// Whether the destination has answered a check within 30 s. For a relayed pair libnice decides, after 50 s.
    public func hasConsent(_ now: MediaInstant) -> Bool {
        guard let socket, socket.isOpen else { return state != .failed }
        return consent.lastAnswer.map { now - $0 < Self.consentLimit } ?? true
    }

    /// Whether the destination has answered a check, or was selected, within `time`. False for a relayed pair.
    public func hasAnswered(within time: MediaDuration, now: MediaInstant) -> Bool {
        guard let socket, socket.isOpen, let last = consent.lastAnswer else { return false }
        return now - last <= time
    }

    /// Begins consent for a newly selected destination. The check that it has answered is the first consent.
    func beginConsent(_ remote: ICECredentials) {
        let now = MonotonicClock.now
        if consent.checks == nil {
            consent.checks = ConsentChecks(local: credentials, remote: remote, isControlling: nice.isControlling)
            consent.timer = makeTimer { [weak self] in self?.checkConsent() }
        }
        consent.newest &+= 1
        becomeDestination(consent.newest, now)
    }

    private func becomeDestination(_ number: Int32, _ now: MediaInstant) {
        consent.number = number
        consent.since = now
        consent.lastAnswer = now
        consent.unverified = nil
        scheduleCheck(now, Self.checkInterval)
    }

    /// Schedules the next check after 0.8 to 1.2 of the interval (RFC 7675 section 5.1).
    private func scheduleCheck(_ now: MediaInstant, _ interval: MediaDuration) {
        consent.timer?.set(now + MediaDuration(nanoseconds: interval.nanoseconds / 100 * Int64.random(in: 80...120)))
    }

    /// Sends a check to the destination.
    func checkConsent() {
        guard isOpen, let socket, socket.isOpen else { return }
        consent.checks?.send(to: socket.remote, through: socket.descriptor, number: consent.number)
        scheduleCheck(MonotonicClock.now, Self.repetitionInterval)
    }

    func handleCheckResponse(_ datagram: UnsafeRawBufferPointer) {
        guard let number = consent.checks?.responder(of: datagram) else { return }
        countConsentAnswer()
        let now = MonotonicClock.now
        if number == consent.number {
            consent.lastAnswer = now
            scheduleCheck(now, Self.checkInterval)
        } else if let source = consent.unverified, source.number == number,
            let local = localSockets.all.first(where: { $0.descriptor == source.descriptor && $0.isOpen })
        {
            move(to: source.address, through: local)
            becomeDestination(number, now)
        }
    }

    // MARK: Other sources

    /// Calls `body` with the address of the source that is being checked, if it sends to that socket.
    func withUnverifiedAddress<Result>(
        at descriptor: Int32, _ body: (UnsafePointer<sockaddr_storage>?) -> Result
    ) -> Result {
        guard let source = consent.unverified, source.number != nil, source.descriptor == descriptor else {
            return body(nil)
        }
        return withUnsafePointer(to: source.address) { body($0) }
    }

    func refreshUnverifiedAddress() { consent.unverified?.seen = MonotonicClock.now }

    /// Notes a datagram in a socket that is not STUN and not from the destination.
    func noteUnverifiedAddress(_ address: sockaddr_storage, at descriptor: Int32) {
        let now = MonotonicClock.now
        if var source = consent.unverified {
            let isSame =
                source.descriptor == descriptor
                && withUnsafePointer(to: address) { one in
                    withUnsafePointer(to: source.address) { cnice_is_same_address(one, $0) != 0 }
                }
            if isSame {
                source.seen = now
                consent.unverified = source
                return
            }
            // A source that is being checked is not replaced by another one.
            if let checked = source.checked, now - checked < Self.unverifiedAddressCheckInterval { return }
        }
        consent.unverified = ConsentState.UnverifiedAddress(address: address, descriptor: descriptor, seen: now)
    }

    /// Checks the address that datagrams last came from. Call it when authentic packets arrive from another address
    /// than the silent destination. If the address answers, it becomes the destination.
    public func checkUnverifiedAddress(_ now: MediaInstant) {
        guard isOpen, let socket, socket.isOpen, var source = consent.unverified, now - source.seen < .seconds(1),
            source.checked.map({ now - $0 >= Self.unverifiedAddressCheckInterval }) ?? true
        else { return }
        if source.number == nil { consent.newest &+= 1 }
        let number = source.number ?? consent.newest
        source.number = number
        source.checked = now
        consent.unverified = source
        withUnsafePointer(to: source.address) {
            consent.checks?.send(to: $0, through: source.descriptor, number: number)
        }
    }
}
