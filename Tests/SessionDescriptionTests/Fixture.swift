import SessionDescription

enum Fixture {
    static let credentials = ICECredentials(usernameFragment: "user", password: "passwordpasswordpasswd")!
    static let fingerprint = Fingerprint(sha256: (0..<32).map { UInt8($0) })!
    static let candidate = ICECandidate("candidate:1 1 udp 2130706431 192.0.2.1 50000 typ host")!
    static let host = HostMedia(
        credentials: credentials, fingerprint: fingerprint, candidates: [candidate], videoSSRC: 1, rtxSSRC: 2,
        audio: [
            HostAudioTrack(ssrc: 3, label: "system"),
            HostAudioTrack(ssrc: 4, label: "microphone", hasSilenceSuppression: true),
        ], cname: "host", streamID: "share", sessionID: .max)

    static func offer() -> String {
        viewerOffer(credentials: credentials, fingerprint: fingerprint)
    }
}

/// A seeded generator, the same on every machine.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
