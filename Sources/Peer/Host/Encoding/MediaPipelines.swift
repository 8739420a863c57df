import EventLoop
package import LinuxRuntime
import MediaCore
package import MediaEngine

/// The threads that capture and encode for a broadcast, and the queues that they fill for the network loop.
package struct MediaPipelines: EncodedMediaSource {
    package let frames: FrameQueues
    package let packets: FrameQueue<AudioPacketInfo>
    package let video: VideoPipeline
    /// The audio pipelines in the order of their tracks.
    package let audio: [AudioPipeline]

    package init(
        frames: FrameQueues, packets: FrameQueue<AudioPacketInfo>, video: VideoPipeline, audio: [AudioPipeline]
    ) {
        self.frames = frames
        self.packets = packets
        self.video = video
        self.audio = audio
    }

    /// Passes the decision to the video and audio threads. May be called from any thread.
    package func apply(_ decision: EncoderPolicy.Decision) {
        video.change {
            for encoding in EncodingID.allCases {
                $0[encoding].isWanted = decision[encoding] != nil
                if let target = decision[encoding] { $0[encoding].target = target }
            }
        }
        let wanted = Bitrate(bitsPerSecond: audio.reduce(0) { $0 + $1.normalBitrate.bitsPerSecond })
        let fraction = AudioPipeline.bitrateFraction(of: wanted, within: decision.audioLimits)
        for track in audio {
            track.setWanted(decision.hasViewers)
            track.setExpectedLoss(decision.audioLoss)
            track.setBitrateFraction(fraction)
        }
    }

    /// Requests a key frame. May be called from any thread.
    /// - Parameter isFirst: for a viewer that has shown no frame yet; it is made sooner than one for repair.
    package func requestKeyframe(_ encoding: EncodingID, isFirst: Bool) {
        video.change {
            $0[encoding].isKeyframeWanted = true
            $0[encoding].isFirstFrameAwaited = $0[encoding].isFirstFrameAwaited || isFirst
        }
    }

    /// Requests a frame predicted from the long-term reference of this number alone. May be called from any thread.
    package func requestRecovery(_ encoding: EncodingID, from number: UInt32) {
        video.change { $0[encoding].wantRecovery(from: number) }
    }

    /// Stops or continues capturing and encoding. May be called from any thread.
    package func setPaused(_ isPaused: Bool) {
        video.setPaused(isPaused)
        for track in audio { track.setPaused(isPaused) }
    }

    /// Takes effect with the next frame. From any thread.
    package func setReferences(_ policy: LongTermReferencePolicy, of encoding: EncodingID) {
        video.set(policy, of: encoding)
    }
}
