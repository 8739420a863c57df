internal import CNice
internal import EventLoop
internal import Glibc
internal import LinuxRuntime
public import MediaCore
import SessionDescription

/// What is known of the destination of an agent's packets, and of where else authentic datagrams may come from.
struct ConsentState {
    var checks: ConsentChecks?
    var timer: LoopTimer?
    /// Since when packets go to this destination.
    var since: MediaInstant?
    /// The last answer of this destination, or its selection.
    var lastAnswer: MediaInstant?
    /// Names the destination in checks.
    var number: Int32 = 0
    /// Names a destination that is being checked, too.
    var newest: Int32 = 0
    /// Where the last datagram came from that was not from the destination.
    var source: Source?

    struct Source {
        var address: sockaddr_storage
        var descriptor: Int32
        var seen: MediaInstant
        var number: Int32?
        var checked: MediaInstant?
    }
}

/// Consent to send (RFC 7675), for the destination that packets go to, not for the session: a check of our own each 5
/// s, and the way to another address of the same peer when this one is silent.
///
/// It differs from RFC 7675 in one point: an unanswered check is followed by others each 500 ms. They end an outage: a
/// browser that has given its pair up makes it again when a check arrives.
extension ICEAgent {
    /// RFC 7675 section 5.1.
    static let consentLimit = MediaDuration.seconds(30)
    static let checkInterval = MediaDuration.seconds(5)
    /// While a check is unanswered.
    static let repetitionInterval = MediaDuration.milliseconds(500)
    /// Between two checks of another source.
    static let sourceCheckInterval = MediaDuration.milliseconds(250)

    /// Since when packets go where they go now; nil while there is no pair.
    public var pairSince: MediaInstant? { consent.since }

    /// Whether the destination has answered a check within 30 s. Of a relayed pair libnice says so, after 50 s.
    public func hasConsent(_ now: MediaInstant) -> Bool {
        guard let socket, socket.isOpen else { return state != .failed }
        return consent.lastAnswer.map { now - $0 < Self.consentLimit } ?? true
    }

    /// Whether the destination has answered a check, or was selected, within `time`. False of a relayed pair.
    public func hasAnswered(within time: MediaDuration, now: MediaInstant) -> Bool {
        guard let socket, socket.isOpen, let last = consent.lastAnswer else { return false }
        return now - last <= time
    }

    /// Another destination was selected; a check that it has answered is the first consent.
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
        consent.source = nil
        scheduleCheck(now, Self.checkInterval)
    }

    /// RFC 7675 section 5.1: 0.8 to 1.2 of the interval.
    private func scheduleCheck(_ now: MediaInstant, _ interval: MediaDuration) {
        consent.timer?.set(now + MediaDuration(nanoseconds: interval.nanoseconds / 100 * Int64.random(in: 80...120)))
    }

    /// Asks the destination.
    func checkConsent() {
        guard isOpen, let socket, socket.isOpen else { return }
        consent.checks?.send(to: socket.remote, through: socket.descriptor, number: consent.number)
        scheduleCheck(MonotonicClock.now, Self.repetitionInterval)
    }

    func take(answer datagram: UnsafeRawBufferPointer) {
        guard let number = consent.checks?.answered(datagram) else { return }
        countConsentAnswer()
        let now = MonotonicClock.now
        if number == consent.number {
            consent.lastAnswer = now
            scheduleCheck(now, Self.checkInterval)
        } else if let source = consent.source, source.number == number,
            let local = localSockets.all.first(where: { $0.descriptor == source.descriptor && $0.isOpen })
        {
            move(to: source.address, through: local)
            becomeDestination(number, now)
        }
    }

    // MARK: Other sources

    /// Gives `body` the address that was asked whether it answers, if it sends to that socket.
    func withSourceUnderCheck<Result>(
        at descriptor: Int32, _ body: (UnsafePointer<sockaddr_storage>?) -> Result
    ) -> Result {
        guard let source = consent.source, source.number != nil, source.descriptor == descriptor else {
            return body(nil)
        }
        return withUnsafePointer(to: source.address) { body($0) }
    }

    func noteSourceAgain() { consent.source?.seen = MonotonicClock.now }

    /// A datagram lies in a socket that is not from the destination and no STUN.
    func noteSource(_ address: sockaddr_storage, at descriptor: Int32) {
        let now = MonotonicClock.now
        if var source = consent.source {
            let isSame =
                source.descriptor == descriptor
                && withUnsafePointer(to: address) { one in
                    withUnsafePointer(to: source.address) { cnice_is_same_address(one, $0) != 0 }
                }
            if isSame {
                source.seen = now
                consent.source = source
                return
            }
            // One that is being checked is not replaced by whoever sends more.
            if let checked = source.checked, now - checked < Self.sourceCheckInterval { return }
        }
        consent.source = ConsentState.Source(address: address, descriptor: descriptor, seen: now)
    }

    /// Something authentic has come, not from the destination, which is silent: asks the address that datagrams were
    /// last seen from. When it answers, packets go there.
    public func followSource(_ now: MediaInstant) {
        guard isOpen, let socket, socket.isOpen, var source = consent.source, now - source.seen < .seconds(1),
            source.checked.map({ now - $0 >= Self.sourceCheckInterval }) ?? true
        else { return }
        if source.number == nil { consent.newest &+= 1 }
        let number = source.number ?? consent.newest
        source.number = number
        source.checked = now
        consent.source = source
        withUnsafePointer(to: source.address) {
            consent.checks?.send(to: $0, through: source.descriptor, number: number)
        }
    }
}
