import MediaCore
import SessionDescription

enum Fixture {
    static let credentials = ICECredentials(usernameFragment: "user", password: "passwordpasswordpasswd")!
    static let fingerprint = Fingerprint(sha256: (0..<32).map { UInt8($0) })!
    static let otherFingerprint = Fingerprint(sha256: (0..<32).map { UInt8($0) + 1 })!
    static let candidate = ICECandidate("candidate:1 1 udp 2130706431 192.0.2.1 50000 typ host")!
    static let host = LocalDescription(
        credentials: credentials, fingerprint: fingerprint, candidates: [candidate], endsCandidates: true,
        video: [LocalVideoTrack(ssrc: 1, rtxSSRC: 2)],
        audio: [
            LocalAudioTrack(ssrc: 3, kind: .applicationAudio),
            LocalAudioTrack(ssrc: 4, kind: .microphoneAudio, hasSilenceSuppression: true),
        ], cname: "host", streamID: "share", sessionID: .max)

    static func offer() -> String {
        LocalDescription(credentials: credentials, fingerprint: fingerprint).offer(.receiving)
    }
}
