import Foundation
import TestSupport
import Testing

/// What a service or an extension tells of its viewers, on the host: in the status line, and for other programs.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ServiceInfoTests {
    private let folder: TemporaryFolder
    private let own: TemporaryFolder

    init() throws { (folder, own) = (try TemporaryFolder(), try TemporaryFolder()) }

    private func install(_ link: String) throws {
        let process = try ShareProcess(["extension", "install", link], in: own)
        #expect(process.exitCode() == 0, "\(process.errorText)")
    }

    private func host(_ id: String) throws -> Terminal {
        let host = try Terminal(
            ["host", "--preferred-extension", id, "--source", "test", "--audio", "none", "--name", "Anna"],
            environment: ["XDG_DATA_HOME": own.path])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        return host
    }

    private func status(of host: Terminal) throws -> [String: Any] {
        let status = try ShareProcess(["status", "--json"], in: host.hostFolder)
        #expect(status.exitCode() == 0, "\(status.errorText)")
        return try #require(
            try JSONSerialization.jsonObject(with: Data((status.lines.first ?? "").utf8)) as? [String: Any])
    }

    @Test func aServicesViewersLikesAndCommentsAreShown() throws {
        let commands = folder.file("commands")
        try Program("mkfifo", [commands]).finish()
        let service = try ShareProcess(
            [
                "service", "--id", "com.example.conference", "--name", "Conference", "--listen", "127.0.0.1:0",
                "--json",
                "--accept", "any", "--headless",
            ], launcher: ["sh", "-c", "exec \"$0\" \"$@\" 0<>'\(commands)'"])
        try install(try #require(service.event("link")?["link"] as? String, "\(service.errorText)"))
        let host = try host("com.example.conference")
        #expect(service.event("first-picture") != nil)
        // The control socket of the broadcast opens when the service may have the first frame already.
        #expect(host.waitUntil { $0.contains("LIVE 00:") }, "\(host.screen())")
        #expect(try status(of: host)["likes"] is NSNull)
        func tell(_ line: String) throws {
            let writer = try #require(FileHandle(forWritingAtPath: commands))
            try writer.write(contentsOf: Data((line + "\n").utf8))
            try writer.close()
        }
        try tell(#"{"viewers": 3, "likes": 2}"#)
        try tell(#"{"comment": {"name": "Ann\\u001b[31m", "text": "nice"}}"#)
        #expect(
            host.waitUntil {
                $0.contains("to \"Conference\", 3 viewers, 2 likes") && $0.contains("nice") && !$0.contains("\u{1B}")
            }, "\(host.screen())")
        let told = try status(of: host)
        #expect(told["viewers"] as? Int == 3 && told["likes"] as? Int == 2, "\(told)")
        #expect((told["comment"] as? [String: String])?["text"] == "nice")
        let line = try ShareProcess(["status"], in: host.hostFolder)
        #expect(line.exitCode() == 0)
        #expect(line.lines.first?.contains("to \"Conference\", 3 viewers, 2 likes") == true, "\(line.lines)")
        // What is told later does not take back what it does not say.
        try tell(#"{"likes": 5}"#)
        #expect(host.waitUntil { $0.contains("3 viewers, 5 likes") }, "\(host.screen())")
        let later = try status(of: host)["comment"] as? [String: String]
        #expect(later?["text"] == "nice")
        try host.type("C-c")
        #expect(service.event("broadcast-closed") != nil)
    }

    @Test func thoseOfTheProgramOfAnExtensionAreShown() throws {
        try install(folder.probeManifest("feedback"))
        let host = try host("com.example.probe")
        #expect(host.waitUntil { $0.contains("3 likes") && $0.contains("\"Ada\": \"hello\"") }, "\(host.screen())")
        let told = try status(of: host)
        #expect(told["likes"] as? Int == 3 && told["destination"] as? String == "Probe", "\(told)")
        #expect(told["comment"] as? [String: String] == ["name": "Ada", "text": "hello"])
        try host.type("C-c")
        #expect(host.waitUntil { $0.contains("ended by") })
    }
}

extension TemporaryFolder {
    /// Writes the manifest of the extension `com.example.probe`, whose program is the probe with this behaviour; its
    /// log is the file "log".
    func probeManifest(_ behaviour: String) throws -> String {
        let script = file("upload")
        try "#!/bin/sh\nexec '\(Program.built("probe-extension"))' \(behaviour) '\(file("log"))'\n".write(
            toFile: script, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        let manifest = file("manifest.json")
        try #"{"id": "com.example.probe", "name": "Probe", "upload": "upload"}"#.write(
            toFile: manifest, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: manifest)
        return manifest
    }
}
