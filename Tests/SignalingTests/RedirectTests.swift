import Testing

@testable import Admission
@testable import Signaling

/// A host sends its viewers elsewhere, and nobody else does.
@Suite struct RedirectTests {
    private let host: Identity
    private let viewer: [UInt8]
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
        by identity: Identity? = nil, of broadcast: BroadcastID? = nil, viewer: [UInt8]? = nil
    ) throws -> SignedRedirect {
        try SignedRedirect(
            to: target, of: broadcast ?? known.id, viewer: viewer ?? self.viewer, signedBy: identity ?? host)
    }

    @Test func aViewerFollowsWhatItsHostHasSigned() throws {
        #expect(try redirect().destination(from: known, viewer: viewer) == target)
    }

    @Test func nobodyButTheHostSendsAViewerElsewhere() throws {
        let good = try redirect()
        let other = try Identity.ephemeral()
        // Another certificate, the host's certificate with another signature, another viewer, another broadcast.
        var stolen = try redirect(by: other)
        #expect(stolen.destination(from: known, viewer: viewer) == nil)
        stolen.certificate = good.certificate
        #expect(stolen.destination(from: known, viewer: viewer) == nil)
        #expect(try redirect(viewer: other.fingerprint).destination(from: known, viewer: viewer) == nil)
        #expect(try redirect(of: .random()).destination(from: known, viewer: viewer) == nil)
        var changed = good
        changed.link = target.at(host: "198.51.100.1", port: 443).text
        #expect(changed.destination(from: known, viewer: viewer) == nil)
    }

    @Test(arguments: ["", "x", "!", String(repeating: "A", count: 86), String(repeating: "A", count: 5_000)])
    func nonsenseIsNotFollowed(_ text: String) throws {
        for path in [\SignedRedirect.link, \.certificate, \.signature] {
            var redirect = try redirect()
            redirect[keyPath: path] = text
            #expect(redirect.destination(from: known, viewer: viewer) == nil)
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
