import Admission
import Identifiers
import Identity
import Testing

@testable import Host

/// A relay makes a host sign as often as it likes, so signatures are limited.
@Suite struct RedirectSignerTests {
    private let signer: RedirectSigner
    private let identity: Identity
    private let known: Link
    private let start = ContinuousClock.now

    init() throws {
        identity = try .ephemeral()
        known = Self.link(identity.fingerprint)
        signer = RedirectSigner(of: known.id, identity: identity, now: start)
    }

    private static func link(_ fingerprint: [UInt8] = randomBytes(32)) -> Link {
        Link(host: "192.0.2.1", port: 8_443, id: .random(), secret: Link.randomSecret(), fingerprint: fingerprint)
    }

    private func viewer(hasKnocked: Bool = true, hasNonce: Bool = true) -> Viewer {
        var viewer = Viewer(
            knock: hasKnocked ? .random() : nil, name: "Ann", kind: "share", address: "192.0.2.2",
            fingerprint: randomBytes(32))
        viewer.origin = hasNonce ? .random(at: start) : nil
        return viewer
    }

    @Test func aViewerGetsWhatItCanCheck() throws {
        let (viewer, target) = (viewer(), Self.link())
        let redirect = try #require(signer.redirect(of: viewer, to: target, now: start + .seconds(1)))
        let origin = try #require(viewer.origin)
        let found = redirect.destination(
            from: known, viewer: viewer.fingerprint, knock: origin, now: start + .seconds(2))
        #expect(found == target && redirect.age == 1_000)
        #expect(signer.redirect(of: self.viewer(hasKnocked: false), to: target, now: start) == nil)
        #expect(signer.redirect(of: self.viewer(hasNonce: false), to: target, now: start) == nil)
    }

    @Test func anOrderIsUsedAgainForFiveSeconds() throws {
        let (viewer, target) = (viewer(), Self.link())
        func age(_ milliseconds: Int, _ link: Link) -> Int? {
            signer.redirect(of: viewer, to: link, now: start + .milliseconds(milliseconds))?.age
        }
        #expect(age(0, target) == 0)
        #expect(age(4_999, target) == 0)
        #expect(age(5_000, target) == 5_000)
        // To another place it is another order.
        #expect(age(5_001, Self.link()) == 5_001)
    }

    @Test func aHostSignsFiveHundredAtOnceAndThenTwoHundredASecond() {
        let viewers = (0..<128).map { _ in viewer() }
        /// How many of these viewers are sent to a new place.
        func sent(at milliseconds: Int) -> Int {
            let link = Self.link()
            return viewers.count {
                signer.redirect(of: $0, to: link, now: start + .milliseconds(milliseconds)) != nil
            }
        }
        #expect((0..<6).map { _ in sent(at: 0) } == [128, 128, 128, 128, 0, 0])
        #expect(sent(at: 500) == 100)
        #expect((2...20).map { sent(at: $0 * 500) }.reduce(0, +) == 19 * 100)
        // The burst is there again after some time without any.
        #expect((0..<6).map { _ in sent(at: 100_000) }.reduce(0, +) == 512)
    }
}
