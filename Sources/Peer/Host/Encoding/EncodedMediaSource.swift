package import EventLoop
package import LinuxRuntime
package import MediaCore
package import MediaEngine

/// A source of encoded media for a ``Broadcast``: encoders of this process (``MediaPipelines``), or media that was
/// encoded elsewhere.
///
/// It fills the queues on threads of its own, and has `Broadcast.videoFramesQueued` or `audioPacketsQueued` called on
/// the network loop afterwards. Requests are made on the network loop, and must not block it. A source that cannot meet
/// one ignores it; a request for a key frame it must meet sooner or later.
package protocol EncodedMediaSource: Sendable {
    var frames: FrameQueues { get }
    var packets: FrameQueue<AudioPacketInfo> { get }
    /// Media that is forwarded in packets, in place of what the queues hold; nil: there is none.
    var forwarded: LoopBound<ForwardedMedia>? { get }

    /// Sets what the viewers can receive now.
    func apply(_ decision: EncoderPolicy.Decision)

    /// Tells of viewers that were admitted and are connecting, so that their first frame can be made.
    /// - Parameter target: what they can receive; nil: there are none.
    func expectViewers(_ target: EncodingTarget?)

    /// Requests a key frame.
    /// - Parameter isFirst: for a viewer that has shown nothing yet.
    func requestKeyframe(_ encoding: EncodingID, isFirst: Bool)

    /// Requests a frame that refers to the long-term reference of this number alone, or a key frame.
    func requestRecovery(_ encoding: EncodingID, from number: UInt32)

    /// Sets which long-term references are of use.
    func setReferences(_ policy: LongTermReferencePolicy, of encoding: EncodingID)

    /// Stops or continues capturing and encoding. The broadcast itself drops what is captured meanwhile.
    /// - Parameter hold: nil: everything is captured.
    func set(_ hold: BroadcastHold?)
}

extension EncodedMediaSource {
    package var forwarded: LoopBound<ForwardedMedia>? { nil }

    package func set(_ hold: BroadcastHold?) {}

    package func expectViewers(_ target: EncodingTarget?) {}
}

/// What accompanies an audio packet on its way to the viewers.
package struct AudioPacketInfo: Sendable {
    package var track: Int
    package var captured: MediaInstant

    package init(track: Int, captured: MediaInstant) {
        self.track = track
        self.captured = captured
    }
}
