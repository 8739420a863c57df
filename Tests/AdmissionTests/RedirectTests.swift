import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A host sends its viewers elsewhere, and nobody else does.
@Suite struct RedirectTests {
    private let host: Identity
    private let viewer: [UInt8]
    private let knock = KnockOrigin.random(at: .now)
    private let known: Link
    private let target: Link

    init() throws {
        host = try .ephemeral()
        viewer = try Identity.ephemeral().fingerprint
        known = Link(
            host: "192.0.2.1", port: 8_443, id: .random(), secret: Link.randomSecret(), fingerprint: host.fingerprint,
            relay: randomBytes(32))
        target = Link(
            host: "192.0.2.1", port: 8_443, id: .random(), secret: Link.randomSecret(), fingerprint: randomBytes(32))
    }

    private func redirect(
        by identity: Identity? = nil, of broadcast: BroadcastID? = nil, viewer: [UInt8]? = nil,
        knock: KnockOrigin? = nil, after time: Duration = .zero
    ) throws -> SignedRedirect {
        SignedRedirect(
            to: target, of: broadcast ?? known.id, viewer: viewer ?? self.viewer, knock: knock ?? self.knock,
            now: self.knock.instant + time, signedBy: identity ?? host)
    }

    /// - Parameters:
    ///   - time: since the knock.
    ///   - last: the age of the last order that was followed.
    private func destination(_ redirect: SignedRedirect, at time: Duration = .zero, after last: Int? = nil) -> Link? {
        redirect.destination(from: known, viewer: viewer, knock: knock, after: last, now: knock.instant + time)
    }

    @Test func aViewerFollowsWhatItsHostHasSigned() throws {
        #expect(destination(try redirect()) == target)
    }

    @Test func nobodyButTheHostSendsAViewerElsewhere() throws {
        let good = try redirect()
        let other = try Identity.ephemeral()
        // Another certificate, the host's certificate with another signature, another viewer, another broadcast.
        var stolen = try redirect(by: other)
        #expect(destination(stolen) == nil)
        stolen.certificate = good.certificate
        #expect(destination(stolen) == nil)
        #expect(destination(try redirect(viewer: other.fingerprint)) == nil)
        #expect(destination(try redirect(of: .random())) == nil)
        var changed = good
        changed.link = target.at(host: "198.51.100.1", port: 443).text
        #expect(destination(changed) == nil)
        // Of another knock, and with another age.
        #expect(destination(try redirect(knock: .random(at: knock.instant))) == nil)
        var younger = good
        younger.age = 1
        #expect(destination(younger, at: .milliseconds(1)) == nil)
    }

    /// A server in between may keep an order back, and repeat it.
    @Test func anOrderIsFollowedOnceAndForHalfAMinute() throws {
        let order = try redirect(after: .seconds(5))
        #expect(order.age == 5_000)
        #expect(destination(order, at: .seconds(35)) == target)
        #expect(destination(order, at: .seconds(36)) == nil)
        #expect(destination(order, at: .seconds(6), after: 4_999) == target)
        #expect(destination(order, at: .seconds(6), after: 5_000) == nil)
        // The host receives a knock later than the viewer sends it, so its orders look older, and never newer.
        #expect(destination(try redirect(after: .seconds(-3)), at: .seconds(29)) == target)
        // Clocks that differ by less than a thousandth.
        let late = try redirect(after: .seconds(36_000))
        #expect(destination(late, at: .seconds(36_000 + 60)) == target)
        #expect(destination(late, at: .seconds(36_000 + 70)) == nil)
    }

    @Test(arguments: [Int.min, -1, 1, .max]) func anAgeThatTheHostHasNotSignedIsNotFollowed(_ age: Int) throws {
        var redirect = try redirect()
        redirect.age = age
        #expect(destination(redirect) == nil)
    }

    @Test func theNonceOfAKnockHasSixteenBytes() {
        let now = ContinuousClock.now
        #expect(KnockOrigin(knock.text, receivedAt: now)?.nonce == knock.nonce)
        for text in ["", "!", "AAAA", String(repeating: "A", count: 24)] {
            #expect(KnockOrigin(text, receivedAt: now) == nil)
        }
    }

    @Test(arguments: ["", "x", "!", String(repeating: "A", count: 86), String(repeating: "A", count: 5_000)])
    func nonsenseIsNotFollowed(_ text: String) throws {
        for path in [\SignedRedirect.link, \.certificate, \.signature] {
            var redirect = try redirect()
            redirect[keyPath: path] = text
            #expect(destination(redirect) == nil)
        }
    }

    @Test func theEventCarriesIt() throws {
        let redirect = try redirect()
        let event = HostEvent.reconnect(redirect)
        #expect(HostEvent(name: "reconnect", data: event.json) == event)
        #expect(HostEvent(name: "reconnect", data: HostEvent.reconnect(nil).json) == .reconnect(nil))
        // Without all of it, this is an order to go on at another relay of a cluster, whose links the viewer knows.
        #expect(HostEvent(name: "reconnect", data: #"{"type":"reconnect","link":"x"}"#) == .reconnect(nil))
    }
}
