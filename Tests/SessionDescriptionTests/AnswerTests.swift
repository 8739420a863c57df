import MediaCore
import Testing

@testable import SessionDescription

@Suite struct AnswerTests {
    @Test(arguments: RecordedOffers.all + [Fixture.offer()])
    func theAnswerMirrorsTheOffer(text: String) throws {
        let offer = try Offer(text, for: .sending)
        let description = try SessionDescription.parse(Fixture.host.answer(to: offer))
        let offered = try SessionDescription.parse(text)
        #expect(description.media.map(\.kind) == offered.media.map(\.kind))
        #expect(description.media.map(\.mid) == offered.media.map(\.mid))
        #expect(description["group"] == offered["group"])

        let read = try Answer(Fixture.host.answer(to: offer), to: .receiving())
        #expect(read.credentials == Fixture.credentials && read.fingerprint == Fixture.fingerprint)
        #expect(read.setup == .passive && read.endsCandidates)
        #expect(read.candidates.usable == [Fixture.candidate])
        let video = try #require(read.video.first)
        #expect(video.payloadType == offer.video.first?.payloadType && video.ssrc == 1)
        #expect(video.rtxPayloadType == offer.video.first?.rtxPayloadType)
        #expect(video.rtxSSRC == (offer.video.first?.rtxPayloadType == nil ? nil : 2))
        #expect(video.extensions == offer.video.first?.extensions)
        #expect(read.audio.map(\.payloadType) == offer.audio.map(\.payloadType))
        #expect(read.audio.map(\.redundantPayloadType) == offer.audio.map(\.redundantPayloadType))
        #expect(read.audio.map(\.kind) == Array([.applicationAudio, .microphoneAudio].prefix(offer.audio.count)))
        #expect(read.audio.map(\.ssrc) == Array([3, 4].prefix(offer.audio.count)))
    }

    @Test func audioWithoutATrackIsInactiveAndOtherSectionsAreRefused() throws {
        var host = Fixture.host
        host.audio.removeLast()
        let offer = try Offer(
            RecordedOffers.chromium.replacing("BUNDLE 0 1 2", with: "BUNDLE 0 1 2 3")
                + "\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\na=mid:3\n", for: .sending)
        let description = try SessionDescription.parse(host.answer(to: offer))
        #expect(description.media.map(\.port) == [9, 9, 9, 0])
        #expect(description["group"] == "BUNDLE 0 1 2")
        #expect(description.media[2].direction == .inactive && description.media[2].mid == "2")
        #expect(description.media[3].formats == ["webrtc-datachannel"])
        #expect(try Answer(description.serialised, to: .receiving()).audio.map(\.kind) == [.applicationAudio])
    }

    /// aiortc rejects an answer with a section that lacks these lines, even if the section is refused.
    @Test func refusedSectionsRepeatTheTransportOfTheBundle() throws {
        let video =
            "m=video 9 UDP/TLS/RTP/SAVPF 120\r\na=mid:v2\r\na=recvonly\r\na=rtcp-mux\r\n"
            + "a=rtpmap:120 H264/90000\r\n"
        let data = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:d\r\na=sctp-port:5000\r\n"
        let text = Fixture.offer().replacing("BUNDLE 0 1 2", with: "BUNDLE 0 1 2 v2 d") + video + data
        let description = try SessionDescription.parse(Fixture.host.answer(to: Offer(text, for: .sending)))
        let refused = description.media.filter { $0.port == 0 }
        #expect(refused.map(\.mid) == ["v2", "d"])
        for section in refused {
            #expect(section["ice-ufrag"] == "user" && section["ice-pwd"] == "passwordpasswordpasswd")
            #expect(section["fingerprint"] == Fixture.fingerprint.text && section["setup"] == "passive")
            #expect(section.direction == .inactive && section["candidate"] == nil)
        }
        #expect(refused[0].attributes.contains(SDPAttribute("rtcp-mux")))
        #expect(refused[0]["rtpmap"] == "120 H264/90000" && refused[0].formats == ["120"])
        #expect(!refused[1].attributes.contains(SDPAttribute("rtcp-mux")))
        // The refused sections stay outside the bundle and are not read back as media.
        #expect(description["group"] == "BUNDLE 0 1 2")
        #expect(try Answer(description.serialised, to: .receiving()).audio.count == 2)
    }

    /// RFC 5763 section 5: also in sections that are refused.
    @Test(arguments: [("actpass", "passive"), ("active", "passive"), ("passive", "active")])
    func theAnswerHasTheRoleThatTheOfferLeaves(offered: String, answered: String) throws {
        let text =
            Fixture.offer().replacing("setup:actpass", with: "setup:\(offered)").replacing("0 1 2", with: "0 1 2 d")
            + "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:d\r\na=sctp-port:5000\r\n"
        let answer = Fixture.host.answer(to: try Offer(text, for: .sending))
        let roles = try SessionDescription.parse(answer).media.map { $0["setup"] }
        #expect(roles == Array(repeating: answered, count: 4))
        #expect(try Answer(answer, to: .receiving()).setup.rawValue == answered)
    }

    @Test func rembIsAskedForOnlyWithoutTransportFeedback() throws {
        #expect(try Fixture.host.answer(to: Offer(RecordedOffers.aiortc, for: .sending)).contains("goog-remb"))
        #expect(try !Fixture.host.answer(to: Offer(RecordedOffers.chromium, for: .sending)).contains("goog-remb"))
    }

    @Test func onlyTheMicrophoneLeavesSilenceOut() throws {
        let lines = Fixture.host.answer(to: try Offer(RecordedOffers.chromium, for: .sending)).split(separator: "\r\n")
        #expect(lines.filter { $0.contains("useinbandfec=1") }.map { $0.contains("usedtx=1") } == [false, true])
    }

    @Test func redundantAudioIsNegotiatedOnlyIfItHoldsOpusAlone() throws {
        #expect(try Offer(Fixture.offer(), for: .sending).audio.map(\.redundantPayloadType) == [63, 63])
        let text = Fixture.host.answer(to: try Offer(RecordedOffers.chromium, for: .sending))
        #expect(text.contains("SAVPF 111 63\r\n") && text.contains("a=fmtp:63 111/111\r\n"))
        for other in ["111/112", "112/111", "", "x"] {
            let offer = try Offer(Fixture.offer().replacing("fmtp:63 111/111", with: "fmtp:63 \(other)"), for: .sending)
            #expect(offer.audio.map(\.redundantPayloadType) == [nil, nil])
            #expect(!Fixture.host.answer(to: offer).contains("red/48000"))
        }
    }

    @Test func namesCannotAddLines() throws {
        var host = Fixture.host
        host.cname = "x\r\na=evil"
        host.streamID = "y z\n"
        let text = host.answer(to: try Offer(RecordedOffers.chromium, for: .sending))
        #expect(!text.contains("\na=evil") && text.contains("msid:y_z_ system"))
    }

    @Test(arguments: [
        ("v=0", "w=0", AnswerError.notSDP), ("sendonly", "inactive", .nothingAccepted),
        ("a=ice-ufrag", "a=x", .noCredentials), ("a=fingerprint:sha-256", "a=fingerprint:sha-512", .noFingerprint),
        ("setup:passive", "setup:actpass", .noDTLSRole),
        ("a=mid:0", "a=mid:0\r\na=fingerprint:\(Fixture.otherFingerprint.text)", .severalCertificates),
    ])
    func whatIsMissingIsNamed(part: String, instead: String, error: AnswerError) throws {
        let text = Fixture.host.answer(to: try Offer(Fixture.offer(), for: .sending)).replacing(part, with: instead)
        #expect(throws: error) { try Answer(text, to: .receiving()) }
    }
}
