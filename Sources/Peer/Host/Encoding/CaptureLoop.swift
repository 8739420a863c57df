import LinuxRuntime
import MediaCore
import MediaEngine

/// The loop of the video thread: waits for damage, reads it into the canvas and has it encoded. Frames are triggered by
/// damage, not by a timer; damage that arrives during encoding is combined into the next frame. Confined to the video
/// thread.
final class CaptureLoop {
    let source: any ScreenSource
    let clock: @Sendable () -> MediaInstant
    let controls: Monitor<EncoderControls>
    private let counters: Monitor<VideoPipelineStatistics>
    let stage: EncodingStage
    private(set) var canvas: I420Buffer
    let main: VideoEncoding
    private(set) var low: VideoEncoding?
    /// What viewers get while the host's user has blanked the broadcast.
    var blank: I420Buffer?
    /// The blocks that one read changed; used while there are two encodings.
    private var fresh = BlockMap(PixelSize(width: 0, height: 0))
    private(set) var needsRead = true
    /// The first damage that was not read yet.
    private var damagedSince: MediaInstant?
    /// Of the canvas; zero: nothing was read since capturing began.
    private(set) var captured = MediaInstant(nanoseconds: 0)
    private(set) var lastChange = MediaInstant(nanoseconds: 0)
    var preparation = FirstFramePreparation()

    init(
        source: any ScreenSource, encoder: any VideoEncoder, framesPerSecond: Int, stage: EncodingStage,
        controls: Monitor<EncoderControls>, counters: Monitor<VideoPipelineStatistics>,
        clock: @escaping @Sendable () -> MediaInstant
    ) {
        self.source = source
        self.stage = stage
        self.controls = controls
        self.counters = counters
        self.clock = clock
        canvas = I420Buffer(source.size)
        main = VideoEncoding(.main, encoder, source.size, FrameSchedule(framesPerSecond: framesPerSecond))
    }

    /// Runs until the source or an encoder fails, or `isStopped` is set.
    func run() {
        // Before anybody waits for a frame. A failure is that of the first frame.
        try? main.encoder.prepare(canvas.size)
        do throws(SourceFailure) {
            var isSuspended = false
            while true {
                let control = controls.with { $0 }
                if control.isStopped { break }
                if !control.isCapturing {
                    if !isSuspended { suspend(control.hold) }
                    // A later freeze is not to show what stands from an earlier one.
                    if control.hold == nil { captured = MediaInstant(nanoseconds: 0) }
                    isSuspended = true
                    try hold(control)
                    continue
                }
                if isSuspended {
                    show(control.hold)
                    source.resume()
                    isSuspended = false
                    needsRead = true
                }
                try step(control)
            }
        } catch {
            stage.failed(error)
        }
        source.close()
    }

    private func suspend(_ hold: BroadcastHold?) {
        source.suspend()
        needsRead = false
        // By the time of a later freeze the screen may show something else. Nobody is shown what nobody has seen.
        if hold != .freeze || preparation.isUnseen { captured = MediaInstant(nanoseconds: 0) }
        dropFirstFrame()
        (preparation.isCurrent, preparation.isUnseen) = (false, false)
        // Nobody waited for the changes from before a pause, so they count as no freeze.
        damagedSince = nil
        main.changedSince = nil
        low?.changedSince = nil
    }

    private func step(_ control: EncoderControls) throws(SourceFailure) {
        var now = clock()
        updateLow(control)
        guard control.hasViewers else { return try prepareFirstFrame(control, now) }
        if passFirstFrame(control.main, now) { return }
        guard let due = nextWork(control) else { return try sleep(until: .distantFuture, control) }
        if due > now { return try sleep(until: due, control) }
        if !hasNews(main, control.main), !(low.map { hasNews($0, control.low) } ?? false) {
            // New changes take precedence over a refinement, which is due as soon as a slow encoding has ended.
            try sleep(until: now, control)
            if needsRead { return }
        }

        if source.size != canvas.size { adoptSize() }
        if needsRead {
            guard let after = try updateCanvas(since: now) else { return }
            now = after
        }
        // A request that came during the read belongs to this frame.
        let control = controls.with { $0 }
        guard control.isCapturing, !control.isStopped else { return }
        work(main, control.main, now)
        if let low { work(low, control.low, clock()) }
    }

    /// Makes the encoding of a low bitrate as it is wanted.
    func updateLow(_ control: EncoderControls) {
        if control.low.isWanted, low == nil {
            low = VideoEncoding(.low, main.encoder.makeAnother(), canvas.size, main.schedule.another)
        } else if !control.low.isWanted {
            low = nil
        }
    }

    /// When the next frame is due; nil if only new damage or a new request makes one due.
    func nextWork(_ control: EncoderControls) -> MediaInstant? {
        earlier(nextWork(main, control.main), low.flatMap { nextWork($0, control.low) })
    }

    /// Reads what is damaged.
    /// - Parameter begin: when the work on this frame began.
    /// - Returns: the time afterwards; nil if the screen has another size now, which is adopted.
    func updateCanvas(since begin: MediaInstant) throws(SourceFailure) -> MediaInstant? {
        let hasNews = try read()
        needsRead = false
        guard source.size == canvas.size else {
            adoptSize()
            return nil
        }
        if hasNews { lastChange = captured }
        let end = clock()
        counters.with { $0.readNanoseconds += (end - begin).nanoseconds }
        return end
    }

    /// Brings the canvas up to date.
    /// - Returns: whether any block has changed.
    private func read() throws(SourceFailure) -> Bool {
        let damage = damagedSince ?? clock()
        damagedSince = nil
        guard let low else {
            captured = try source.read(into: canvas, changed: &main.changed)
            guard !main.changed.isEmpty else { return false }
            main.note(changeAt: damage)
            return true
        }
        if fresh.size != canvas.size { fresh = BlockMap(canvas.size) }
        fresh.clear()
        captured = try source.read(into: canvas, changed: &fresh)
        guard !fresh.isEmpty else { return false }
        main.note(fresh, since: damage)
        low.note(fresh, since: damage)
        return true
    }

    func sleep(until deadline: MediaInstant, _ control: EncoderControls) throws(SourceFailure) {
        if needsRead {
            // A read is pending but not due yet, so further damage needs no wake-up.
            _ = controls.wait(until: deadline) { $0.generation != control.generation ? () : nil }
            return
        }
        switch try source.wait(until: deadline == .distantFuture ? nil : deadline) {
        case .damaged:
            needsRead = true
            damagedSince = damagedSince ?? clock()
        case .resized: adoptSize()
        case .woken: break
        }
    }

    func adoptSize() {
        dropFirstFrame()
        canvas = I420Buffer(source.size)
        captured = MediaInstant(nanoseconds: 0)
        main.restart(source.size)
        low?.restart(source.size)
        source.damageEverything()
        needsRead = true
    }
}
