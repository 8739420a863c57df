import MediaCore
import RTPWire

extension LocalDescription {
    /// Returns an offer with one section for each sent track, or for as many as can be received, and one transport.
    /// Video comes first.
    ///
    /// The sections are recvonly in WHEP and sendonly in WHIP (RFC 9725). RFC 9429 section 5.2.
    public func offer(_ capabilities: MediaCapabilities) -> String {
        let direction = capabilities.direction
        let videoSections =
            direction.receives ? capabilities.videoSections : min(video.count, capabilities.videoSections)
        let audioSections =
            direction.receives ? capabilities.audioSections : min(audio.count, capabilities.audioSections)
        var result = session(version: 1)
        let video = (0..<max(videoSections, 0)).map { videoSection($0, capabilities) }
        let audio = (0..<max(audioSections, 0)).map { audioSection($0, capabilities) }
        let sections = (video + audio).prefix(SDPLimits.mediaSections)
        let mids = sections.indices.map { "\($0)" }
        result.attributes += [
            SDPAttribute("group", (["BUNDLE"] + mids).joined(separator: " ")),
            SDPAttribute("ice-options", "trickle"),
            SDPAttribute("msid-semantic", " WMS *"),
        ]
        for (index, section) in sections.enumerated() {
            var media = section
            media.attributes = transportAttributes(mid: mids[index]) + section.attributes
            if index == 0 { media.attributes += candidateAttributes }
            result.media.append(media)
        }
        return result.serialised
    }

    private func transportAttributes(mid: String) -> [SDPAttribute] {
        credentials.attributes + [
            SDPAttribute("fingerprint", fingerprint.text), SDPAttribute("setup", DTLSSetup.actpass.rawValue),
            SDPAttribute("mid", mid),
        ]
    }

    /// The attributes of every section. RFC 8858 requires `rtcp-mux-only` where nothing else is possible, as in WHIP.
    private func direction(sends: Bool, receives: Bool) -> [SDPAttribute] {
        let mux = [SDPAttribute("rtcp-mux")] + (sends ? [SDPAttribute("rtcp-mux-only")] : [])
        return [SDPAttribute(MediaDirection(sends: sends, receives: receives).rawValue)] + mux + [
            SDPAttribute("rtcp-rsize")
        ]
    }

    private func videoSection(_ index: Int, _ capabilities: MediaCapabilities) -> MediaDescription {
        let track = capabilities.direction.sends ? videoTrack(index) : nil
        let codecs = VideoCodec.allCases.filter(capabilities.videoCodecs.contains)
        let types = codecs.map(\.properties.payloadType).flatMap { [$0, $0 + 1] }
        var media = MediaDescription(
            kind: "video", port: 9, transport: "UDP/TLS/RTP/SAVPF", formats: types.map { "\($0)" },
            connection: "IN IP4 0.0.0.0")
        media.attributes = direction(sends: track != nil, receives: capabilities.direction.receives)
        media.attributes += HeaderExtensionMap.offered.attributes
        if capabilities.direction.receives { media.attributes.append(.mixesExtensionForms) }
        for codec in codecs {
            let type = codec.properties.payloadType
            var feedback: RTCPFeedback = [.nack, .pictureLoss, .transportWide]
            if codec == .vp8 { feedback.insert(.referenceSelection) }
            if track != nil { feedback.insert(.remb) }
            media.attributes.append(SDPAttribute("rtpmap", "\(type) \(codec.rawValue)/90000"))
            media.attributes += feedback.attributes(payloadType: type)
            if let parameters = codec.properties.offeredParameters {
                media.attributes.append(SDPAttribute("fmtp", "\(type) \(parameters)"))
            }
            media.attributes += [
                SDPAttribute("rtpmap", "\(type + 1) rtx/90000"), SDPAttribute("fmtp", "\(type + 1) apt=\(type)"),
            ]
        }
        guard let track else { return media }
        media.attributes.append(streamAttribute(.video))
        if let group = retransmissionGroup(track) { media.attributes.append(group) }
        media.attributes += sourceAttributes([track.ssrc] + [track.rtxSSRC].compactMap { $0 })
        return media
    }

    private func audioSection(_ index: Int, _ capabilities: MediaCapabilities) -> MediaDescription {
        let track = capabilities.direction.sends ? audioTrack(index) : nil
        var media = MediaDescription(
            kind: "audio", port: 9, transport: "UDP/TLS/RTP/SAVPF", formats: ["111", "63"],
            connection: "IN IP4 0.0.0.0")
        media.attributes = direction(sends: track != nil, receives: capabilities.direction.receives)
        media.attributes += HeaderExtensionMap.offered.forAudio.attributes
        media.attributes += [
            SDPAttribute("rtpmap", "111 opus/48000/2"), SDPAttribute("rtcp-fb", "111 transport-cc"),
            opusParameters(111, sends: track != nil, track),
            SDPAttribute("rtpmap", "63 red/48000/2"), SDPAttribute("fmtp", "63 111/111"),
        ]
        guard let track else { return media }
        media.attributes.append(streamAttribute(track.kind))
        media.attributes += sourceAttributes([track.ssrc])
        return media
    }
}
