import Foundation
import TestSupport
import Testing

/// The extensions that come with `share`, as a user runs them: WHIP to any endpoint, and to a service peer.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct ShippedExtensionTests {
    private static let token = "a-token-of-the-service"

    private func service(_ arguments: [String], input: String? = nil) throws -> (ShareProcess, link: String) {
        let process = try ShareProcess(
            [
                "service", "--id", "com.example.conference", "--name", "Conference", "--headless", "--listen",
                "127.0.0.1:0", "--json", "--accept", "any",
            ] + arguments, in: TemporaryFolder(), input: input)
        return (process, try #require(process.event("link")?["link"] as? String, "\(process.errorText)"))
    }

    private func host(_ id: String, _ values: [String: String], _ more: [String] = []) throws -> Terminal {
        let fields = values.flatMap { ["--field", "\($0.key)=\($0.value)"] }
        let host = try Terminal(
            ["host", "--preferred-extension", id, "--source", "test", "--name", "Budget"] + fields + more)
        #expect(host.waitUntil { $0.contains("\"Budget\" wants to broadcast to") && $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        return host
    }

    // MARK: Lists

    @Test func theyAreListedAndCannotBeReplacedOrRemoved() throws {
        let folder = try TemporaryFolder()
        let services = try ShareProcess(["services"], in: folder)
        #expect(services.exitCode() == 0)
        #expect(services.lines.map { $0.split(separator: " ").first } == ["io.sharekit.service", "io.sharekit.whip"])
        let remove = try ShareProcess(["extension", "remove", "io.sharekit.whip"], in: folder)
        #expect(remove.exitCode() == 67)
        #expect(remove.errorText.contains("comes with share, and cannot be removed"))
        let manifest = folder.file("manifest.json")
        try #"{"id": "io.sharekit.whip", "name": "WHIP", "upload": "/bin/true"}"#.write(
            toFile: manifest, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: manifest)
        let install = try ShareProcess(["extension", "install", manifest], in: folder)
        #expect(install.exitCode() == 67)
        #expect(install.errorText.contains("is an identifier of share itself"))
    }

    // MARK: WHIP

    @Test func aServiceTakesFramesByWHIPAndItsToken() throws {
        let (service, link) = try service(["--token", Self.token])
        let host = try host("io.sharekit.whip", ["url": link, "token": Self.token])
        let first = try #require(service.event("first-picture"), "\(host.screen())")
        #expect(first["width"] as? Int == 1280 && first["height"] as? Int == 720)
        #expect(host.waitUntil { $0.contains("\"WHIP\" (extension") && $0.contains("LIVE 00:") })
        try host.type("C-c")
        #expect(host.waitUntil { $0.contains("ended by Ctrl-C") || $0.contains("ended by SIGINT") })
        #expect(service.event("broadcast-closed") != nil)
    }

    /// aiortc knows nothing of this project: it decodes the frames that the host has encoded, and the audio.
    @Test func aForeignEndpointDecodesTheHostsFrames() async throws {
        let folder = try TemporaryFolder()
        let endpoint = try ForeignEndpoint(token: "secret", in: folder)
        let host = try host("io.sharekit.whip", ["url": endpoint.url, "token": "secret"])
        let first = try await endpoint.line { $0.hasPrefix("{\"first\"") }
        #expect(first == #"{"first": [1280, 720]}"#)
        // The test video has 30 frames a second; a busy machine decodes fewer.
        _ = try await endpoint.line { $0.hasPrefix("{\"many\"") }
        #expect(host.waitUntil { $0.contains("LIVE 00:00:") })
        try host.type("C-c")
        let line = try await endpoint.line { $0.hasPrefix("{\"connected\"") }
        let report = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(report["frames"] as? Int ?? 0 > 20, "\(line)")
        #expect((report["audio"] as? [Int] ?? []).first ?? 0 > 50, "\(line)")
        #expect((report["audio"] as? [Int])?.count == 1, "\(line)")
        #expect(report["keyFrames"] as? Int ?? 0 < 6 && report["deleted"] as? Bool == true, "\(line)")
    }

    @Test func anEndpointThatRefusesIsNamedWithTheNextStep() throws {
        let folder = try TemporaryFolder()
        let endpoint = try ForeignEndpoint(token: "secret", in: folder)
        let host = try host("io.sharekit.whip", ["url": endpoint.url, "token": "wrong"])
        #expect(host.waitUntil { $0.contains("refuses the token (401)") && $0.contains("Check the token") })
        let elsewhere = try self.host("io.sharekit.whip", ["url": endpoint.url + "/none", "token": "secret"])
        #expect(elsewhere.waitUntil { $0.contains("does not know this address (404)") })
        let nonsense = try self.host("io.sharekit.whip", ["url": "ftp://example.com", "token": "-"])
        // A dash on the command line: the user types the value, here one that says that there is none.
        #expect(nonsense.waitUntil { $0.hasSuffix("(- for none):") })
        try nonsense.type("-", "Enter")
        #expect(nonsense.waitUntil { $0.contains("is no address of a WHIP endpoint") })
        // A port that was free a moment ago.
        let nobody = try self.host("io.sharekit.whip", ["url": "http://127.0.0.1:1/whip", "token": "-"])
        #expect(nobody.waitUntil { $0.hasSuffix("(- for none):") })
        try nobody.type("-", "Enter")
        #expect(nobody.waitUntil { $0.contains("127.0.0.1 cannot be reached") })
    }

    // MARK: A service peer

    @Test func aServicePeerIsPairedWithAfterItsOwnQuestion() throws {
        let (service, link) = try service(
            ["--field", "title:Title"], input: nil)
        let host = try host("io.sharekit.service", ["link": link])
        // The second question names the service of the link, and asks for what that wants.
        #expect(host.waitUntil { $0.contains("wants to broadcast to \"Conference\"") && $0.hasSuffix("[n]o:") })
        #expect(service.event("pairing", seconds: 0.1) == nil)
        try host.type("y", "Enter")
        #expect(host.waitUntil { $0.hasSuffix("Title:") })
        try host.type("Accounts", "Enter")
        let paired = try #require(service.event("paired"), "\(host.screen())")
        #expect(paired["application"] as? String == "Budget")
        #expect((paired["setup"] as? [String: String])?["title"] == "Accounts")
        #expect(service.event("first-picture") != nil, "\(host.screen())")
        service.interrupt()
        #expect(host.waitUntil { $0.contains("ended it: the service has stopped") }, "\(host.screen())")
    }

    @Test func aServiceThatIsNotThereIsNamed() throws {
        let (service, link) = try service([])
        service.interrupt()
        #expect(service.exitCode() == 0)
        let host = try host("io.sharekit.service", ["link": link])
        #expect(host.waitUntil { $0.contains("nothing listens at port") }, "\(host.screen())")
    }
}

/// A WHIP endpoint made of aiortc (Tests/ForeignPeers).
private struct ForeignEndpoint {
    let url: String
    private let process: Program

    init(token: String, in folder: TemporaryFolder) throws {
        let peers = URL(fileURLWithPath: #filePath).appendingPathComponent("../../ForeignPeers").standardized
        let preparation = try Program(peers.appendingPathComponent("prepare").path)
        guard preparation.exitCode(seconds: 240) == 0,
            let python = preparation.lines(.standard).first(where: { $0.hasPrefix("aiortc ") })?.split(separator: " ")
        else { throw Program.Failure("aiortc is not ready: \(preparation.text.errors.suffix(1_000))") }
        process = try Program(
            String(python[1]),
            [peers.appendingPathComponent("aiortc/whip.py").path, "--token", token, "--folder", folder.path])
        guard let first = process.line(seconds: 20, { $0.hasPrefix("http://") ? $0 : nil }) else {
            throw Program.Failure("no endpoint: \(process.text.errors.suffix(1_000))")
        }
        url = first
    }

    func line(_ isWanted: @escaping @Sendable (String) -> Bool) async throws -> String {
        try await process.line(.standard, within: .seconds(20), where: isWanted)
    }
}
