import MediaCore
import RTPWire
import TestSupport
import Testing

@testable import SessionDescription

/// A sending peer makes the offer (WHIP, RFC 9725), and the receiving peer answers.
@Suite struct SendingPeerTests {
    /// The capabilities of a relay, which decodes nothing.
    private static let anyCodec = MediaCapabilities(
        direction: .receiveOnly, videoCodecs: Set(VideoCodec.allCases))
    private static let endpoint = LocalDescription(
        credentials: Fixture.credentials, fingerprint: Fixture.otherFingerprint, candidates: [Fixture.candidate],
        endsCandidates: true, sessionID: 9)
    private static let own = Fixture.host.offer(.sending)

    @Test(arguments: SendingOffers.all + [own])
    func theEndpointReceivesWhatIsOffered(text: String) throws {
        let offer = try Offer(text, for: Self.anyCodec)
        let answer = Self.endpoint.answer(to: offer)
        let description = try SessionDescription.parse(answer)
        let offered = try SessionDescription.parse(text)
        #expect(description.media.map(\.kind) == offered.media.map(\.kind))
        #expect(description.media.map(\.mid) == offered.media.map(\.mid))
        #expect(description["group"] == offered["group"])
        let role = offer.setup == .passive ? "active" : "passive"
        for media in description.media {
            #expect(media.direction == .receiveOnly && media.port == 9 && media["setup"] == role)
            #expect(media["ssrc"] == nil && media["msid"] == nil && media["ssrc-group"] == nil)
            #expect(media.attributes.contains("rtcp-mux"))
        }

        let sender = MediaCapabilities(direction: .sendOnly, videoCodecs: Set(VideoCodec.allCases))
        let read = try Answer(answer, to: sender)
        #expect(read.credentials == Fixture.credentials && read.fingerprint == Fixture.otherFingerprint)
        #expect(read.setup.rawValue == role && read.endsCandidates && !read.transport.isLite)
        #expect(read.video.map(\.payloadType) == offer.video.map(\.payloadType))
        #expect(read.video.map(\.codec) == offer.video.map(\.codec))
        #expect(read.video.map(\.rtxPayloadType) == offer.video.map(\.rtxPayloadType))
        #expect(read.audio.map(\.payloadType) == offer.audio.map(\.payloadType))
        #expect(read.extensions == offer.extensions)
    }

    @Test func chromium() throws {
        let offer = try Offer(SendingOffers.chromium, for: .receiving())
        let video = try #require(offer.video.first)
        #expect(video.codec == .vp8 && video.payloadType == 96 && video.rtxPayloadType == 97)
        #expect(video.direction == .sendOnly && video.mid == "1")
        #expect(video.ssrc != nil && video.rtxSSRC != nil)
        #expect(
            video.extensions == [.transportSequence: 3, .playoutDelay: 5, .absSendTime: 2, .mid: 4, .colorSpace: 8])
        #expect(offer.audio.map(\.redundantPayloadType) == [63] && offer.audio.first?.ssrc != nil)
        #expect(offer.audio.first?.kind == nil, "its track ids say nothing of what they carry")
    }

    /// REMB, beside transport-wide feedback.
    @Test(arguments: [SendingOffers.chromium, own])
    func aRelayLimitsThePublisher(text: String) throws {
        var relay = MediaCapabilities.receiving()
        relay.limitsBitrate = true
        for (capabilities, isLimited) in [(relay, true), (.receiving(), false)] {
            let answer = Self.endpoint.answer(to: try Offer(text, for: capabilities))
            #expect(answer.contains("a=rtcp-fb:96 goog-remb\r\n") == isLimited)
            let feedback = try #require(try Answer(answer, to: .sending).video.first).feedback
            #expect(feedback.contains(.transportWide) && feedback.contains(.remb) == isLimited)
        }
        #expect(!Fixture.host.offer(.receiving()).contains("goog-remb"), "a viewer has no limit to obey")
    }

    /// A codec that was added is found by its payload types, which no other has, and by its name.
    @Test(arguments: VideoCodec.allCases)
    func eachCodecIsOfferedAndAnswered(codec: VideoCodec) throws {
        let offer = try Offer(
            Fixture.host.offer(.receiving(Set(VideoCodec.allCases))), for: .forwarding(codec, formatParameters: nil))
        let video = try #require(offer.video.first)
        let type = codec.properties.payloadType
        #expect(video.codec == codec && video.payloadType == type && video.rtxPayloadType == type + 1)
        let others = VideoCodec.allCases.filter { $0 != codec }.map(\.properties)
        #expect(!others.contains { $0.payloadType == type || $0.matroskaID == codec.properties.matroskaID })
        #expect(!others.contains { $0.payloadType + 1 == type || $0.payloadType == type + 1 })
    }

    @Test func simulcastIsNotTakenUp() throws {
        #expect(SendingOffers.chromiumSimulcast.contains("a=simulcast:send"))
        let answer = Self.endpoint.answer(to: try Offer(SendingOffers.chromiumSimulcast, for: .receiving()))
        #expect(!answer.contains("simulcast") && !answer.contains("a=rid") && !answer.contains("rtp-stream-id"))
    }

    @Test func firefox() throws {
        let offer = try Offer(SendingOffers.firefox, for: .receiving())
        #expect(offer.video.first?.codec == .vp8 && offer.video.first?.ssrc != nil)
        #expect(offer.audio.count == 1)
    }

    @Test func obsHasItsTransportAboveAndNoVP8() throws {
        let offer = try Offer(SendingOffers.obs, for: Self.anyCodec)
        #expect(offer.credentials.usernameFragment == "Vw3t" && offer.fingerprint.bytes.first == 0x5C)
        #expect(offer.setup == .actpass && offer.candidates == CandidateList() && offer.isTrickling)
        let video = try #require(offer.video.first)
        #expect(video.codec == .h264 && video.rtxPayloadType == nil && video.ssrc == 2_107_331_850)
        #expect(offer.audio.map(\.ssrc) == [2_107_331_849])
        let answer = Self.endpoint.answer(to: offer)
        #expect(answer.contains("a=fmtp:96 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1\r\n"))
        #expect(answer.contains("a=rtcp-fb:96 goog-remb\r\n"), "there is no transport-wide feedback")
        #expect(throws: OfferError.noCommonVideoCodec) { try Offer(SendingOffers.obs, for: .receiving()) }
    }

    @Test func gstreamerBundlesASectionOfPortZero() throws {
        let offer = try Offer(SendingOffers.gstreamer, for: .receiving())
        #expect(offer.video.map(\.mid) == ["video0"] && offer.audio.map(\.mid) == ["audio1"])
        #expect(offer.refused.isEmpty)
    }

    @Test func ourOwnSaysWhatEachTrackCarries() throws {
        let offer = try Offer(Self.own, for: .receiving())
        let video = try #require(offer.video.first)
        #expect(video.codec == .vp8 && video.ssrc == 1 && video.rtxSSRC == 2)
        #expect(offer.audio.map(\.kind) == [.applicationAudio, .microphoneAudio])
        #expect(offer.audio.map(\.ssrc) == [3, 4])
        #expect(offer.extensions == .offered, "both sides of ours know long-term references")
        let lines = Self.own.split(separator: "\r\n")
        #expect(lines.count { $0 == "a=rtcp-mux-only" } == 3 && lines.count { $0 == "a=sendonly" } == 3)
        #expect(lines.filter { $0.contains("useinbandfec=1") }.map { $0.contains("usedtx=1") } == [false, true])
    }

    @Test func aTrackThatTheEndpointRefusesIsNotInTheAnswer() throws {
        let one = MediaCapabilities(direction: .receiveOnly, audioSections: 1)
        let offer = try Offer(Self.own, for: one)
        #expect(offer.refused == ["2"])
        let read = try Answer(Self.endpoint.answer(to: offer), to: .sending)
        #expect(read.video.map(\.mid) == ["0"] && read.audio.map(\.mid) == ["1"])
    }

    @Test func onlyTracksThatExistAreOffered() throws {
        var host = Fixture.host
        host.audio = []
        let description = try SessionDescription.parse(host.offer(.sending))
        #expect(description.media.map(\.kind) == ["video"] && description["group"] == "BUNDLE 0")
    }

    @Test func oneThatSendsDoesNotAnswerOneThatSends() {
        for text in SendingOffers.all {
            #expect(throws: OfferError.nothingInCommon) { try Offer(text, for: .sending) }
        }
        #expect(throws: OfferError.nothingInCommon) { try Offer(Fixture.offer(), for: .receiving()) }
        #expect(throws: AnswerError.nothingAccepted) {
            try Answer(Fixture.host.answer(to: Offer(Fixture.offer(), for: .sending)), to: .sending)
        }
    }

    @Test func bothWaysAtOnce() throws {
        let both = MediaCapabilities(direction: .sendAndReceive)
        let offer = try Offer(Fixture.host.offer(both), for: both)
        #expect(offer.video.map(\.direction) == [.sendAndReceive] && offer.audio.count == 2)
        var other = Fixture.host
        other.audio.removeLast()
        let read = try Answer(other.answer(to: offer), to: both)
        #expect(read.video.map(\.direction) == [.sendAndReceive] && read.video.first?.ssrc == 1)
        #expect(read.audio.map(\.direction) == [.sendAndReceive, .receiveOnly])
        #expect(read.audio.map(\.ssrc) == [3, nil])
    }

    @Test func severalVideoSections() throws {
        var host = Fixture.host
        host.video.append(LocalVideoSSRCs(ssrc: 5, rtxSSRC: 6))
        let sender = MediaCapabilities(direction: .sendOnly, videoSections: 2)
        let receiver = MediaCapabilities(direction: .receiveOnly, videoSections: 2)
        let offer = try Offer(host.offer(sender), for: receiver)
        #expect(offer.video.map(\.ssrc) == [1, 5] && offer.video.map(\.mid) == ["0", "1"])
        #expect(try Answer(Self.endpoint.answer(to: offer), to: sender).video.count == 2)
        #expect(try Offer(host.offer(sender), for: .receiving()).refused == ["1"])
    }

    @Test func aLiteEndpointIsSeen() throws {
        let answer = Self.endpoint.answer(to: try Offer(Self.own, for: .receiving()))
            .replacing("t=0 0\r\n", with: "t=0 0\r\na=ice-lite\r\n")
        #expect(try Answer(answer, to: .sending).transport.isLite)
    }

    @Test(arguments: [
        (MediaDirection.sendOnly, MediaDirection.receiveOnly, MediaDirection.receiveOnly),
        (.sendOnly, .sendOnly, .inactive), (.sendOnly, .sendAndReceive, .receiveOnly),
        (.receiveOnly, .sendOnly, .sendOnly), (.receiveOnly, .receiveOnly, .inactive),
        (.sendAndReceive, .sendAndReceive, .sendAndReceive), (.sendAndReceive, .sendOnly, .sendOnly),
        (.inactive, .sendAndReceive, .inactive),
    ])
    func directionsOfAnAnswer(offered: MediaDirection, able: MediaDirection, answered: MediaDirection) {
        #expect(offered.answered(by: able) == answered)
    }

    @Test(arguments: SendingOffers.all)
    func damagedOffersNeverTrap(text: String) {
        Fixture.eachDamaged(text, seed: 11) { text in
            if let offer = try? Offer(text, for: Self.anyCodec) { _ = Self.endpoint.answer(to: offer) }
            _ = try? Answer(text, to: .sending)
        }
    }
}
