import Foundation
import TestSupport
import Testing

/// What a WHIP tool may send to a relay that it should not.
@Suite(.timeLimit(.minutes(2)))
struct HostilePublishingTests {
    private static let token = "right-token-0123456789"

    private struct Answer {
        var status: String
        var head: String
        var body: String
    }

    private struct Relay {
        let process: ShareProcess
        let folder: TemporaryFolder
        let endpoint: String

        init() throws {
            folder = try TemporaryFolder()
            try Data(token.utf8).write(to: URL(fileURLWithPath: folder.file("token")))
            process = try ShareProcess(
                [
                    "relay", "--listen", "127.0.0.1:0", "--json", "--accept", "known", "--max-broadcasts", "64",
                    "--publish-token",
                ]
                    + [folder.file("token")], in: folder)
            let link = try #require(process.event("link")?["link"] as? String, "\(process.errorText)")
            endpoint = try #require(link.split(separator: "#").first) + "/whip"
        }

        func publish(_ offer: String, token: String) throws -> Answer {
            let file = folder.file("offer-\(UUID().uuidString)")
            try Data(offer.utf8).write(to: URL(fileURLWithPath: file))
            let text = try Program(
                "curl",
                [
                    "-ski", "-m", "20", "-H", "Content-Type: application/sdp", "-H", "Authorization: Bearer \(token)",
                    "--data-binary", "@\(file)", endpoint,
                ]
            ).finish().replacingOccurrences(of: "\r\n", with: "\n")
            let parts = text.components(separatedBy: "\n\n")
            let head = parts.first ?? ""
            return Answer(
                status: head.split(separator: " ").dropFirst().first.map(String.init) ?? "", head: head,
                body: parts.dropFirst().joined(separator: "\n\n"))
        }
    }

    /// An offer of a tool that sends VP8.
    private static func offer(videos: Int) -> String {
        let videoLines = (0..<videos).flatMap { mid in
            [
                "m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0", "a=mid:\(mid)", "a=sendonly", "a=rtcp-mux",
                "a=rtpmap:96 VP8/90000", "a=setup:actpass", "a=ice-ufrag:tool", "a=ice-pwd:pppppppppppppppppppppppp",
                "a=fingerprint:sha-256 " + (0..<32).map { _ in "AB" }.joined(separator: ":"),
                "a=ssrc:\(mid + 1) cname:tool",
            ]
        }
        let group = "a=group:BUNDLE " + (0..<videos).map(String.init).joined(separator: " ")
        let lines = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", group] + videoLines
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    @Test func aWrongTokenPublishesNothing() throws {
        let relay = try Relay()
        #expect(try relay.publish(Self.offer(videos: 1), token: "wrong-token-0123456789").status == "401")
        #expect(try relay.publish(Self.offer(videos: 1), token: Self.token).status == "201")
    }

    /// RFC 9725 section 4.4.3.
    @Test func twoVideosAreRefused() throws {
        let relay = try Relay()
        let answer = try relay.publish(Self.offer(videos: 2), token: Self.token)
        #expect(answer.status == "422", "\(answer.head)")
        #expect(answer.body.contains("one video section, and audio sections up to 1"), "\(answer.body)")
        #expect(try relay.publish(Self.offer(videos: 1), token: Self.token).status == "201")
    }

    @Test func aSecondPublisherDoesNotTakeTheFirstOver() throws {
        let relay = try Relay()
        func location(_ answer: Answer) throws -> Substring {
            try #require(
                answer.head.split(separator: "\n").first { $0.lowercased().hasPrefix("location:") }, "\(answer.head)")
        }
        let first = try location(relay.publish(Self.offer(videos: 1), token: Self.token))
        let second = try location(relay.publish(Self.offer(videos: 1), token: Self.token))
        #expect(first != second)
    }
}
