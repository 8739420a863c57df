import Foundation
import TestSupport
import Testing

/// The requests of OBS and of GStreamer, as they leave those programs, to a real relay. Both use a certificate that
/// their users' systems know.
@Suite(.timeLimit(.minutes(2)))
struct ForeignPublishingTests {
    private static let token = "a-token-for-tools-of-others"

    private struct Relay {
        let process: ShareProcess
        let folder: TemporaryFolder
        let authority: CertificateAuthority
        let endpoint: String

        init() throws {
            folder = try TemporaryFolder()
            authority = try CertificateAuthority()
            try Data(token.utf8).write(to: URL(fileURLWithPath: folder.file("token")))
            process = try ShareProcess(
                [
                    "relay", "--listen", "127.0.0.1:0", "--accept", "known", "--json", "--publish-token",
                    folder.file("token"),
                ]
                    + authority.issue("DNS:localhost").arguments, in: folder)
            let link = try #require(process.event("link")?["link"] as? String, "\(process.errorText)")
            endpoint = try #require(link.split(separator: "#").first) + "/whip"
        }

        /// - Returns: curl's standard output.
        func curl(_ arguments: [String]) throws -> String {
            try Program("curl", ["-s", "--cacert", authority.file, "-m", "8"] + arguments).finish()
        }

        func write(_ offer: String) throws -> String {
            let file = folder.file("offer-\(UUID().uuidString)")
            // The recorded texts have the line ends of this file.
            let text = offer.replacing("\r\n", with: "\n").replacing("\n", with: "\r\n")
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            return file
        }

        func read(_ name: String) throws -> String { try String(contentsOfFile: folder.file(name), encoding: .utf8) }
    }

    /// `whip-output.cpp` of OBS 30: libcurl, 8 s, a redirect may follow, and exactly 201 with a body and a location.
    @Test func obsPublishesAndLeaves() throws {
        let relay = try Relay()
        let agent = "User-Agent: Mozilla/5.0 (OBS-Studio/30.2.3; Linux x86_64; en-US)"
        let own = ["-H", "Authorization: Bearer \(Self.token)", "-H", agent]
        let result = try relay.curl(
            own + [
                "--location-trusted", "-H", "Content-Type: application/sdp", "--data-binary",
                "@" + relay.write(SendingOffers.obs), "-D", relay.folder.file("head"), "-o",
                relay.folder.file("answer"),
                "-w", "%{http_code} %{num_redirects} %{url_effective}", relay.endpoint,
            ])
        #expect(result == "201 0 \(relay.endpoint)")
        let answer = try relay.read("answer")
        // What stands before v=0 is dropped, and it never sends or gets candidates later.
        #expect(
            answer.hasPrefix("v=0\r\n") && answer.contains("a=candidate:") && answer.contains("a=end-of-candidates"))
        #expect(answer.contains("m=audio 9 ") && answer.contains("m=video 9 ") && answer.contains("a=setup:passive"))
        #expect(answer.contains("a=rtpmap:96 H264/90000") && answer.contains("packetization-mode=1"))
        #expect(answer.contains("a=mid:0\r\n") && answer.contains("a=mid:1\r\n"))
        let locations = try relay.read("head").split(separator: "\r\n").filter {
            $0.lowercased().hasPrefix("location: ")
        }
        let location = try #require(locations.first?.dropFirst("location: ".count))
        // It takes another location than one that begins with "http" for a path from the root.
        #expect(locations.count == 1 && location.hasPrefix("/services/"))
        let port = try #require(URL(string: relay.endpoint)?.port)
        let resource = "https://localhost:\(port)\(location)"
        let deletion = ["-X", "DELETE", "-o", "/dev/null", "-w", "%{http_code}", resource]
        #expect(try relay.curl(deletion) == "401")
        #expect(try relay.curl(own + deletion) == "200")
        #expect(relay.process.event("closed") != nil, "\(relay.process.errorText)")
    }

    /// FFmpeg 8's WHIP muxer: a form of its own in the request, and DTLS as the server.
    @Test func ffmpegPublishesAndLeaves() throws {
        let relay = try Relay()
        let own = ["-H", "Authorization: Bearer \(Self.token)", "-H", "User-Agent: Lavf/62.3.100"]
        let result = try relay.curl(
            own + [
                "-H", "Cache-Control: no-cache", "-H", "Content-Type: application/sdp", "--data-binary",
                "@" + relay.write(SendingOffers.ffmpeg), "-D", relay.folder.file("head"), "-o",
                relay.folder.file("answer"), "-w", "%{http_code}", relay.endpoint,
            ])
        let answer = try relay.read("answer")
        #expect(result == "201", "\(answer)")
        // It takes the first UDP candidate with "host", and reads no setup.
        #expect(answer.hasPrefix("v=") && answer.contains("a=setup:active\r\n") && !answer.contains("a=setup:passive"))
        let candidate = try #require(answer.split(separator: "\r\n").first { $0.hasPrefix("a=candidate:") })
        #expect(candidate.lowercased().contains(" udp ") && candidate.contains(" typ host"))
        #expect(answer.contains("a=rtpmap:106 H264/90000") && answer.contains("a=rtpmap:111 opus/48000/2"))
        let location = try #require(
            relay.read("head").split(separator: "\r\n").first { $0.lowercased().hasPrefix("location: ") })
        let resource = try #require(
            URL(string: String(location.dropFirst("location: ".count)), relativeTo: URL(string: relay.endpoint)))
        #expect(
            try relay.curl(
                own + ["-X", "DELETE", "-o", "/dev/null", "-w", "%{http_code}", resource.absoluteString]) == "200")
    }

    /// `whipclientsink` of gst-plugins-rs: reqwest, header names in small letters, no name of its own, and all
    /// candidates in the offer.
    @Test func gstreamerPublishesAndLeaves() throws {
        let relay = try Relay()
        let own = ["-H", "user-agent:", "-H", "accept: */*", "-H", "authorization: Bearer \(Self.token)"]
        let options = try relay.curl(own + ["-X", "OPTIONS", "-o", "/dev/null", "-w", "%{http_code}", relay.endpoint])
        #expect(options == "200")
        let result = try relay.curl(
            own + [
                "-H", "content-type: application/sdp", "--data-binary", "@" + relay.write(SendingOffers.gstreamer),
                "-D",
                relay.folder.file("head"), "-o", relay.folder.file("answer"), "-w", "%{http_code}", relay.endpoint,
            ])
        #expect(result == "201")
        let answer = try relay.read("answer")
        #expect(answer.contains("a=candidate:") && answer.contains("a=rtpmap:96 VP8/90000"))
        // Its second section has port 0 as it is bundled only.
        #expect(answer.contains("m=audio 9 ") && answer.contains("a=group:BUNDLE video0 audio1"))
        let head = try relay.read("head").split(separator: "\r\n")
        let location = try #require(
            head.first { $0.lowercased().hasPrefix("location: ") }?.dropFirst("location: ".count))
        let resource = try #require(URL(string: String(location), relativeTo: URL(string: relay.endpoint)))
        let deletion = ["-X", "DELETE", "-o", "/dev/null", "-w", "%{http_code}", resource.absoluteString]
        #expect(try relay.curl(own + deletion) == "200")
        #expect(relay.process.event("closed") != nil, "\(relay.process.errorText)")
    }
}
