import Glibc

/// The fuzz targets. Each has a folder of seeds under `Corpus`.
enum FuzzTarget: String, CaseIterable {
    case rtp, payload, rtcp, offer, answer, fragment, candidate, link, sender, receiver
    case service, pairing, pairingOffer, acceptance, grant, manifest, serviceLink, serviceEvent, recording
    case linkHeader, layers, dtls, sealedFrame, frameKeys

    /// The target named by the environment's `SHARE_FUZZ_TARGET`.
    static let chosen: FuzzTarget = {
        guard let name = getenv("SHARE_FUZZ_TARGET"), let target = FuzzTarget(rawValue: String(cString: name)) else {
            fatalError("SHARE_FUZZ_TARGET has to be one of: \(allCases.map(\.rawValue).joined(separator: " "))")
        }
        return target
    }()

    func run(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .rtp: fuzzRTP(bytes)
        case .payload: fuzzPayload(bytes)
        case .rtcp: fuzzRTCP(bytes)
        case .offer: fuzzOffer(bytes)
        case .answer: fuzzAnswer(bytes)
        case .fragment: fuzzFragment(bytes)
        case .candidate: fuzzCandidate(bytes)
        case .link: fuzzLink(bytes)
        case .sender: fuzzSender(bytes)
        case .receiver: fuzzReceiver(bytes)
        case .service: fuzzService(bytes)
        case .pairing: fuzzPairingRequest(bytes)
        case .pairingOffer: fuzzPairingOffer(bytes)
        case .acceptance: fuzzAcceptance(bytes)
        case .grant: fuzzGrant(bytes)
        case .manifest: fuzzManifest(bytes)
        case .serviceLink: fuzzServiceLink(bytes)
        case .serviceEvent: fuzzServiceEvent(bytes)
        case .recording: fuzzRecording(bytes)
        case .linkHeader: fuzzLinkHeader(bytes)
        case .layers: fuzzLayers(bytes)
        case .dtls: fuzzDTLS(bytes)
        case .sealedFrame: fuzzSealedFrame(bytes)
        case .frameKeys: fuzzFrameKeys(bytes)
        }
    }
}

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafeRawPointer?, _ count: Int) -> CInt {
    FuzzTarget.chosen.run(UnsafeRawBufferPointer(start: data, count: count))
    return 0
}

/// Requires a property that holds for every input.
func require(_ claim: Bool, _ words: @autoclosure () -> String) { if !claim { fatalError(words()) } }

/// Reads each byte, so that AddressSanitizer checks its address.
func touch(_ bytes: UnsafeRawBufferPointer?) {
    var sum: UInt8 = 0
    for byte in bytes ?? UnsafeRawBufferPointer(start: nil, count: 0) { sum &+= byte }
    sink &+= sum
}

nonisolated(unsafe) private var sink: UInt8 = 0
