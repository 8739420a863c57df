import EventLoop
package import LinuxRuntime
package import MediaCore
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

    /// Makes the threads and queues for a screen and its audio tracks.
    init(
        source: sending any ScreenSource, encoder: sending any VideoEncoder, audio inputs: [AudioInput],
        limits: VideoPipeline.Limits, bitrate: Bitrate
    ) throws(CodecFailure) {
        let (frames, packets) = (FrameQueues(), FrameQueue<AudioPacketInfo>(capacity: 32, bytes: 2_048))
        self.init(
            frames: frames, packets: packets,
            video: VideoPipeline(
                source: source, encoder: encoder, limits: limits, bitrate: bitrate, frames: frames,
                clock: { MonotonicClock.now }),
            audio: try inputs.enumerated().map { (track, input) throws(CodecFailure) in
                AudioPipeline(
                    track: track, kind: input.kind, source: input.source, encoder: try input.makeEncoder(),
                    packets: packets)
            })
    }

    /// Starts the threads.
    /// - Parameter report: called on any of them.
    func start(
        framesReady: @escaping @Sendable () -> Void, packetsReady: @escaping @Sendable () -> Void,
        report: @escaping @Sendable (LocalEncoding.Event) -> Void
    ) {
        video.start(framesReady: framesReady, failed: { report(.videoEnded($0)) })
        for track in audio {
            let name = track.name
            do throws(SourceFailure) {
                try track.start(
                    packetsReady: packetsReady, ended: { report(.audioEnded(name, $0)) },
                    changed: { report(.audioChanged(name, $0)) })
                if track.state.isCaptured { report(.audioStarted(name, summary: track.summary)) }
            } catch {
                report(.audioNotStarted(name, error))
            }
        }
    }

    /// Ends the threads, and returns when they have ended.
    func stop() async {
        // Stopping a source blocks until its thread ends, so it is done on another thread, or on this one if there is
        // none.
        let stopAudio: @Sendable () -> Void = { [audio] in for track in audio { track.stop() } }
        if let thread = try? NamedThread.start("ending", stopAudio) { await thread.ended() } else { stopAudio() }
        await video.stop()
    }

    /// Mutes the tracks of this kind, or ends that.
    /// - Returns: whether there are any, and whether that has changed one.
    func setMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> (isKnown: Bool, isChanged: Bool) {
        let tracks = audio.filter { $0.kind == kind }
        let changed = tracks.filter { $0.setMuted(isMuted) }
        return (!tracks.isEmpty, !changed.isEmpty)
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

    /// May be called from any thread.
    package func expectViewers(_ target: EncodingTarget?) { video.change { $0.expected = target } }

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
    package func set(_ hold: BroadcastHold?) {
        video.set(hold)
        for track in audio { track.setHeld(hold?.includesAudio == true) }
    }

    /// Takes effect with the next frame. From any thread.
    package func setReferences(_ policy: LongTermReferencePolicy, of encoding: EncodingID) {
        video.set(policy, of: encoding)
    }
}
