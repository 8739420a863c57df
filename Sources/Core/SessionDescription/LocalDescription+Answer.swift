import MediaCore
import RTPWire

extension LocalDescription {
    /// Returns the answer. Each section has the direction that both sides agree on, with the offerer's payload types
    /// and extension ids. Audio without a track is inactive; everything else is refused with port 0. There is one
    /// transport, as DTLS server (`setup:passive`), unless the offerer is that. RFC 9429 section 5.3, RFC 9143.
    public func answer(to offer: Offer) -> String {
        var result = session(version: 2)
        var bundled: [String] = []
        for section in offer.sections {
            var media = MediaDescription(
                kind: section.kind, port: 9, transport: section.transport, formats: [section.format],
                connection: "IN IP4 0.0.0.0")
            let body: Body
            switch section.role {
            case .video(let index):
                guard offer.video.indices.contains(index) else { continue }
                body = answer(offer.video[index], videoTrack(index), offer.capabilities)
            case .audio(let index):
                guard offer.audio.indices.contains(index) else { continue }
                body = answer(offer.audio[index], audioTrack(index), offer.capabilities)
            case .refused:
                media.port = 0
                media.attributes = refusal(of: section, offer.setup.counterpart)
                result.media.append(media)
                continue
            }
            media.formats = body.formats.map { "\($0)" }
            media.attributes = transportAttributes(section.mid, body.direction, offer.setup.counterpart)
            if bundled.isEmpty { media.attributes += candidateAttributes }
            media.attributes += body.attributes
            bundled.append(section.mid ?? "0")
            result.media.append(media)
        }
        if offer.isBundled {
            result.attributes.append(SDPAttribute("group", (["BUNDLE"] + bundled).joined(separator: " ")))
        }
        result.attributes.append(SDPAttribute("msid-semantic", " WMS *"))
        return result.serialised
    }

    /// The codec lines of an accepted section.
    private struct Body {
        var direction: MediaDirection
        var formats: [UInt8]
        var attributes: [SDPAttribute]
    }

    private func answer(
        _ video: VideoSection, _ track: LocalVideoSSRCs?, _ capabilities: MediaCapabilities
    ) -> Body {
        let direction = agreed(video.direction, hasTrack: track != nil, capabilities)
        let type = video.payloadType
        let rtx = direction.sends && track?.rtxSSRC == nil ? nil : video.rtxPayloadType
        var attributes = video.extensions.attributes
        if direction.receives, video.mixesExtensionForms { attributes.append(.mixesExtensionForms) }
        attributes.append(SDPAttribute("rtpmap", "\(type) \(video.codec.rawValue)/90000"))
        attributes += video.feedback.subtracting(.remb).attributes(payloadType: type)
        // REMB is requested from a peer that supports no transport-wide feedback, or sent by this side.
        if !video.feedback.contains(.transportWide) || capabilities.limitsBitrate, video.feedback.contains(.remb) {
            attributes += RTCPFeedback.remb.attributes(payloadType: type)
        }
        // The profile and packetization mode are the offerer's: RFC 6184 section 8.2.2.
        if video.codec != .vp8, let parameters = video.formatParameters {
            attributes.append(SDPAttribute("fmtp", "\(type) \(parameters)"))
        }
        if direction.sends { attributes.append(streamAttribute(.video)) }
        if let rtx {
            attributes.append(SDPAttribute("rtpmap", "\(rtx) rtx/90000"))
            attributes.append(SDPAttribute("fmtp", "\(rtx) apt=\(type)"))
        }
        if direction.sends, let track {
            if rtx != nil, let group = retransmissionGroup(track) { attributes.append(group) }
            attributes += sourceAttributes([track.ssrc] + (rtx == nil ? [] : [track.rtxSSRC].compactMap { $0 }))
        }
        return Body(direction: direction, formats: [type] + [rtx].compactMap { $0 }, attributes: attributes)
    }

    /// A section without a track stays in the bundle: Chromium rejects an answer that refuses the section which carries
    /// the transport.
    private func answer(
        _ audio: AudioSection, _ track: LocalAudioTrack?, _ capabilities: MediaCapabilities
    ) -> Body {
        let direction = agreed(audio.direction, hasTrack: track != nil, capabilities)
        let type = audio.payloadType
        var attributes = audio.extensions.attributes
        attributes.append(SDPAttribute("rtpmap", "\(type) opus/48000/2"))
        if audio.usesTransportFeedback { attributes.append(SDPAttribute("rtcp-fb", "\(type) transport-cc")) }
        attributes.append(opusParameters(type, sends: capabilities.direction.sends, track))
        if let redundancy = audio.redundantPayloadType {
            attributes.append(SDPAttribute("rtpmap", "\(redundancy) red/48000/2"))
            attributes.append(SDPAttribute("fmtp", "\(redundancy) \(type)/\(type)"))
        }
        if direction.sends, let track {
            attributes.append(streamAttribute(track.kind))
            attributes += sourceAttributes([track.ssrc])
        }
        return Body(
            direction: direction, formats: [type] + [audio.redundantPayloadType].compactMap { $0 },
            attributes: attributes)
    }

    private func agreed(
        _ offered: MediaDirection, hasTrack: Bool, _ capabilities: MediaCapabilities
    ) -> MediaDirection {
        offered.answered(
            by: MediaDirection(
                sends: capabilities.direction.sends && hasTrack, receives: capabilities.direction.receives))
    }

    private func dtlsAttributes(_ setup: DTLSSetup) -> [SDPAttribute] {
        credentials.attributes + [
            SDPAttribute("ice-options", "trickle"), SDPAttribute("fingerprint", fingerprint.text),
            SDPAttribute("setup", setup.rawValue),
        ]
    }

    private func transportAttributes(
        _ mid: String?, _ direction: MediaDirection, _ setup: DTLSSetup
    ) -> [SDPAttribute] {
        dtlsAttributes(setup) + (mid.map { [SDPAttribute("mid", $0)] } ?? [])
            + [SDPAttribute(direction.rawValue), SDPAttribute("rtcp-mux"), SDPAttribute("rtcp-rsize")]
    }

    /// A refused section needs no transport (RFC 9429 section 5.3.1), but aiortc rejects the whole answer if one lacks
    /// it, or lacks a known codec. The bundle's transport is therefore repeated, without candidates.
    private func refusal(of section: Offer.Section, _ setup: DTLSSetup) -> [SDPAttribute] {
        var attributes = dtlsAttributes(setup)
        if let mid = section.mid { attributes.append(SDPAttribute("mid", mid)) }
        attributes.append(SDPAttribute("inactive"))
        guard section.kind == "audio" || section.kind == "video" else { return attributes }
        attributes.append(SDPAttribute("rtcp-mux"))
        return attributes + [section.mapping].compactMap { $0 }
    }
}
