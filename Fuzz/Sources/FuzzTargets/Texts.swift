import Identifiers
import MediaCore
import SessionDescription

private func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

func fuzzOffer(_ bytes: UnsafeRawBufferPointer) {
    let text = text(bytes)
    _ = try? SessionDescription.parse(text)
    _ = CertificateFingerprints.sha256(in: text)
    guard let credentials = ICECredentials(usernameFragment: "abcd", password: "abcdefghijklmnopqrstuvwx"),
        let fingerprint = Fingerprint(sha256: [UInt8](repeating: 7, count: 32))
    else { fatalError("credentials of our own") }
    let local = LocalDescription(
        credentials: credentials, fingerprint: fingerprint, endsCandidates: true,
        video: [LocalVideoSSRCs(ssrc: 1, rtxSSRC: 2)], audio: [LocalAudioTrack(ssrc: 3, kind: .applicationAudio)],
        cname: "host", name: "fuzz")
    for capabilities in everyDirection {
        guard let offer = try? Offer(text, for: capabilities) else { continue }
        // The answer to any accepted offer is SDP with the same number of sections.
        let answer = local.answer(to: offer)
        guard let read = try? SessionDescription.parse(answer) else {
            fatalError("an answer that is no SDP:\n\(answer)")
        }
        require(read.media.count == (try? SessionDescription.parse(text))?.media.count, "sections of an answer")
        for direction in everyDirection { _ = try? Answer(answer, to: direction) }
    }
}

/// A host, a recorder, a relay that decodes nothing, and a peer that sends and receives.
private let everyDirection: [MediaCapabilities] = [
    .sending, .receiving(),
    MediaCapabilities(direction: .receiveOnly, videoCodecs: Set(VideoCodec.allCases), videoSections: 2),
    MediaCapabilities(direction: .sendAndReceive),
]

func fuzzAnswer(_ bytes: UnsafeRawBufferPointer) {
    let text = text(bytes)
    for capabilities in everyDirection { _ = try? Answer(text, to: capabilities) }
}

func fuzzFragment(_ bytes: UnsafeRawBufferPointer) {
    guard let fragment = try? TrickleFragment.parse(text(bytes)) else { return }
    require(fragment.candidates.usable.count <= 40, "candidates of a fragment")
    guard let again = try? TrickleFragment.parse(fragment.serialised) else { fatalError("a fragment that was written") }
    require(again.credentials == fragment.credentials, "credentials of a fragment")
    // Two values that differ only in what is not written count as one.
    require(
        Set(again.candidates.usable.map(\.text)) == Set(fragment.candidates.usable.map(\.text)),
        "candidates that were written")
}

func fuzzCandidate(_ bytes: UnsafeRawBufferPointer) {
    let text = text(bytes)
    if let candidate = ICECandidate(text) {
        // Half of a related address is left out.
        require(ICECandidate(candidate.text)?.text == candidate.text, "a candidate that was written: \(candidate.text)")
        _ = candidate.isUsable
    }
    if let address = IPAddress(text) { _ = address.isUnicast }
    if let print = Fingerprint(text) { require(Fingerprint(print.text) == print, "a fingerprint that was written") }
    _ = Fingerprint(sha256Text: text)
}

func fuzzLink(_ bytes: UnsafeRawBufferPointer) {
    let text = text(bytes)
    if let link = try? Link(parsing: text) {
        require((try? Link(parsing: link.text)) == link, "a link that was written")
        require(!link.description.contains(link.text.suffix(60)), "a description with the secret in it")
    }
    _ = BroadcastID(text)
}
