import RTPWire
import TestSupport
import Testing

@testable import SessionDescription

@Suite struct OfferTests {
    @Test func chromium() throws {
        let offer = try Offer(RecordedOffers.chromium, for: .sending)
        #expect(offer.credentials.usernameFragment == "Kl0y")
        #expect(offer.fingerprint.bytes.prefix(2) == [0x21, 0xB3])
        #expect(offer.setup == .actpass && offer.isTrickling)
        #expect(offer.candidates.usable.isEmpty && offer.candidates.named.count == 2)
        let video = try #require(offer.video.first)
        #expect(video.mid == "0" && video.payloadType == 96 && video.rtxPayloadType == 97)
        #expect(video.feedback == [.nack, .pictureLoss, .fullIntraRequest, .transportWide, .remb])
        #expect(
            video.extensions == [.transportSequence: 4, .playoutDelay: 5, .absSendTime: 2, .mid: 9, .colorSpace: 8])
        #expect(offer.audio.map(\.mid) == ["1", "2"])
        #expect(offer.audio.map(\.payloadType) == [111, 111])
        #expect(offer.audio.map(\.redundantPayloadType) == [63, 63])
        #expect(offer.audio[0].extensions == [.transportSequence: 4, .absSendTime: 2, .mid: 9])
        #expect(offer.audio[0].usesTransportFeedback && offer.refused.isEmpty)
    }

    /// RFC 7587 section 7 demands two channels; what some senders write instead is meant.
    @Test(arguments: ["opus/48000/1", "OPUS/48000", "Opus/48000/2"])
    func opusIsRecognizedWhateverItsChannels(mapping: String) throws {
        let text = RecordedOffers.chromium.replacing("opus/48000/2", with: mapping)
        let offer = try Offer(text, for: .sending)
        #expect(offer.audio.map(\.payloadType) == [111, 111] && !offer.isAnsweredInPart)
        #expect(Fixture.host.answer(to: offer).contains("a=rtpmap:111 opus/48000/2\r\n"))
    }

    @Test func firefoxHasItsFingerprintAboveAndItsAudioBundled() throws {
        let offer = try Offer(RecordedOffers.firefox, for: .sending)
        #expect(offer.fingerprint.bytes.prefix(2) == [0xEB, 0x72])
        #expect(offer.credentials.usernameFragment == "e38b4ee0")
        #expect(!offer.isTrickling)
        #expect(offer.candidates.named.count == 2 && offer.candidates.dropped == 6)
        let video = try #require(offer.video.first)
        #expect(video.payloadType == 120 && video.rtxPayloadType == 124)
        #expect(video.extensions == [.transportSequence: 7, .playoutDelay: 6, .absSendTime: 4, .mid: 3])
        #expect(offer.audio.map(\.payloadType) == [109, 109])
        #expect(offer.audio.map(\.redundantPayloadType) == [nil, nil])
        #expect(offer.audio.map(\.prefersStereo) == [true, true])
    }

    @Test func gstreamerHasOneAudioAndNoExtensions() throws {
        let offer = try Offer(RecordedOffers.gstreamer, for: .sending)
        #expect(offer.video.first?.mid == "video0" && offer.video.first?.rtxPayloadType == nil)
        #expect(offer.video.first?.extensions == HeaderExtensionMap())
        #expect(offer.audio.map(\.mid) == ["audio1"])
        #expect(offer.candidates == CandidateList())
    }

    @Test func aiortcHasThreeFingerprintsAndOnlyREMB() throws {
        let offer = try Offer(RecordedOffers.aiortc, for: .sending)
        #expect(offer.fingerprint.algorithm == "sha-256")
        #expect(offer.fingerprints.others.map(\.algorithm) == ["sha-384", "sha-512"])
        #expect(offer.video.first?.feedback == [.nack, .pictureLoss, .remb])
        #expect(offer.video.first?.payloadType == 97 && offer.audio.first?.payloadType == 96)
        #expect(offer.candidates.usable.count == 2, "the ports of the bundled section are not used")
        #expect(offer.audio.first?.extensions[.mid] == 1)
    }

    @Test func ourOwn() throws {
        let offer = try Offer(Fixture.offer(), for: .sending)
        #expect(offer.credentials == Fixture.credentials && offer.fingerprint == Fixture.fingerprint)
        #expect(offer.video.first?.rtxPayloadType == 97 && offer.audio.count == 2)
        #expect(offer.audio[1].extensions == [.transportSequence: 1, .absSendTime: 3, .mid: 4])
    }

    @Test func aDataChannelIsRefused() throws {
        let offer = try Offer(
            Fixture.offer().replacing("BUNDLE 0 1 2", with: "BUNDLE 0 1 2 d")
                + "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:d\r\na=sctp-port:5000\r\n", for: .sending)
        #expect(offer.refused == ["d"])
    }

    @Test(arguments: [
        ("VP8/90000", "AV1/90000", OfferError.noCommonVideoCodec),
        ("a=rtcp-mux\r\n", "", .noRTCPMux),
        ("a=group:BUNDLE 0 1 2\r\n", "", .noBundle),
        ("a=ice-pwd:", "a=ice-no:", .noCredentials),
        ("a=fingerprint:sha-256", "a=fingerprint:sha-1", .noFingerprint),
        ("a=mid:2\r\n", "a=mid:2\r\na=fingerprint:\(Fixture.otherFingerprint.text)\r\n", .severalCertificates),
        ("a=setup:actpass", "a=setup:holdconn", .postponedDTLS), ("a=setup:actpass", "a=setup:server", .noDTLSRole),
        ("a=setup:actpass\r\n", "", .noDTLSRole),
        ("a=mid:", "a=no:", .noMediaIdentification),
        ("a=recvonly", "a=sendonly", .nothingInCommon),
        ("UDP/TLS/RTP/SAVPF", "RTP/AVP", .nothingInCommon),
        ("v=0", "v=1", .notSDP),
    ])
    func whatIsMissingIsNamed(part: String, instead: String, error: OfferError) {
        let text = Fixture.offer().replacing(part, with: instead)
        #expect(throws: error) { try Offer(text, for: .sending) }
    }

    @Test func audioWithoutAMappingIsRefusedAndTheVideoStays() throws {
        let offer = try Offer(Fixture.offer().replacing("rtpmap:111", with: "rtpmap:96"), for: .sending)
        #expect(offer.audio.isEmpty && offer.refused == ["1", "2"])
    }

    /// RFC 9143 section 9.1: one payload type in a bundle is one codec. RFC 8866 section 6.6: so it is in a section.
    @Test(arguments: [
        ("rtpmap:111 opus", "rtpmap:96 opus", "SAVPF 111", "SAVPF 96", 96, ["VP8", "OPUS"]),
        ("rtpmap:111 opus", "rtpmap:97 opus", "SAVPF 111", "SAVPF 97", 97, ["RTX", "OPUS"]),
        ("a=rtpmap:96 VP8/90000", "a=rtpmap:96 VP8/90000\r\na=rtpmap:96 H264/90000", "", "", 96, ["VP8", "H264"]),
        (
            "a=rtpmap:111 opus", "a=rtpmap:111 opus/48000/2\r\na=rtpmap:111 PCMU/8000\r\na=x", "", "", 111,
            ["OPUS", "PCMU"]
        ),
    ])
    func aPayloadTypeOfTwoCodecsIsNamed(
        part: String, instead: String, formats: String, others: String, type: UInt8, encodings: [String]
    ) {
        var text = Fixture.offer().replacing(part, with: instead)
        if !formats.isEmpty { text = text.replacing(formats, with: others) }
        #expect(throws: OfferError.ambiguousPayloadType(type, encodings)) { try Offer(text, for: .sending) }
    }

    /// The same codec may have one payload type in several sections, and a line may stand there twice. What this side
    /// does not use is the offerer's affair.
    @Test func whatIsLegalOfEqualPayloadTypesIsAccepted() throws {
        let twice = Fixture.offer().replacing(
            "a=rtpmap:96 VP8/90000", with: "a=rtpmap:96 VP8/90000\r\na=rtpmap:96 vp8/90000")
        #expect(try Offer(twice, for: .sending).audio.map(\.payloadType) == [111, 111])
        let unused = Fixture.offer().replacing("a=rtpmap:111 opus", with: "a=rtpmap:98 PCMU/8000\r\na=rtpmap:111 opus")
            .replacing("a=rtpmap:96 VP8", with: "a=rtpmap:98 AV1/90000\r\na=rtpmap:96 VP8")
            .replacing("SAVPF 111", with: "SAVPF 98 111").replacing("SAVPF 96", with: "SAVPF 98 96")
        #expect(try Offer(unused, for: .sending).video.first?.payloadType == 96)
        // Each section has a transport of its own, which is refused for that reason.
        let apart = Fixture.offer().replacing("rtpmap:111 opus", with: "rtpmap:96 opus").replacing(
            "SAVPF 111", with: "SAVPF 96")
        #expect(throws: OfferError.noBundle) {
            try Offer(apart.replacing("a=group:BUNDLE 0 1 2\r\n", with: ""), for: .sending)
        }
        // Redundant audio is left out.
        let red = Fixture.offer().replacing("rtpmap:63 red", with: "rtpmap:97 red").replacing(
            "SAVPF 111 63", with: "SAVPF 111 97"
        ).replacing("fmtp:63", with: "fmtp:97")
        #expect(try Offer(red, for: .sending).audio.map(\.redundantPayloadType) == [nil, nil])
        // A section that is not used, as its direction does not fit, does not count.
        let sections = apart.split(separator: "m=audio", omittingEmptySubsequences: false)
        let inactive = sections.enumerated().map { index, part in
            index == 0 ? part.replacing("a=recvonly", with: "a=inactive") : "m=audio" + part
        }.joined()
        #expect(try Offer(inactive, for: .sending).audio.first?.payloadType == 96)
    }

    /// A broadcast of audio alone: the video section stays in the bundle, whatever its codecs, and is inactive.
    @Test func aSenderOfAudioAloneAnswersWithInactiveVideo() throws {
        let capabilities = MediaCapabilities.forwarding(nil, formatParameters: nil)
        var host = Fixture.host
        host.video = []
        let offer = try Offer(Fixture.offer(), for: capabilities)
        let description = try SessionDescription.parse(host.answer(to: offer))
        #expect(description.media.map(\.direction) == [.inactive, .sendOnly, .sendOnly])
        #expect(description.media.map(\.port) == [9, 9, 9] && description["group"] == "BUNDLE 0 1 2")
        let read = try Answer(description.serialised, to: .receiving())
        #expect(read.video.isEmpty && read.audio.map(\.ssrc) == [3, 4])
        // Video of other codecs is no reason to refuse the audio; an offer of video alone has nothing in common.
        let foreign = Fixture.offer().replacing("VP8/90000", with: "X9/90000")
        #expect(try Offer(foreign, for: capabilities).refused == ["0"])
        let silent = Fixture.host.offer(MediaCapabilities(direction: .receiveOnly, audioSections: 0))
        #expect(throws: OfferError.nothingInCommon) { try Offer(silent, for: capabilities) }
    }

    @Test func sixtyFourKibibytesAreTooMuch() {
        let text = Fixture.offer() + String(repeating: "a=x\r\n", count: 13_107)
        #expect(throws: OfferError.tooLarge) { try Offer(text, for: .sending) }
    }

    @Test func extensionIdsAreUsedOnceAndFitOneByte() throws {
        let text = Fixture.offer()
            .replacing("a=extmap:2 ", with: "a=extmap:1 ").replacing("a=extmap:3 ", with: "a=extmap:15 ")
            .replacing("a=extmap:4 ", with: "a=extmap:0 ")
        #expect(
            try Offer(text, for: .sending).video.first?.extensions == [
                .transportSequence: 1, .frameReferences: 5, .colorSpace: 6,
            ])
    }

    @Test func audioMayNotNumberExtensionsDifferently() throws {
        let sections = Fixture.offer().split(separator: "m=audio")
        let text = sections.enumerated().map { index, part in
            index == 0 ? String(part) : "m=audio" + String(part).replacing("a=extmap:1 ", with: "a=extmap:7 ")
        }.joined()
        #expect(try Offer(text, for: .sending).audio.first?.extensions == [.absSendTime: 3, .mid: 4])
    }

    @Test func payloadTypesThatLookLikeRTCPAreNotUsed() {
        let text = Fixture.offer().replacing("rtpmap:96 VP8", with: "rtpmap:72 VP8").replacing(
            "SAVPF 96", with: "SAVPF 72")
        #expect(throws: OfferError.noCommonVideoCodec) { try Offer(text, for: .sending) }
    }

    /// Every prefix, every single damaged byte and many shuffles of real offers end in an offer or a typed error.
    @Test(arguments: RecordedOffers.all)
    func damagedOffersNeverTrap(text: String) {
        Fixture.eachDamaged(text, seed: 7) { text in
            if let offer = try? Offer(text, for: .sending) { _ = Fixture.host.answer(to: offer) }
            _ = try? Answer(text, to: .receiving())
            _ = try? TrickleFragment.parse(text)
        }
    }
}
