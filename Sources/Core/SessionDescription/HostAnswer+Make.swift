import MediaCore
import RTPWire

/// The host's answer: sendonly, VP8 and Opus with the viewer's payload types and extension ids, audio that the host has not
/// inactive, everything else refused with port 0, one transport, DTLS server (`setup:passive`). RFC 9429 section 5.3, RFC 8843.
public func answer(to offer: ViewerOffer, _ host: HostMedia) -> String {
    var result = SessionDescription(origin: "- \(host.sessionID & 0x7FFF_FFFF_FFFF_FFFF) 2 IN IP4 127.0.0.1")
    result.name = host.name
    var bundled: [String] = []
    for section in offer.sections {
        var media = SDPMedia(
            kind: section.kind, port: 9, transport: section.transport, formats: [section.format],
            connection: "IN IP4 0.0.0.0")
        var direction = MediaDirection.sendOnly
        let body: [SDPAttribute]?
        switch section.role {
        case .video:
            body = offer.video.map { video in
                let hasRTX = video.rtxPayloadType != nil && host.rtxSSRC != nil
                media.formats = ["\(video.payloadType)"]
                if hasRTX, let rtx = video.rtxPayloadType { media.formats.append("\(rtx)") }
                return videoAttributes(video, host)
            }
        case .audio(let index):
            // Without a track it stays in the bundle: Chromium rejects an answer that refuses the section which
            // carries the transport.
            let track = host.audio.indices.contains(index) ? host.audio[index] : nil
            direction = track == nil ? .inactive : .sendOnly
            guard offer.audio.indices.contains(index) else { continue }
            media.formats = ["\(offer.audio[index].payloadType)"]
            if let redundancy = offer.audio[index].redundantPayloadType { media.formats.append("\(redundancy)") }
            body = audioAttributes(offer.audio[index], track, host)
        case .refused:
            body = nil
        }
        if let body {
            let isFirst = bundled.isEmpty
            bundled.append(section.mid ?? "0")
            media.attributes = transportAttributes(host, section.mid, direction, carriesCandidates: isFirst) + body
        } else {
            media.port = 0
            media.attributes = refusedAttributes(host, section)
        }
        result.media.append(media)
    }
    if offer.isBundled {
        result.attributes.append(SDPAttribute("group", (["BUNDLE"] + bundled).joined(separator: " ")))
    }
    result.attributes.append(SDPAttribute("msid-semantic", " WMS *"))
    return result.serialised
}

/// A refused section needs no transport (RFC 9429 section 5.3.1), but aiortc throws the whole answer away without one, and
/// without a codec that it knows. So the bundle's is repeated, but for the candidates.
private func refusedAttributes(_ host: HostMedia, _ section: ViewerOffer.Section) -> [SDPAttribute] {
    var attributes = dtlsAttributes(host)
    if let mid = section.mid { attributes.append(SDPAttribute("mid", mid)) }
    attributes.append(SDPAttribute("inactive"))
    guard section.kind == "audio" || section.kind == "video" else { return attributes }
    attributes.append(SDPAttribute("rtcp-mux"))
    return attributes + [section.mapping].compactMap { $0 }
}

private func dtlsAttributes(_ host: HostMedia) -> [SDPAttribute] {
    host.credentials.attributes + [
        SDPAttribute("ice-options", "trickle"), SDPAttribute("fingerprint", host.fingerprint.text),
        SDPAttribute("setup", DTLSSetup.passive.rawValue),
    ]
}

private func transportAttributes(
    _ host: HostMedia, _ mid: String?, _ direction: MediaDirection, carriesCandidates: Bool
) -> [SDPAttribute] {
    var attributes = dtlsAttributes(host)
    if let mid { attributes.append(SDPAttribute("mid", mid)) }
    attributes += [SDPAttribute(direction.rawValue), SDPAttribute("rtcp-mux"), SDPAttribute("rtcp-rsize")]
    if carriesCandidates {
        attributes += host.candidates.map(\.attribute)
        if host.endsCandidates { attributes.append(SDPAttribute("end-of-candidates")) }
    }
    return attributes
}

private func videoAttributes(_ video: OfferedVideo, _ host: HostMedia) -> [SDPAttribute] {
    let type = video.payloadType
    var attributes = video.extensions.attributes
    attributes.append(SDPAttribute("rtpmap", "\(type) VP8/90000"))
    attributes += video.feedback.subtracting(.estimatedBitrate).attributes(payloadType: type)
    // A viewer with nothing but REMB is asked for it.
    if !video.feedback.contains(.transportWide), video.feedback.contains(.estimatedBitrate) {
        attributes += VideoFeedback.estimatedBitrate.attributes(payloadType: type)
    }
    let stream = host.streamID.asToken
    attributes.append(SDPAttribute("msid", "\(stream) \(MediaTrackKind.video.rawValue)"))
    var sources = [host.videoSSRC]
    if let rtx = video.rtxPayloadType, let ssrc = host.rtxSSRC {
        attributes.append(SDPAttribute("rtpmap", "\(rtx) rtx/90000"))
        attributes.append(SDPAttribute("fmtp", "\(rtx) apt=\(type)"))
        attributes.append(SDPAttribute("ssrc-group", "FID \(host.videoSSRC) \(ssrc)"))
        sources.append(ssrc)
    }
    return attributes + sources.map { SDPAttribute("ssrc", "\($0) cname:\(host.cname.asToken)") }
}

private func audioAttributes(_ audio: OfferedAudio, _ track: HostAudioTrack?, _ host: HostMedia) -> [SDPAttribute] {
    let type = audio.payloadType
    var attributes = audio.extensions.attributes
    attributes.append(SDPAttribute("rtpmap", "\(type) opus/48000/2"))
    if audio.hasTransportFeedback { attributes.append(SDPAttribute("rtcp-fb", "\(type) transport-cc")) }
    let silence = track?.hasSilenceSuppression == true ? ";usedtx=1" : ""
    attributes.append(SDPAttribute("fmtp", "\(type) minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1\(silence)"))
    if let redundancy = audio.redundantPayloadType {
        attributes.append(SDPAttribute("rtpmap", "\(redundancy) red/48000/2"))
        attributes.append(SDPAttribute("fmtp", "\(redundancy) \(type)/\(type)"))
    }
    guard let track else { return attributes }
    attributes.append(SDPAttribute("msid", "\(host.streamID.asToken) \(track.kind.rawValue)"))
    attributes.append(SDPAttribute("ssrc", "\(track.ssrc) cname:\(host.cname.asToken)"))
    return attributes
}
