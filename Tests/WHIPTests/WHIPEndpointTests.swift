import HTTP
import NIOCore
import NIOHTTP1
import SessionDescription
import Signaling
import TLSTransport
import TestSupport
import Testing

@testable import WHIP

/// A WHIP client against servers that behave in every way (RFC 9725).
@Suite struct WHIPEndpointTests {
    private static let answer = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"

    private func error(
        _ endpoint: WHIPEndpoint, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> SignalingError? {
        do throws(SignalingError) {
            _ = try await endpoint.publish("v=0")
            Issue.record("published", sourceLocation: sourceLocation)
            return nil
        } catch {
            return error
        }
    }

    /// The whole life of a session, at a place relative to the endpoint.
    @Test func aSessionIsPublishedRestartedAndDeleted() async throws {
        let server = try await ScriptedServer { request in
            switch request.method {
            case .POST: .answer(201, [("Location", "session/7"), ("ETag", "\"one\"")], Self.answer)
            case .PATCH: .answer(200, [("ETag", "\"two\"")], "a=ice-ufrag:new\r\n")
            default: .answer(200)
            }
        }
        let endpoint = try WHIPEndpoint(server.url + "/live/in?key=a%20b", token: "secret")
        let published = try await endpoint.publish("v=0 offer")
        #expect(published.sdp == Self.answer && published.etag == "\"one\"")
        #expect(published.resource == server.url + "/live/session/7")
        let restarted = try await endpoint.restart("a=ice-ufrag:old", timeout: .seconds(5))
        #expect(restarted.fragment == "a=ice-ufrag:new\r\n")
        await endpoint.close()
        await endpoint.close()
        let requests = server.requests
        #expect(requests.map(\.method) == [.POST, .PATCH, .DELETE])
        #expect(requests.map(\.path) == ["/live/in?key=a%20b", "/live/session/7", "/live/session/7"])
        #expect(requests.allSatisfy { $0.token == "Bearer secret" })
        let offer = try #require(requests.first)
        #expect(offer.body == "v=0 offer" && offer.headers["Content-Type"] == ["application/sdp"])
        #expect(requests[1].headers["Content-Type"] == ["application/trickle-ice-sdpfrag"])
        #expect(requests[1].headers["If-Match"] == ["*"])
        try await server.stop()
    }

    /// By `https`: the certificate has to be for the URL's name, and of an authority that is trusted.
    @Test func aCertificateDecidesWhetherAnythingIsSent() async throws {
        let authority = try CertificateAuthority()
        let trust = try TLSContext(client: .authorities(file: authority.file))
        for (names, trust, isTrusted) in [
            ("IP:127.0.0.1", trust, true), ("IP:127.0.0.2", trust, false), ("IP:127.0.0.1", nil, false),
        ] {
            let server = try await ScriptedServer(certificate: authority.issue(names)) { _ in
                .answer(201, [("Location", "/session")], Self.answer)
            }
            let endpoint = try WHIPEndpoint(server.url, token: "secret", timeout: .seconds(10), trust: trust)
            if isTrusted {
                #expect(try await endpoint.publish("v=0").resource == server.url + "/session")
            } else {
                #expect(await error(endpoint)?.code == .certificateMismatch)
            }
            await endpoint.close()
            #expect(server.requests.map(\.method) == (isTrusted ? [.POST, .DELETE] : []))
            try await server.stop()
        }
    }

    /// A server without TLS at the port of an `https` URL, and a port at which nothing listens.
    @Test func aServerThatIsNoneIsReported() async throws {
        let server = try await ScriptedServer { _ in .answer(201, [], Self.answer) }
        let secure = try WHIPEndpoint("https://127.0.0.1:\(server.port)/", token: "", timeout: .seconds(10))
        #expect(await error(secure)?.code == .unreachable)
        await secure.close()
        #expect(server.requests.isEmpty)
        try await server.stop()
        let gone = try WHIPEndpoint(server.url, token: "", timeout: .seconds(10))
        #expect(await error(gone)?.code == .unreachable)
        await gone.close()
    }

    /// RFC 9725 section 4.6. The next offer ends the session of the one before.
    @Test func serversOfTheAnswerAreKeptAndAFormerSessionIsDeleted() async throws {
        let server = try await ScriptedServer { request in
            request.method == .POST
                ? .answer(
                    201,
                    [
                        ("Location", "/session"),
                        ("Link", "<stun:stun.example.net>; rel=\"ice-server\", </x>; rel=\"next\""),
                        ("Link", "<turn:turn.example.net>; rel=ice-server; username=\"u\"; credential=\"a \\\" b\""),
                        ("Link", "<turn:other.example.net>; rel=ice-server; credential-type=oauth"),
                    ], Self.answer) : .answer(200)
        }
        let endpoint = try WHIPEndpoint(server.url + "/in", token: "secret")
        #expect(endpoint.grantedServers.servers.isEmpty)
        for _ in 0..<2 { _ = try await endpoint.publish("v=0") }
        #expect(
            endpoint.grantedServers.servers == [
                ICEServer(urls: ["stun:stun.example.net"]),
                ICEServer(urls: ["turn:turn.example.net"], username: "u", credential: "a \" b"),
            ])
        await endpoint.close()
        #expect(server.requests.map(\.method) == [.POST, .DELETE, .POST, .DELETE])
        try await server.stop()
    }

    /// The method and the body stay; the token stays with the endpoint that it is for.
    @Test(arguments: [307, 308]) func aRedirectIsFollowedWithoutTheTokenOfAnotherPlace(status: Int) async throws {
        let second = try await ScriptedServer { _ in .answer(201, [("Location", "/session")], Self.answer) }
        let elsewhere = second.url + "/in"
        let first = try await ScriptedServer { request in
            request.path == "/a" ? .answer(status, [("Location", "b")]) : .answer(status, [("Location", elsewhere)])
        }
        let endpoint = try WHIPEndpoint(first.url + "/a", token: "secret")
        let published = try await endpoint.publish("v=0 offer")
        #expect(published.resource == second.url + "/session")
        #expect(first.requests.map(\.path) == ["/a", "/b"])
        #expect(first.requests.allSatisfy { $0.token == "Bearer secret" })
        #expect(second.requests.map(\.path) == ["/in"])
        #expect(second.requests.allSatisfy { $0.token == nil && $0.method == .POST && $0.body == "v=0 offer" })
        await endpoint.close()
        try await first.stop()
        try await second.stop()
    }

    /// The token is for what the user has typed, whatever the endpoint says of its session.
    @Test func anotherOriginGetsNoToken() async throws {
        let other = try await ScriptedServer { _ in .answer(200, [], "a=ice-ufrag:x") }
        let place = other.url + "/admin/everything"
        let server = try await ScriptedServer { _ in .answer(201, [("Location", place)], Self.answer) }
        let endpoint = try WHIPEndpoint(server.url, token: "secret")
        _ = try await endpoint.publish("v=0 offer")
        _ = try? await endpoint.restart("a=ice-ufrag:y", timeout: .seconds(5))
        await endpoint.close()
        #expect(server.requests.map(\.token) == ["Bearer secret"])
        #expect(other.requests.map(\.method) == [.PATCH, .DELETE] && other.requests.allSatisfy { $0.token == nil })
        // Another name of the same machine is another origin.
        let named = try await ScriptedServer { request in
            request.path == "/in"
                ? .answer(
                    307,
                    [
                        (
                            "Location",
                            "http://localhost:\(request.headers.first(name: "Host")?.split(separator: ":").last ?? "")/x"
                        )
                    ]) : .answer(404)
        }
        let second = try WHIPEndpoint(named.url + "/in", token: "secret")
        _ = await error(second)
        await second.close()
        #expect(named.requests.map(\.path) == ["/in", "/x"] && named.requests.map(\.token) == ["Bearer secret", nil])
        for server in [other, server, named] { try await server.stop() }
    }

    @Test(arguments: [true, false]) func aPublicEndpointNamesNoPrivatePlace(isSession: Bool) async throws {
        let inner = try await ScriptedServer { _ in .answer(201, [], Self.answer) }
        let place = inner.url + "/router/reboot"
        let server = try await ScriptedServer { _ in
            isSession ? .answer(201, [("Location", place)], Self.answer) : .answer(307, [("Location", place)])
        }
        for (own, isUsed) in [("8.8.8.8", false), ("2001:4860:4860::8888", false), ("192.168.1.7", true)] {
            let endpoint = try WHIPEndpoint(
                "http://localhost:\(server.port)/in", token: "secret", timeout: .seconds(10),
                lookup: { host in [host == "localhost" ? own : host] })
            if isSession || isUsed {
                _ = try await endpoint.publish("v=0 offer")
            } else {
                let error = await error(endpoint)
                #expect(error?.description.contains("not public") == true, "\(error?.description ?? "")")
            }
            let before = inner.requests.count
            await endpoint.close()
            #expect(inner.requests.isEmpty == !isUsed, "\(own) \(before)")
        }
        try await server.stop()
        try await inner.stop()
    }

    @Test(arguments: [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0",
        "::1", "::", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "::ffff:192.168.0.1", "::10.0.0.1",
        "64:ff9b::10.0.0.1",
        "2002:a00:1::", "ff02::1",
    ])
    func addressesThatAreNotPublic(text: String) throws {
        #expect(!WHIPOrigin.isPublic(try #require(IPAddress(text))))
    }

    @Test(arguments: [
        "8.8.8.8", "172.32.0.1", "100.128.0.1", "2001:4860:4860::8888", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8",
    ])
    func publicAddresses(text: String) throws { #expect(WHIPOrigin.isPublic(try #require(IPAddress(text)))) }

    @Test func aCircleOfRedirectsEnds() async throws {
        let server = try await ScriptedServer { _ in .answer(307, [("Location", "/again")]) }
        let endpoint = try WHIPEndpoint(server.url, token: "")
        let error = await error(endpoint)
        #expect(error?.code == .offerRefused && error?.description.contains("again and again") == true)
        #expect(server.requests.count == 6)
        #expect(server.requests.allSatisfy { $0.token == nil })
        await endpoint.close()
        try await server.stop()
    }

    @Test(arguments: [nil, "", "ftp://127.0.0.1/in", "file:///etc/passwd", "http://[", "mailto:somebody@example.com"])
    func aRedirectToNoPlaceIsRefused(place: String?) async throws {
        let server = try await ScriptedServer { _ in .answer(307, place.map { [("Location", $0)] } ?? []) }
        let endpoint = try WHIPEndpoint(server.url, token: "secret")
        let error = await error(endpoint)
        #expect(error?.code == .offerRefused, "\(error?.description ?? "")")
        await endpoint.close()
        try await server.stop()
    }

    @Test(arguments: ["ftp://127.0.0.1/in", "file:///etc/passwd"])
    func aSessionAtNoPlaceIsRefused(place: String) async throws {
        let server = try await ScriptedServer { _ in .answer(201, [("Location", place)], Self.answer) }
        let endpoint = try WHIPEndpoint(server.url, token: "secret")
        #expect(await error(endpoint)?.code == .offerRefused)
        await endpoint.close()
        #expect(server.requests.map(\.method) == [.POST])
        try await server.stop()
    }

    /// No answer, and one whose body does not end.
    @Test(arguments: [ScriptedServer.Answer.nothing, .unfinished(""), .unfinished("v=0\r\n")])
    func aSlowAnswerEndsInTime(behaviour: ScriptedServer.Answer) async throws {
        let server = try await ScriptedServer { _ in behaviour }
        let endpoint = try WHIPEndpoint(server.url, token: "", timeout: .milliseconds(300))
        #expect(await error(endpoint)?.code == .timedOut)
        await endpoint.close()
        try await server.stop()
    }

    @Test func aLongAnswerIsRefused() async throws {
        let server = try await ScriptedServer { _ in
            .answer(201, [], Self.answer + String(repeating: "a=x\r\n", count: 60_000))
        }
        let endpoint = try WHIPEndpoint(server.url, token: "")
        let error = await error(endpoint)
        #expect(error?.code == .offerRefused && error?.description.contains("too long") == true)
        await endpoint.close()
        try await server.stop()
    }

    @Test func aConnectionThatBreaksWithinTheAnswerIsReported() async throws {
        let server = try await ScriptedServer { _ in .broken }
        let endpoint = try WHIPEndpoint(server.url, token: "")
        #expect(await error(endpoint)?.code == .connectionLost)
        await endpoint.close()
        try await server.stop()
    }

    @Test func anAnswerThatIsNoDescriptionIsRefused() async throws {
        let server = try await ScriptedServer { _ in .answer(201, [], "<html>") }
        let endpoint = try WHIPEndpoint(server.url, token: "")
        #expect(await error(endpoint)?.code == .offerRefused)
        await endpoint.close()
        try await server.stop()
    }

    @Test(arguments: [
        (400, SignalingError.Code.offerRefused), (401, .refused), (403, .refused), (404, .oldLink),
        (405, .offerRefused),
        (406, .offerRefused), (409, .tooMany), (410, .oldLink), (415, .offerRefused), (422, .offerRefused),
        (429, .tooMany), (500, .offerRefused), (503, .tooMany), (204, .offerRefused), (302, .offerRefused),
    ])
    func everyStatusHasItsError(status: Int, code: SignalingError.Code) async throws {
        let server = try await ScriptedServer { _ in .answer(status, [("Location", "/elsewhere")]) }
        let endpoint = try WHIPEndpoint(server.url, token: "")
        #expect(await error(endpoint)?.code == code)
        #expect(server.requests.count == 1)
        await endpoint.close()
        try await server.stop()
    }

    /// RFC 9725 section 4.3: an endpoint need not take a PATCH.
    @Test func aRefusedRestartIsNotTriedAgain() async throws {
        let server = try await ScriptedServer { request in
            request.method == .POST ? .answer(201, [("Location", "/s")], Self.answer) : .answer(405)
        }
        let endpoint = try WHIPEndpoint(server.url, token: "")
        _ = try await endpoint.publish("v=0")
        for _ in 0..<3 {
            await #expect(throws: SignalingError.self) {
                _ = try await endpoint.restart("a=ice-ufrag:a", timeout: .seconds(5))
            }
        }
        #expect(server.requests.map(\.method) == [.POST, .PATCH, .GET, .GET])
        await endpoint.close()
        try await server.stop()
    }

    /// An endpoint without PATCH says by 404 that it has ended the session; 405 says nothing.
    @Test func aSessionThatIsGoneIsReportedWithoutPatch() async throws {
        let server = try await ScriptedServer { request in
            switch request.method {
            case .POST: .answer(201, [("Location", "/s")], Self.answer)
            case .PATCH: .answer(405)
            default: .answer(404)
            }
        }
        let endpoint = try WHIPEndpoint(server.url, token: "")
        _ = try await endpoint.publish("v=0")
        for code in [SignalingError.Code.offerRefused, .gone] {
            do throws(SignalingError) {
                _ = try await endpoint.restart("a=ice-ufrag:a", timeout: .seconds(5))
                Issue.record("restarted")
            } catch {
                #expect(error.code == code)
            }
        }
        await endpoint.close()
        try await server.stop()
    }

    @Test func aSessionThatIsGoneIsReported() async throws {
        let server = try await ScriptedServer { request in
            request.method == .POST ? .answer(201, [("Location", "/s")], Self.answer) : .answer(404)
        }
        let endpoint = try WHIPEndpoint(server.url, token: "")
        _ = try await endpoint.publish("v=0")
        do throws(SignalingError) {
            _ = try await endpoint.restart("a=ice-ufrag:a", timeout: .seconds(5))
            Issue.record("restarted")
        } catch {
            #expect(error.code == .gone)
        }
        await endpoint.close()
        try await server.stop()
    }

    @Test(arguments: [
        "", "example.com/whip", "ftp://example.com", "http://", "https://user:word@example.com/", "http://a/#b",
    ])
    func anAddressThatIsNoneIsRefused(text: String) {
        #expect(throws: SignalingError.self) { try WHIPEndpoint(text, token: "") }
    }

    @Test(arguments: ["two words", "line\r\nX: y", "schlüssel"])
    func aTokenThatIsNoneIsRefused(token: String) {
        #expect(throws: SignalingError.self) { try WHIPEndpoint("https://example.com/whip", token: token) }
    }
}
