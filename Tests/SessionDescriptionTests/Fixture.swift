import MediaCore
import SessionDescription
import TestSupport

enum Fixture {
    static let credentials = ICECredentials(usernameFragment: "user", password: "passwordpasswordpasswd")!
    static let fingerprint = Fingerprint(sha256: (0..<32).map { UInt8($0) })!
    static let otherFingerprint = Fingerprint(sha256: (0..<32).map { UInt8($0) + 1 })!
    static let candidate = ICECandidate("candidate:1 1 udp 2130706431 192.0.2.1 50000 typ host")!
    static let host = LocalDescription(
        credentials: credentials, fingerprint: fingerprint, candidates: [candidate], endsCandidates: true,
        video: [LocalVideoSSRCs(ssrc: 1, rtxSSRC: 2)],
        audio: [
            LocalAudioTrack(ssrc: 3, kind: .applicationAudio),
            LocalAudioTrack(ssrc: 4, kind: .microphoneAudio, hasSilenceSuppression: true),
        ], cname: "host", streamID: "share", sessionID: .max)

    static func offer() -> String {
        LocalDescription(credentials: credentials, fingerprint: fingerprint).offer(.receiving())
    }

    /// Every 61st prefix, many damaged copies and many shuffles of a description, which must end in a value or a typed
    /// error.
    static func eachDamaged(_ text: String, seed: UInt64, _ body: (String) -> Void) {
        let bytes = Array(text.utf8)
        var random = SeededGenerator(seed: seed)
        func read(_ bytes: some Collection<UInt8>) { body(String(decoding: bytes, as: UTF8.self)) }
        for length in stride(from: 0, to: bytes.count, by: 61) { read(bytes[..<length]) }
        for _ in 0..<150 {
            var damaged = bytes
            for _ in 0...random.below(6) { damaged[random.below(damaged.count)] = UInt8(random.below(256)) }
            read(damaged)
        }
        let lines = text.split(separator: "\n")
        for _ in 0..<50 { read(lines.shuffled(using: &random).joined(separator: "\n").utf8) }
    }
}
