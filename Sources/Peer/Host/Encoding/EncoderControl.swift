import MediaCore
import MediaEngine

/// The requests of the network side to one encoding.
struct EncoderControl: Sendable {
    var isWanted = false
    var isKeyframeWanted = false
    /// A new viewer waits for its first frame: its key frame has a shorter minimum interval than one for repair.
    var isFirstFrameAwaited = false
    var target: EncodingTarget
    var referencePolicy = LongTermReferencePolicy()
    /// The long-term reference for the requested recovery frame.
    private(set) var recoveryReference: UInt32?

    init(target: EncodingTarget) { self.target = target }

    /// Requests a recovery frame. If two viewers need different references, both get a key frame instead.
    mutating func wantRecovery(from number: UInt32) {
        guard let wanted = recoveryReference, wanted != number else { return recoveryReference = number }
        recoveryReference = nil
        isKeyframeWanted = true
    }

    mutating func noteRecovery() { recoveryReference = nil }
}

/// Whether the encoder may store long-term references and recover from them.
package struct LongTermReferencePolicy: Equatable, Sendable {
    /// At least one viewer can decode a recovery frame.
    package var allowsRecoveryFrames = false
    /// Every viewer has acknowledged the newest long-term reference, so another one may be stored.
    package var mayStore = false
}

/// The requests of the network side to the video thread.
struct EncoderControls: Sendable {
    var main: EncoderControl
    /// For viewers that are much slower than others.
    var low: EncoderControl
    /// For viewers that were admitted and are connecting: their first frame is made. Nil: there are none.
    var expected: EncodingTarget?
    var isStopped = false
    /// The hold that is in effect; nil: the screen is captured.
    var hold: BroadcastHold?
    /// Counts the changes, so that the video thread misses none.
    var generation = 0

    init(bitrate: Bitrate) {
        main = EncoderControl(target: EncodingTarget(bitrate: bitrate))
        low = main
    }

    var hasViewers: Bool { main.isWanted || low.isWanted }
    /// Whether the screen is captured.
    var isCapturing: Bool { (hasViewers || expected != nil) && hold == nil }

    subscript(encoding: EncodingID) -> EncoderControl {
        get { encoding == .main ? main : low }
        _modify { if encoding == .main { yield &main } else { yield &low } }
    }
}
