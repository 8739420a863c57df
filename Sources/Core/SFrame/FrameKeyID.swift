/// The tracks of a broadcast, each with a ratchet of its own.
public enum SealedTrack: UInt8, CaseIterable, Sendable {
    case video0, video1, video2, video3, systemAudio, microphone, messages

    public enum Kind: Sendable { case video, audio, messages }

    public var kind: Kind {
        switch self {
        case .video0, .video1, .video2, .video3: .video
        case .systemAudio, .microphone: .audio
        case .messages: .messages
        }
    }
}

/// The 16 bits of an SFrame key identifier: the epoch modulo 16 (4 bits), the track (3), the step modulo 512 (9).
struct FrameKeyID: Equatable, Sendable {
    var epoch: UInt32
    var track: SealedTrack
    var step: UInt32

    static let steps: UInt32 = 512

    init(epoch: UInt32, track: SealedTrack, step: UInt32) {
        (self.epoch, self.track, self.step) = (epoch % 16, track, step % Self.steps)
    }

    init?(_ value: UInt64) {
        guard value < 1 << 16, let track = SealedTrack(rawValue: UInt8(value >> 9 & 7)) else { return nil }
        self.init(epoch: UInt32(value >> 12), track: track, step: UInt32(value & 511))
    }

    var value: UInt64 { UInt64(epoch) << 12 | UInt64(track.rawValue) << 9 | UInt64(step) }
}

/// What stays in clear at the beginning of a frame, as browsers and relays read it there: of VP8 10 bytes of a key
/// frame and 3 of another (RFC 6386 section 9.1), of Opus the first one. It is authenticated.
enum ClearPrefix {
    /// - Returns: nil if the frame is shorter than that.
    static func length(of frame: UnsafeRawBufferPointer, _ kind: SealedTrack.Kind) -> Int? {
        guard let first = frame.first else { return nil }
        let length =
            switch kind {
            case .video: first & 1 == 0 ? 10 : 3
            case .audio: 1
            case .messages: 0
            }
        return frame.count >= length ? length : nil
    }
}
