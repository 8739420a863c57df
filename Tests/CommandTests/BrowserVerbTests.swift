import Foundation
import TestSupport
import Testing

/// `share join --browser`, without a real browser.
@Suite(.serialized, .timeLimit(.minutes(2))) struct BrowserVerbTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [
        ["--record"], ["--clips"], ["--headless"], ["--fullscreen"], ["--mute"], ["--snapshot", "a.png"],
        ["--for", "5s"], ["--stats"], ["--max-layer", "0"], ["--stun", "192.0.2.1"], ["--relay-only"],
    ]) func optionsOfTheProgramsOwnSessionAreRefused(arguments: [String]) throws {
        let program = try ShareProcess(["join", "https://192.0.2.1:1/x", "--browser"] + arguments, in: folder)
        #expect(program.exitCode() == 64)
        #expect(program.errorText.contains("the browser watches") && program.errorText.contains(arguments[0]))
    }

    /// What is wrong with the link is said before a browser opens.
    @Test func aHostThatIsNotThereIsSaidAtOnce() throws {
        let id = "0123456789ABC", secret = String(repeating: "A", count: 64)
        let program = try ShareProcess(["join", "https://127.0.0.1:1/\(id)#AQ\(secret)", "--browser"], in: folder)
        #expect(program.exitCode() == 68, "\(program.errorText)")
        #expect(program.lines.isEmpty && program.errorText.contains("nothing listens at port 1"))
    }

    /// The browser gets a file that names the page, as other users read the arguments of programs. The file is removed
    /// with the first page.
    @Test func theBrowserGetsAFileAndTheFileIsRemoved() throws {
        let programs = folder.file("programs")
        try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: true)
        mkfifo(folder.file("opened"), 0o600)
        let show = "{ echo \"$1\"; cat \"$1\"; stat -c '%a' \"$1\" \"$(dirname \"$1\")\"; }"
        try "#!/bin/sh\n\(show) > \(folder.file("opened"))\n"
            .write(toFile: programs + "/xdg-open", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: programs + "/xdg-open")
        let host = try ShareProcess(
            ["host", "--source", "test", "--accept", "any", "--listen", "127.0.0.1:0"], in: TemporaryFolder())
        let link = try #require(host.firstLine())
        let path = programs + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
        let viewer = try ShareProcess(["join", link, "--browser"], in: folder, environment: ["PATH": path])
        let address = try #require(viewer.firstLine())
        #expect(address.hasPrefix("http://127.0.0.1:") && address.hasSuffix(String(link.drop { $0 != "#" })))
        let reader = try Program("cat", [folder.file("opened")])
        #expect(reader.exitCode(seconds: 30) == 0)
        let lines = reader.text.output.split(separator: "\n").map { String($0) }
        let file = try #require(lines.first)
        #expect(lines.contains { $0.contains("url=\(address)\"") } && lines.contains("600") && lines.contains("700"))
        #expect(FileManager.default.fileExists(atPath: file))
        let page = String(address.prefix { $0 != "#" })
        for (url, status) in [(page, "200"), (page + "/knock", "404"), (String(page.dropLast(20)), "404")] {
            let program = try Program("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", url])
            #expect(program.exitCode(seconds: 30) == 0)
            #expect(program.text.output == status, "\(url.suffix(20))")
        }
        #expect(!FileManager.default.fileExists(atPath: file))
        viewer.interrupt()
        #expect(viewer.exitCode() == 0 && viewer.lines == [address], "\(viewer.errorText)")
        host.interrupt()
        #expect(host.exitCode() == 0)
    }
}
