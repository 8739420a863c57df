import RTPWire
import Testing

@testable import SessionDescription

/// The negotiation of `color-space`, without which the contrast of full range is wrong.
@Suite struct ColorSpaceTests {
    private static let line = "http://www.webrtc.org/experiments/rtp-hdrext/color-space"

    /// A sender's offer or a viewer's, with the extension under this id, or without it.
    private func offer(_ text: String, _ value: String?) -> String {
        let lines = text.replacing("\r\n", with: "\n").split(separator: "\n")
        let kept = lines.flatMap { line -> [String] in
            if line.contains("color-space") || line == "a=extmap-allow-mixed" { return [] }
            guard line.hasPrefix("m=video"), let value else { return [String(line)] }
            return [String(line)] + ["a=extmap:\(value) \(Self.line)", "a=extmap-allow-mixed"]
        }
        return kept.joined(separator: "\r\n") + "\r\n"
    }

    private func answer(_ text: String, _ capabilities: MediaCapabilities) throws -> [Substring] {
        let peer = capabilities.direction.sends ? Fixture.host : Fixture.receiver
        return peer.answer(to: try Offer(text, for: capabilities)).split(separator: "\r\n")
    }

    @Test(arguments: [MediaCapabilities.sending, .receiving()]) func theAnswerHasItIfItIsOffered(
        _ capabilities: MediaCapabilities
    ) throws {
        let text = capabilities.direction.sends ? RecordedOffers.chromium : Fixture.publication
        let with = try answer(offer(text, "9"), capabilities)
        #expect(with.count { $0.contains("color-space") } == 1)
        #expect(with.contains("a=extmap:9 \(Self.line)"))
        let without = try answer(offer(text, nil), capabilities)
        #expect(!without.contains { $0.contains("color-space") })
        // An id that one-byte headers do not have, and a direction that does not fit.
        let unwanted = capabilities.direction.sends ? "9/sendonly" : "9/recvonly"
        for value in ["15", "0", "256", unwanted, "9/inactive"] {
            #expect(try !answer(offer(text, value), capabilities).contains { $0.contains("color-space") }, "\(value)")
        }
    }

    /// Colours with HDR metadata take 28 bytes, which one-byte headers cannot hold.
    @Test func aReceiverTakesBothFormsOfHeadersIfTheSenderDoes() throws {
        let mixed = "a=extmap-allow-mixed"
        #expect(try answer(offer(Fixture.publication, "9"), .receiving()).contains { $0 == mixed })
        #expect(try !answer(offer(Fixture.publication, nil), .receiving()).contains { $0 == mixed })
        #expect(try !answer(offer(RecordedOffers.chromium, "9"), .sending).contains { $0 == mixed })
        let session = offer(Fixture.publication, nil).replacing("t=0 0", with: "t=0 0\r\na=extmap-allow-mixed")
        #expect(try answer(session, .receiving()).contains { $0 == mixed })
        #expect(Fixture.offer().contains(mixed) && Fixture.offer().contains("color-space"))
    }
}

extension Fixture {
    static let receiver = LocalDescription(
        credentials: credentials, fingerprint: fingerprint, candidates: [candidate], endsCandidates: true)
    /// A sender's offer.
    static let publication = host.offer(.sending)
}
