import MediaCore
import MediaEngine

/// What the network side wants of one encoding.
struct EncoderControl: Sendable {
    var isWanted = false
    var isKeyframeWanted = false
    /// A new viewer has no picture yet: its key frame comes sooner than one that repairs.
    var isPictureAwaited = false
    var demand: EncodingTarget
    var keeping = LongTermReferencePolicy()
    /// Go on from this kept frame.
    private(set) var recoversFrom: UInt32?

    init(demand: EncodingTarget) { self.demand = demand }

    /// Two viewers that have different frames both get a key frame.
    mutating func wantRecovery(from number: UInt32) {
        guard let wanted = recoversFrom, wanted != number else { return recoversFrom = number }
        recoversFrom = nil
        isKeyframeWanted = true
    }

    mutating func noteRecovery() { recoversFrom = nil }
}

/// About the frames that viewers keep beside the last one.
package struct LongTermReferencePolicy: Equatable, Sendable {
    /// Some viewer can go on from one.
    package var isRecoverable = false
    /// Every viewer has the newest: another one may be kept.
    package var mayStore = false
}

/// What the network side wants of the video thread.
struct EncoderControls: Sendable {
    var main: EncoderControl
    /// For viewers who are much slower than others.
    var low: EncoderControl
    var isStopped = false
    /// Counts the changes, so that none is slept through.
    var generation = 0

    init(bitrate: Bitrate) {
        main = EncoderControl(demand: EncodingTarget(bitrate: bitrate))
        low = main
    }

    var hasViewers: Bool { main.isWanted || low.isWanted }

    subscript(encoding: EncodingID) -> EncoderControl {
        get { encoding == .main ? main : low }
        _modify { if encoding == .main { yield &main } else { yield &low } }
    }
}
