import Foundation
import HTTPTypes
import LinuxRuntime
import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A relay, a service that is reached over it, and the link for hosts.
struct ServiceTunnelFixture {
    let relay: ServiceFixture
    let service: ServiceFixture
    /// Of the service, at the relay.
    let client: ServiceClient
    let link: ServiceLink

    var id: TunnelID { .service(link.id) }

    /// - Parameter body: the tunnel is not open yet.
    static func with(
        decision: @escaping @Sendable (PairingRequest) async -> PairingDecision = { _ in .accepted },
        configure: (inout ServiceFixture.Settings) -> Void = { _ in },
        _ body: (ServiceTunnelFixture) async throws -> Void
    ) async throws {
        let description = try ServiceFixture.conference("io.sharekit.relay")
        try await ServiceFixture.with(configure: { $0.description = description }) { relay in
            try await ServiceFixture.with(decision: decision, configure: configure) { service in
                try await relay.client { client in
                    _ = try await relay.pair(client, service.identity)
                    let link = ServiceLink(
                        host: relay.link.host, port: relay.link.port, id: service.link.id,
                        fingerprint: service.identity.fingerprint, relay: relay.identity.fingerprint)
                    try await body(
                        ServiceTunnelFixture(relay: relay, service: service, client: client, link: link))
                }
            }
        }
    }

    /// Answers what the relay forwards by the service's server.
    func open(
        _ emit: @escaping @Sendable (TunnelClient.Event) -> Void = { _ in }, _ body: () async throws -> Void
    ) async throws {
        let session = TunnelClient(
            id, client: client, server: service.server, isOwnAddress: { _ in false }, emit: emit)
        try await session.start()
        do {
            try await body()
        } catch {
            await session.stop()
            throw error
        }
        await session.stop()
    }

    /// Answers each forwarded request with what `respond` returns. A relay that lies can do the same.
    func open(
        responding respond: @escaping @Sendable (ForwardedRequest) async -> ForwardedResponse?,
        _ body: () async throws -> Void
    ) async throws {
        let events = try await client.tunnel(id)
        let serving = Task { [client, id] in
            await withTaskGroup(of: Void.self) { group in
                do {
                    for try await event in events {
                        guard case .request(let request) = event else { continue }
                        group.addTask {
                            guard let part = await respond(request) else { return }
                            _ = try? await client.respond(part, to: request.number, of: id)
                        }
                    }
                } catch {}
            }
        }
        defer { serving.cancel() }
        try await body()
    }

    /// The service's own response to a forwarded request, whole.
    func response(to request: ForwardedRequest) async -> ForwardedResponse {
        guard let eventLoop = await service.server.eventLoop else { return ForwardedResponse(status: 500) }
        let closed = eventLoop.makePromise(of: Void.self)
        defer { closed.succeed(()) }
        let response = await service.server.respond(
            to: request, for: id, on: eventLoop, closed: closed.futureResult)
        let parts = PartCollector()
        try? await response.body.write(parts)
        return ForwardedResponse(
            status: Int(response.status.code), headers: response.headers.map { [$0.name.canonicalName, $0.value] },
            body: parts.text)
    }

    /// Runs `body` with a host's client.
    func host(_ body: (ServiceClient) async throws -> Void) async throws { try await service.client(link, body) }

    /// Runs `body` with a client that sends requests to the relay which `ServiceClient` never would.
    func wire(_ body: (RawHTTPClient) async throws -> Void) async throws { try await relay.wire(body) }
}

@Suite(.timeLimit(.minutes(1))) struct ServiceTunnelTests {
    @Test func aHostPublishesToAServiceThatOnlyTheRelayReaches() async throws {
        try await ServiceTunnelFixture.with { stage in
            let identity = try Identity.ephemeral()
            try await stage.open {
                try await stage.host { host in
                    #expect(try await host.describe() == stage.service.service.description)
                    let asked = try await host.pair(application: stage.service.budget, identity: identity)
                    #expect(asked == stage.service.service.description)
                    #expect(stage.service.delegate.seen.requests.isEmpty)
                    #expect(try await host.accept(setup: ["title": "Numbers"]) == nil)
                    _ = try await host.waitForGrant()
                    let answer = try await host.publish(description(identity.fingerprint))
                    #expect(answer.sdp == description(stage.service.identity.fingerprint))
                    let session = try #require(answer.resource.split(separator: "/").last.flatMap { SessionID($0) })
                    try await host.trickle("a=ice-ufrag:x\r\n")
                    let restarted = try await host.restart("a=ice-ufrag:new\r\n", timeout: .seconds(5))
                    #expect(restarted.fragment.contains("a=ice-ufrag:host"))
                    let events = try await host.events()
                    var iterator = events.makeAsyncIterator()
                    stage.service.service.send(.serviceInfo(ServiceInfo(viewers: 3)), to: session)
                    #expect(try await iterator.next() == .serviceInfo(ServiceInfo(viewers: 3)))
                    stage.service.service.finish(session, reason: "closing time", nextStep: nil)
                    #expect(try await iterator.next() == .finished(reason: "closing time", nextStep: nil))
                    #expect(try await iterator.next() == nil)
                    // The host may broadcast again, and leave by itself.
                    _ = try await stage.service.pair(host, identity)
                    _ = try await host.publish(description(identity.fingerprint))
                    await host.leave()
                    _ = await stage.service.delegate.onClose.value
                }
            }
            let seen = stage.service.delegate.seen
            #expect(seen.requests.map(\.fingerprint) == [identity.fingerprint, identity.fingerprint])
            #expect(seen.requests.map(\.setup) == [["title": "Numbers"], ["title": "Numbers"]])
            #expect(seen.requests.map(\.address) == ["127.0.0.1", "127.0.0.1"])
            #expect(seen.offers.map(\.kind) == ["share", "share"])
            #expect(seen.fragments == ["a=ice-ufrag:x\r\n", "a=ice-ufrag:new\r\n"])
            #expect(stage.relay.delegate.seen.tunnels == [stage.id] && stage.relay.delegate.seen.offers.isEmpty)
            // The service has left, and the place is free.
            #expect(stage.relay.delegate.seen.closed.count == 1)
            try await stage.host { host in
                #expect(await failure { _ = try await host.describe() } == .unknownService)
            }
        }
    }

    /// The refusals of the service's user and of its limits reach the host as without a relay.
    @Test func aRefusalReachesTheHost() async throws {
        try await ServiceTunnelFixture.with(decision: { _ in .refused("not today") }) { stage in
            try await stage.open {
                try await stage.host { host in
                    let identity = try Identity.ephemeral()
                    let refused = await failure { _ = try await stage.service.pair(host, identity) }
                    #expect(refused == .refused("not today"))
                }
            }
        }
    }

    @Test func withoutTheServiceTheRelaySaysSo() async throws {
        try await ServiceTunnelFixture.with { stage in
            let connected = OneShot<Void>()
            let interrupted = OneShot<Void>()
            try await stage.open({ event in
                switch event {
                case .interrupted: interrupted.fulfil(())
                case .connected: connected.fulfil(())
                case .ended(let reason, _), .notListed(let reason): Issue.record("\(reason)")
                }
            }) {
                await stage.client.closeConnections()
                await interrupted.value
                await connected.value
                try await stage.host { host in
                    let found = try await host.describe()
                    #expect(found == stage.service.service.description)
                }
            }
        }
        try await ServiceTunnelFixture.with { stage in
            let stream = try await stage.client.tunnel(stage.id)
            await stage.client.closeConnections()
            _ = stream
            try await stage.host { host in
                // The relay notices within moments that the service has gone.
                var found = await failure { _ = try await host.describe() }
                while found == nil { found = await failure { _ = try await host.describe() } }
                guard case .unreachable(let why) = found else {
                    Issue.record("\(String(describing: found))")
                    return
                }
                #expect(why.contains("the service is not connected to this relay now") || why.contains("not answer"))
            }
        }
    }

    /// The identifier of a service stays with its certificate, also after its tunnel.
    @Test func anIdentifierIsNotTakenOver() async throws {
        try await ServiceTunnelFixture.with { stage in
            try await stage.wire { wire in
                let other = RawHost(stage: stage.relay, wire: wire, identity: try Identity.ephemeral())
                let path = stage.relay.link.path + "/meeting/\(stage.link.id.text)"
                try await stage.open {
                    let token = [("Authorization", "Bearer \(try await other.token())")]
                    #expect(try await wire.ask(.GET, path, token).status == 403)
                    #expect(try await wire.ask(.DELETE, path, token).status == 404)
                    #expect(try await wire.ask(.POST, path + "/1", token, body: "{\"status\":200}").status == 404)
                    // Nor can it take the relay's own.
                    let own = stage.relay.link.path + "/meeting/\(stage.relay.link.id.text)"
                    #expect(try await wire.ask(.GET, own, token).status == 409)
                }
                let token = [("Authorization", "Bearer \(try await other.token())")]
                let refused = try await wire.ask(.GET, path, token)
                #expect(refused.status == 403 && refused.text.contains("identifier-taken"))
                let error = await #expect(throws: SignalingError.self) {
                    try await stage.relay.client { client in
                        _ = try await stage.relay.pair(client, other.identity)
                        _ = try await client.tunnel(stage.id)
                    }
                }
                #expect(error?.code == .refused)
            }
        }
    }

    /// A newer pairing of the same certificate ends the tunnel, and says that it has done so.
    @Test func whoIsReplacedIsTold() async throws {
        try await ServiceTunnelFixture.with { stage in
            let ended = OneShot<Bool>()
            try await stage.open({ if case .ended(_, let end) = $0 { ended.fulfil(end == .replaced) } }) {
                try await stage.relay.client { another in
                    _ = try await stage.relay.pair(another, stage.service.identity)
                    #expect(await ended.value)
                }
            }
        }
    }

    @Test func theEndOfTheRelayReachesTheService() async throws {
        try await ServiceTunnelFixture.with { stage in
            let ended = OneShot<String>()
            try await stage.open({ if case .ended(let reason, .relayStopped) = $0 { ended.fulfil(reason) } }) {
                await stage.relay.service.end(reason: "maintenance")
                #expect(await ended.value == "maintenance")
            }
        }
    }

    /// All that is reached over a relay has one origin, and only the identifier of a service may have dots.
    @Test func aServiceCannotSendHostsElsewhere() async throws {
        try await ServiceTunnelFixture.with { stage in
            let path = stage.link.path
            let places = [
                "\(path)/../io.sharekit.relay/whip/1", "\(path)/%2e%2e/x", "\(path).other/whip/1",
                "/services/io.sharekit.relay/whip/1", "https://evil.example/", "/services/com/example.conference/whip",
                "\(path)/whip/a.b",
            ]
            let next = Mutex(0)
            try await stage.open(responding: { _ in
                ForwardedResponse(
                    status: 201,
                    headers: [
                        [
                            "Location",
                            places[
                                next.withLock { count in
                                    count += 1
                                    return count - 1
                                }],
                        ]
                    ])
            }) {
                try await stage.wire { wire in
                    for place in places {
                        let answer = try await wire.ask(.POST, path + "/whip", body: "x")
                        #expect(answer.status == 502 && answer.headers.first(name: "Location") == nil, "\(place)")
                    }
                }
            }
        }
    }

    /// The relay forwards requests for the one service alone, and knows its identifier in upper case.
    @Test func theRelayReachesNothingElseOfTheService() async throws {
        try await ServiceTunnelFixture.with { stage in
            let path = stage.link.path
            for other in ["/", "/_/page.js", "/services/x.y", path + ".z/pair", "/services", "/0000000000000/knock"] {
                let request = ForwardedRequest(
                    number: 1, method: "GET", path: other, headers: [:], body: "", address: "127.0.0.1")
                #expect(await stage.response(to: request).status == 404, "\(other)")
            }
            try await stage.open {
                try await stage.wire { wire in
                    let upper = "/services/\(stage.link.id.text.uppercased())/pair"
                    let answer = try await wire.ask(.GET, upper)
                    #expect(answer.status == 307 && answer.headers.first(name: "Location") == path + "/pair")
                    // The relay's own service is there as well.
                    #expect(try await wire.ask(.GET, stage.relay.link.path).status == 200)
                }
            }
        }
    }

    /// The relay has seen the fixed token, which is valid for every certificate.
    @Test func theFixedTokenIsNotValidOverARelay() async throws {
        let token = "a-token-for-tools-of-others"
        try await ServiceTunnelFixture.with(configure: { $0.service.fixedToken = token }) { stage in
            try await stage.open {
                let offer = description(randomFingerprint())
                try await stage.wire { wire in
                    let path = stage.link.path + "/whip"
                    let answer = try await wire.ask(.POST, path, [sdpType, bearer(token)], body: offer)
                    #expect(answer.status == 401)
                }
                try await stage.service.wire { wire in
                    let path = stage.link.path + "/whip"
                    let answer = try await wire.ask(.POST, path, [sdpType, bearer(token)], body: offer)
                    #expect(answer.status == 201)
                }
            }
        }
    }

    /// A host cannot exhaust the service's tunnel, and one that hangs up makes room.
    @Test func theRequestsOfOneAddressAreLimited() async throws {
        try await ServiceTunnelFixture.with { stage in
            let limit = ReverseTunnel.Limits().pendingOfAddress
            let arrived = OneShot<Void>()
            let count = Mutex(0)
            try await stage.open(responding: { request in
                guard !request.path.hasSuffix("/last") else { return ForwardedResponse(status: 204) }
                let isFull = count.withLock { count in
                    count += 1
                    return count == limit
                }
                if isFull { arrived.fulfil(()) }
                return nil
            }) {
                try await stage.wire { wire in
                    let path = stage.link.path + "/pair/"
                    var channels: [any Channel] = []
                    var waiting: [Task<HTTPAnswer, any Error>] = []
                    for number in 0..<limit {
                        let channel = try await wire.connect()
                        channels.append(channel)
                        waiting.append(Task { try await wire.ask(.GET, path + "\(number)", over: channel) })
                    }
                    await arrived.value
                    let refused = try await wire.ask(.GET, path + "last")
                    #expect(refused.status == 503 && refused.headers.first(name: "Retry-After") != nil)
                    for channel in channels { channel.close(promise: nil) }
                    for task in waiting { _ = await task.result }
                    #expect(try await wire.ask(.GET, path + "last").status == 204)
                }
            }
        }
    }
}

/// Whose identifiers are.
@Suite struct TunnelTableTests {
    private func tunnel(_ id: TunnelID) -> ReverseTunnel {
        ReverseTunnel(id, owner: TokenHash(of: "x"), session: .random())
    }

    private func add(
        _ tunnel: ReverseTunnel, to table: TunnelTable, of certificate: UInt8, at address: String = "192.0.2.1"
    ) -> TunnelTable.Adding {
        table.add(tunnel, of: [certificate], at: PeerAddress(address).key)
    }

    @Test func theOldestOwnersAreForgottenFirstButNoneWithATunnel() throws {
        let table = TunnelTable(ownerLimit: 2)
        let ids = (0..<4).map { _ in TunnelID.broadcast(.random()) }
        let first = tunnel(ids[0])
        #expect(add(first, to: table, of: 1) == .added)
        #expect(add(tunnel(ids[0]), to: table, of: 1) == .exists)
        let second = tunnel(ids[1])
        #expect(add(second, to: table, of: 2) == .added)
        table.end(second.session, reason: "over")
        #expect(
            add(tunnel(ids[1]), to: table, of: 3) == .isAnothers,
            "the identifier is its owner's after the end, too")
        // The first one runs, so the second is forgotten.
        #expect(add(tunnel(ids[2]), to: table, of: 3) == .added)
        #expect(add(tunnel(ids[1]), to: table, of: 4) == .added)
        table.end(first.session, reason: "over")
        #expect(add(tunnel(ids[0]), to: table, of: 5) == .isAnothers)
        #expect(add(tunnel(ids[0]), to: table, of: 1) == .added)
    }

    /// Whoever opens tunnel after tunnel forgets their own identifiers, and those of their address.
    @Test func oneCertificateAndOneAddressPushNobodyElseOut() throws {
        let table = TunnelTable(ownerLimit: 32, certificateLimit: 4)
        func hold(_ certificate: UInt8, _ address: String) -> TunnelID {
            let found = tunnel(.broadcast(.random()))
            #expect(add(found, to: table, of: certificate, at: address) == .added)
            table.end(found.session, reason: "over")
            return found.id
        }
        let victim = hold(1, "192.0.2.1")
        let own = (0..<100).map { _ in hold(2, "192.0.2.2") }
        #expect(!table.isOwner([3], of: victim))
        #expect(own.count { !table.isOwner([3], of: $0) } == 4)
        // With many certificates of one address.
        for certificate in UInt8(10)..<250 { _ = hold(certificate, "192.0.2.2") }
        #expect(!table.isOwner([3], of: victim))
        #expect(add(tunnel(victim), to: table, of: 3, at: "192.0.2.2") == .isAnothers)
        #expect(add(tunnel(victim), to: table, of: 1, at: "192.0.2.9") == .added)
    }

    @Test func identifiersAreOfBroadcastsOrServices() {
        #expect(TunnelID("028T5CY4TQKFF") == BroadcastID("028T5CY4TQKFF").map { .broadcast($0) })
        #expect(TunnelID("COM.example.conference")?.path == "/services/com.example.conference")
        for text in ["", "x", "conference", "028T5CY4TQKF", "a..b", "services/com.example"] {
            #expect(TunnelID(text) == nil, "\(text)")
        }
    }
}
