import Foundation
import TestSupport
import Testing

/// `share recordings share`: a recording is given away by a link.
@Suite(.timeLimit(.minutes(2)))
struct RecordingOfferVerbTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("Lab.webm")
        let host = try ShareProcess(
            [
                "host", "--source", "test", "--accept", "any", "--listen", "127.0.0.1:0", "--record", file, "--for",
                "1",
            ], in: folder)
        #expect(host.exitCode() == 0, "\(host.errorText)")
    }

    private func offer(_ arguments: [String]) throws -> ShareProcess {
        try ShareProcess(
            ["recordings", "share", "--accept", "any", "--listen", "127.0.0.1:0", "--json"] + arguments, in: folder)
    }

    /// Asks as a browser with cookies of its own. The exit code of curl is 0 if there was an answer.
    private func get(_ address: String, as browser: String, to target: String = "-") throws -> Program {
        let jar = folder.file(browser)
        let curl = try Program("curl", ["-skf", "-b", jar, "-c", jar, "-o", target, address])
        _ = curl.exitCode(seconds: 20)
        return curl
    }

    @Test func aRecordingIsGivenAwayOnce() throws {
        let offer = try offer(["1"])
        let link = try #require(offer.event("link")?["link"] as? String, "\(offer.errorText)")
        for browser in ["first", "second"] {
            #expect(try (0..<200).contains { _ in try get(link, as: browser).text.output.contains("Lab.webm") })
        }
        #expect(try get(link + "file", as: "first", to: folder.file("copy.webm")).exitCode(seconds: 20) == 0)
        #expect(try get(link + "file", as: "second", to: folder.file("other.webm")).exitCode(seconds: 20) != 0)
        #expect(!FileManager.default.fileExists(atPath: folder.file("other.webm")))
        let content = try Data(contentsOf: URL(fileURLWithPath: file))
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file("copy.webm"))) == content)
        #expect(offer.event("sent")?["address"] as? String == "127.0.0.1")
        #expect(offer.exitCode() == 0, "\(offer.errorText)")
        #expect(offer.event("ended")?["reason"] as? String == "the offer is over")
        #expect(offer.errorText.contains("once within ten minutes"), "\(offer.errorText)")
    }

    @Test func whatNobodyTakesIsSaidAtTheEndOfTheTime() throws {
        let offer = try offer([file, "--for", "1"])
        #expect(offer.exitCode() == 75)
        #expect(offer.errorText.contains("nobody has taken the recording"), "\(offer.errorText)")
        let nothing = folder.file("nothing.webm")
        try "no recording".write(toFile: nothing, atomically: true, encoding: .utf8)
        #expect(try self.offer([nothing]).exitCode() == 73)
    }
}
