import ExtensionChannel
import Host
import LinuxRuntime
import MediaCore
import PeerConnection
import Synchronization

/// Passes frames as I420 and audio as PCM to a program. While the program has all slots of video, frames are dropped;
/// the newest one follows.
// SAFETY: the screen and the canvas are used by the video thread alone; the rest is in Monitors.
final class RawUploader: SampleUploader, @unchecked Sendable {
    private struct Control {
        /// The hold that is in effect.
        var hold: BroadcastHold?
        var isStopped = false
        var statistics = VideoPipelineStatistics()
        /// In the order of `audio`.
        var tracks: [AudioTrackState] = []
        /// The tap that passes samples to the sinks; nil without any.
        var tap: SampleTap?
    }

    private let sources: SampleSources
    private let configuration: ExtensionBroadcast.Configuration
    private let emit = Monitor<(@Sendable (BroadcastEvent) -> Void)?>(nil)
    private let screen: any ScreenSource
    private let audio: [AudioInput]
    private let process: ExtensionProcess
    private let fail: @Sendable (EndReason) -> Void
    private let control = Monitor(Control())
    /// Held while a frame is passed on, so that none follows the hold that withholds it.
    private let holding = Mutex(BroadcastHoldState())
    private let thread = Mutex<NamedThread?>(nil)
    private let interval: MediaDuration

    init(
        _ sources: SampleSources, _ process: ExtensionProcess, _ configuration: ExtensionBroadcast.Configuration,
        fail: @escaping @Sendable (EndReason) -> Void
    ) {
        self.sources = sources
        self.configuration = configuration
        screen = sources.screen
        audio = sources.audio
        self.process = process
        self.fail = fail
        interval = MediaDuration(nanoseconds: 1_000_000_000 / Int64(max(configuration.framesPerSecond, 1)))
        let tracks = sources.audio.map { AudioTrackState(kind: $0.kind, isMuted: false, isCaptured: false) }
        control.with { $0.tracks = tracks }
    }

    func start(_ emit: @escaping @Sendable (BroadcastEvent) -> Void) {
        self.emit.with { $0 = emit }
        thread.withLock { $0 = NamedThread("video") { self.run() } }
        for (index, input) in audio.enumerated() {
            let track: SampleDescription.AudioTrack = input.kind == .microphoneAudio ? .microphone : .application
            let name = input.kind == .microphoneAudio ? "microphone" : "audio"
            input.source.observe { [control] change in
                switch change {
                case .interrupted: control.with { $0.tracks[index].isCaptured = false }
                case .resumed: control.with { $0.tracks[index].isCaptured = true }
                case .notice: break
                }
                if let event = BroadcastEvent(.audioChanged(name, change)) { emit(event) }
            }
            do throws(SourceFailure) {
                // An interruption may be reported before it returns.
                control.with { $0.tracks[index].isCaptured = true }
                try input.source.start(
                    handler: { [process, control] samples, time in
                        let (isWanted, tap) = control.with {
                            ($0.hold?.includesAudio != true && !$0.tracks[index].isMuted, $0.tap)
                        }
                        guard isWanted else { return }
                        let bytes = UnsafeRawBufferPointer(samples)
                        process.send(
                            .audio, byteCount: bytes.count, format: .pcm(track: track, bytes: bytes.count), time: time
                        ) { $0.copyMemory(from: bytes) }
                        // The program comes first: encoding takes time.
                        tap?.audio[index].pass(samples, time)
                    },
                    ended: { [control] failure in
                        control.with { $0.tracks[index].isCaptured = false }
                        emit(.notice(.media(.audioEnded(track: name, failure))))
                    })
                if control.with({ $0.tracks[index].isCaptured }) { emit(.sharing(name + ": " + input.source.summary)) }
            } catch {
                control.with { $0.tracks[index].isCaptured = false }
                emit(.notice(.media(.audioMissing(track: name, error))))
            }
        }
    }

    func set(_ hold: BroadcastHold?) {
        let now = MonotonicClock.now
        holding.withLock { holding in
            holding.adopt(hold, now: now)
            control.change { control in
                control.hold = hold
                control.tap?.set(hold, now)
            }
        }
        screen.wake()
        for input in audio { input.source.setHeld(hold?.includesAudio == true) }
    }

    var statistics: VideoPipelineStatistics { control.with { $0.statistics } }

    var audioTracks: [AudioTrackState] { control.with { $0.tracks } }

    func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool {
        control.with { control in
            let tracks = control.tracks.indices.filter { control.tracks[$0].kind == kind }
            for index in tracks { control.tracks[index].isMuted = isMuted }
            return !tracks.isEmpty
        }
    }

    func add(_ sink: any EncodedMediaSink) throws(MediaSinkFailure) -> Bool {
        let outcome: Result<Bool, MediaSinkFailure> = control.change { control in
            guard !control.isStopped else { return .success(false) }
            do throws(MediaSinkFailure) {
                if let tap = control.tap {
                    try tap.encoding.add(sink)
                } else {
                    let tap = try makeTap()
                    tap.set(control.hold, MonotonicClock.now)
                    try tap.encoding.add(sink)
                    start(tap)
                    control.tap = tap
                }
                return .success(true)
            } catch {
                return .failure(error)
            }
        }
        screen.wake()
        return try outcome.get()
    }

    private func makeTap() throws(MediaSinkFailure) -> SampleTap {
        do throws(CodecFailure) {
            return try SampleTap(sources, configuration)
        } catch {
            throw MediaSinkFailure("the encoder cannot be started: \(error.message)")
        }
    }

    private func start(_ tap: SampleTap) {
        let emit = emit
        tap.encoding.start { event in
            if case .videoEnded(let failure) = event {
                emit.with { $0 }?(.notice(.media(.recordingEnded(failure))))
            }
        }
    }

    func remove(_ sink: any EncodedMediaSink) async {
        let last = control.with { control -> SampleTap? in
            guard let tap = control.tap, tap.encoding.remove(sink) == 0 else { return nil }
            control.tap = nil
            return tap
        }
        await last?.encoding.stop()
    }

    func stop() async {
        control.change { $0.isStopped = true }
        screen.wake()
        let audio = audio
        // Stopping a source blocks until its thread has ended.
        if let ending = try? NamedThread.start("ending", { for input in audio { input.source.stop() } }) {
            await ending.ended()
        }
        await thread.withLock { $0 }?.ended()
        await control.with { $0.tap }?.encoding.stop()
    }

    // MARK: The video thread

    private func run() {
        do throws(SourceFailure) {
            try capture()
        } catch {
            fail(EndReason(error))
        }
        screen.close()
    }

    private func capture() throws(SourceFailure) {
        var canvas = I420Buffer(screen.size)
        var changed = BlockMap(canvas.size)
        var due = MonotonicClock.now
        var needsRead = true
        // The tap that has the canvas as it is.
        var current: SampleTap?
        screen.resume()
        while true {
            let control = control.with { $0 }
            if control.isStopped { return }
            if control.hold != nil {
                screen.suspend()
                // Whatever the program shows now is replaced.
                if try hold(canvas.size) { changed.fill() }
                screen.resume()
                (needsRead, current) = (true, nil)
                continue
            }
            if let tap = control.tap, tap !== current || tap.screen.isBlank, !needsRead {
                pass(MonotonicClock.now) { tap.screen.push(canvas, changed: nil, $0) }
                current = tap
            }
            if needsRead {
                let now = MonotonicClock.now
                if now < due {
                    // Further damage needs no wake-up.
                    _ = self.control.wait(until: due) { $0.isStopped || $0.hold != nil ? () : nil }
                    continue
                }
                if screen.size == canvas.size {
                    let captured = try screen.read(into: canvas, changed: &changed)
                    due = now + interval
                    // While the program has all slots, the frame follows later, with what changes meanwhile.
                    let isTaken = changed.isEmpty || passOn(canvas, changed, captured, control.tap, &current)
                    needsRead = screen.size != canvas.size || !isTaken
                    if !needsRead { changed.clear() }
                    continue
                }
            } else {
                switch try screen.wait(until: nil) {
                case .damaged: needsRead = true
                case .resized: break
                case .woken: continue
                }
            }
            if screen.size != canvas.size {
                canvas = I420Buffer(screen.size)
                changed = BlockMap(canvas.size)
                screen.damageEverything()
                needsRead = true
            }
        }
    }

    /// Passes a frame that has changed on to the program and to the tap.
    /// - Returns: whether the program has taken it.
    private func passOn(
        _ canvas: I420Buffer, _ changed: BlockMap, _ captured: MediaInstant, _ tap: SampleTap?,
        _ current: inout SampleTap?
    ) -> Bool {
        var isTaken = false
        pass(captured) { captured in
            isTaken = send(canvas, captured)
            guard let tap else { return }
            tap.screen.push(canvas, changed: tap === current ? changed : nil, captured)
            current = tap
        }
        return isTaken
    }

    /// Waits while the host's user holds the broadcast back, and sends a blank frame if it is blanked.
    /// - Returns: whether a blank frame was sent.
    private func hold(_ size: PixelSize) throws(SourceFailure) -> Bool {
        var (hasSentBlank, isBlank) = (false, false)
        while true {
            let control = control.with { $0 }
            guard let hold = control.hold, !control.isStopped else { return hasSentBlank }
            if hold == .blank, !isBlank {
                let (frame, now) = (I420Buffer(size), MonotonicClock.now)
                frame.fillWithBlank()
                pass(now, isBlank: true) { isBlank = send(frame, $0) }
                hasSentBlank = hasSentBlank || isBlank
                // The program has all slots.
                if !isBlank { _ = self.control.wait(until: now + interval) { $0.hold != hold ? () : nil } }
            } else if try !screen.waitSuspended() {
                self.control.wait { $0.isStopped || $0.hold != hold ? () : nil }
            }
        }
    }

    /// Has `body` pass a frame on, unless that is withheld.
    private func pass(_ captured: MediaInstant, isBlank: Bool = false, _ body: (MediaInstant) -> Void) {
        holding.withLock { holding in
            if !holding.withholds(captured: captured, isBlank: isBlank) { body(captured) }
        }
    }

    private func send(_ canvas: I420Buffer, _ captured: MediaInstant) -> Bool {
        let luma = canvas.strideY * canvas.size.height
        let chroma = canvas.strideC * canvas.size.height / 2
        let isTaken = process.send(
            .video, byteCount: luma + 2 * chroma,
            format: .i420(
                width: canvas.size.width, height: canvas.size.height, strideY: canvas.strideY,
                strideC: canvas.strideC), time: captured
        ) { bytes in
            guard let base = bytes.baseAddress else { return }
            base.copyMemory(from: canvas.y, byteCount: luma)
            (base + luma).copyMemory(from: canvas.u, byteCount: chroma)
            (base + luma + chroma).copyMemory(from: canvas.v, byteCount: chroma)
        }
        control.with { control in
            control.statistics.size = canvas.size
            if isTaken { control.statistics.frames += 1 } else { control.statistics.skipped += 1 }
        }
        return isTaken
    }
}
