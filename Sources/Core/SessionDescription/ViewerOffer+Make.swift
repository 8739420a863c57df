import RTPWire

/// The offer of our own viewer: VP8 with RTX and as many Opus tracks as it can play, recvonly, one transport.
/// - Parameters:
///   - candidates: those that are known already; more may trickle unless `endsCandidates`.
///   - sessionID: of the `o=` line; below 2^63.
public func viewerOffer(
    credentials: ICECredentials, fingerprint: Fingerprint, candidates: [ICECandidate] = [],
    endsCandidates: Bool = false, audioTracks: Int = 2, sessionID: UInt64 = 1
) -> String {
    let tracks = min(max(audioTracks, 0), ViewerOffer.audioSections)
    var result = SessionDescription(origin: "- \(sessionID & 0x7FFF_FFFF_FFFF_FFFF) 1 IN IP4 127.0.0.1")
    let mids = (0...tracks).map { "\($0)" }
    result.attributes = [
        SDPAttribute("group", (["BUNDLE"] + mids).joined(separator: " ")),
        SDPAttribute("ice-options", "trickle"),
        SDPAttribute("msid-semantic", " WMS *"),
    ]
    for mid in mids {
        let isVideo = mid == "0"
        var media = SDPMedia(
            kind: isVideo ? "video" : "audio", port: 9, transport: "UDP/TLS/RTP/SAVPF",
            formats: isVideo ? ["96", "97"] : ["111", "63"], connection: "IN IP4 0.0.0.0")
        media.attributes = credentials.attributes
        media.attributes += [
            SDPAttribute("fingerprint", fingerprint.text), SDPAttribute("setup", DTLSSetup.actpass.rawValue),
            SDPAttribute("mid", mid), SDPAttribute("recvonly"), SDPAttribute("rtcp-mux"), SDPAttribute("rtcp-rsize"),
        ]
        if isVideo {
            let feedback: VideoFeedback = [.nack, .pictureLoss, .transportWide, .referenceSelection]
            media.attributes += HeaderExtensionMap.offered.attributes + [SDPAttribute("rtpmap", "96 VP8/90000")]
            media.attributes += feedback.attributes(payloadType: 96)
            media.attributes += [SDPAttribute("rtpmap", "97 rtx/90000"), SDPAttribute("fmtp", "97 apt=96")]
            media.attributes += candidates.map(\.attribute)
            if endsCandidates { media.attributes.append(SDPAttribute("end-of-candidates")) }
        } else {
            media.attributes += HeaderExtensionMap.offered.forAudio.attributes
            media.attributes += [
                SDPAttribute("rtpmap", "111 opus/48000/2"), SDPAttribute("rtcp-fb", "111 transport-cc"),
                SDPAttribute("fmtp", "111 minptime=10;useinbandfec=1;stereo=1"),
                SDPAttribute("rtpmap", "63 red/48000/2"), SDPAttribute("fmtp", "63 111/111"),
            ]
        }
        result.media.append(media)
    }
    return result.serialised
}
