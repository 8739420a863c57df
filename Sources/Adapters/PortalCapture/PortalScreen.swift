internal import FrameDifference
package import LinuxRuntime
package import MediaCore

/// Captures what the desktop grants through its portal: a monitor or a window of a Wayland session. The frames come
/// over PipeWire, in shared memory or in DMA-BUFs that can be mapped.
///
/// Only blocks that the compositor reports as damaged and that really differ are converted. The cursor comes as
/// metadata and is drawn in. When the source is lost, the last frame stays, and the source is asked for again.
///
/// - Isolation: one thread at a time; `wake` from any thread.
package final class PortalScreen: ScreenSource {
    /// Tells the user of what happens to the source, in a sentence. Called on the capturing thread.
    package typealias Report = @Sendable (String) -> Void

    package enum Cursor: Sendable {
        case shown
        /// The desktop is asked for frames without it.
        case hidden
        /// Shown until 2 s after its last motion; always, if the desktop draws it into the frames.
        case shownWhileMoving
    }

    private let cast: any ScreenCast
    let report: Report
    let wakeup: Wakeup
    /// The first one. Its descriptor is the stream's.
    package let grant: ScreenCastGrant
    /// nil while there is no source.
    private(set) var stream: ReceivedStream?
    private(set) var recovery: SourceRecovery

    private var picture: CapturedPicture
    private var cursor: PortalCursor
    private var pending: PendingFrame
    private var hasPicture = false
    private var isSuspended = false
    private var isClosed = false
    private var hasReportedNonsense = false
    private var layout: FrameLayout?
    /// Puts viewers' input into the desktop; nil: that was not asked for.
    package let input: PortalInput?

    package var size: PixelSize { picture.size }

    /// How long PipeWire may take for the format and then for the first frame. A screen that does not change need not
    /// send one.
    private static let (formatPatience, framePatience) = (MediaDuration.seconds(10), MediaDuration.seconds(2))

    /// Asks the desktop, and waits for the answer and the size.
    /// - Parameters:
    ///   - input: of `cast`; learns of the grants.
    ///   - hasPipeWire: whether PipeWire runs, before the desktop is asked to restore a lost source.
    /// - Throws: `.noDisplay` if the session has no portal, `.notPermitted` if it was refused or dismissed,
    ///   `.unsupported`.
    package init(
        _ cast: any ScreenCast, converter: any PixelConverter,
        cursor cursorMode: Cursor = .shown, input: PortalInput? = nil,
        hasPipeWire: @escaping @Sendable () -> Bool = { PipeWireServer.answers }, report: @escaping Report
    ) throws(SourceFailure) {
        wakeup = try Wakeup.forSource()
        self.cast = cast
        cursor = PortalCursor(mode: cursorMode)
        self.report = report
        self.input = input
        recovery = SourceRecovery(cast, wakeup, hasPipeWire)
        let least = PixelSize(width: 2, height: 2)
        picture = CapturedPicture(least, converter)
        pending = PendingFrame(least)
        cast.onEnd { [wakeup] in wakeup.signal() }
        do throws(SourceFailure) {
            grant = try cast.open(usesRestoring: true)
            input?.begin(grant)
            let stream = try ReceivedStream(descriptor: grant.descriptor, node: grant.node)
            self.stream = stream
            try Self.wait(for: stream, wakeup)
            let deadline = MonotonicClock.now + Self.framePatience
            repeat { receive() } while !hasPicture && waitForStream(until: deadline)
            if let failure = stream.failure { throw Self.undelivered(failure) }
        } catch {
            cast.close()
            throw error
        }
        // What will come has that size, unless it is cropped.
        if !hasPicture, let size = stream?.format?.size.even, size.width > 0, size.height > 0 { adopt(size) }
        pending.isResized = false
        input?.showFrame(of: size)
    }

    deinit { close() }

    package var summary: String {
        let what =
            switch grant.kind {
            case .monitor: "a monitor"
            case .window: "a window"
            case .other: "a screen"
            }
        return "\(what) that the desktop portal grants, \(size.width) x \(size.height)"
    }

    package var limitations: [String] {
        layout?.size.width == FrameLayout.largestSide || layout?.size.height == FrameLayout.largestSide
            ? ["A side of more than \(FrameLayout.largestSide) pixels is cut off there: VP8 takes no more."] : []
    }

    package func wait(until deadline: MediaInstant?) throws(SourceFailure) -> ScreenEvent {
        while true {
            let timer = update()
            if pending.isResized {
                pending.isResized = false
                return .resized(size)
            }
            if pending.hasWork { return .damaged }
            // The end of the grant, and an answer of the portal, wake too.
            if wakeup.consume() { return .woken }
            let now = MonotonicClock.now
            if let deadline, now >= deadline { return .woken }
            wakeup.wait(
                or: stream?.descriptor ?? -1, until: timer.map { min($0, deadline ?? $0) } ?? deadline)
        }
    }

    package func read(into canvas: I420Buffer, changed: inout BlockMap) throws(SourceFailure) -> MediaInstant {
        _ = update()
        if pending.isResized && canvas.size != size { return MonotonicClock.now }
        precondition(canvas.size == size && changed.size == size, "canvas of \(canvas.size), screen of \(size)")
        pending.isResized = false
        var instant = MonotonicClock.now
        if let frame = stream?.held, frame.layout.size == size {
            instant = frame.arrived
            if pending.isForced { pending.blocks.fill() }
            let isCopied = picture.copy(
                pending.blocks, of: frame, isForced: pending.isForced, to: canvas, changed: &changed)
            if !isCopied { pending.isContinuous = false }
        } else if pending.isForced {
            pending.isContinuous = false
            picture.copy(to: canvas)
            changed.fill()
        }
        // The buffer of a picture that was not read is gone if the format was negotiated anew.
        if pending.isPictureNew, stream?.held == nil { pending.isContinuous = false }
        stream?.release()
        if pending.isForced { cursor.layer.forget() }
        pending.clear()
        picture.draw(cursor.layer, on: canvas, changed: &changed)
        return instant
    }

    package func damageEverything() { pending.isForced = true }

    package func wake() { wakeup.signal() }

    package func suspend() {
        isSuspended = true
        // A compositor need not send a screen again that does not change.
        if pending.isPictureNew, let frame = stream?.held, frame.layout.size == size, picture.keep(frame) {
            // The canvas has none of it.
            pending.isForced = true
        }
        stream?.release()
        stream?.setActive(false)
        pending.isPictureNew = false
    }

    package func resume() {
        isSuspended = false
        // The next frame is compared as a whole, as damage is not told meanwhile.
        pending.isContinuous = false
        stream?.setActive(true)
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        recovery.abandon()
        input?.end()
        stream?.close()
        stream = nil
        cast.close()
    }

    var isDMABuf: Bool { picture.isDMABuf }

    // MARK: The stream

    private static func wait(for stream: ReceivedStream, _ wakeup: Wakeup) throws(SourceFailure) {
        let deadline = MonotonicClock.now + formatPatience
        while stream.format == nil {
            stream.receive { _ in }
            if let failure = stream.failure { throw undelivered(failure) }
            guard stream.format == nil else { return }
            guard MonotonicClock.now < deadline else {
                throw SourceFailure(
                    .unsupported, "PipeWire does not deliver the screen: no format was agreed on in time",
                    remedy: "Look whether the service wireplumber of your user runs; share takes BGRx, BGRA, RGBx and "
                        + "RGBA in shared memory or linear DMA-BUFs.")
            }
            wakeup.wait(or: stream.descriptor, until: deadline)
            wakeup.consume()
        }
    }

    private static func undelivered(_ failure: ReceivedStream.Failure) -> SourceFailure {
        SourceFailure(
            .unsupported, "PipeWire does not deliver the screen: \(failure.why)",
            remedy: "Look whether the services pipewire and wireplumber of your user run.")
    }

    /// - Returns: false if the deadline has passed, or the stream has failed.
    private func waitForStream(until deadline: MediaInstant) -> Bool {
        guard let stream, stream.failure == nil, MonotonicClock.now < deadline else { return false }
        wakeup.wait(or: stream.descriptor, until: deadline)
        wakeup.consume()
        return true
    }

    /// Takes what has come, and brings a lost source back.
    /// - Returns: when to look again at the latest; nil if it is enough to do so when something wakes.
    private func update() -> MediaInstant? {
        guard !isClosed else { return nil }
        // Before what has come is taken: to begin again handles PipeWire's messages, of which its descriptor tells
        // once.
        stream?.begin(at: MonotonicClock.now)
        receive()
        if cursor.hide(at: MonotonicClock.now) { pending.isCursorNew = true }
        if let stream {
            let loss = SourceRecovery.Loss(
                why: stream.failure?.why, isConnectionLost: stream.failure?.isConnection ?? false,
                isEnded: cast.isEnded)
            if loss.why != nil || loss.isEnded { input?.end() }
            guard let verdict = recovery.take(loss) else {
                return [recovery.timer, stream.frameDue, cursor.hides].compactMap(\.self).min()
            }
            stream.close()
            self.stream = nil
            report(verdict)
        }
        switch recovery.proceed() {
        case .none: break
        case .news(let sentence): report(sentence)
        case .source(let stream, let grant):
            self.stream = stream
            input?.begin(grant)
            pending.isContinuous = false
            hasReportedNonsense = false
            if isSuspended { stream.setActive(false) }
            report("the screen is shared again")
            receive()
        }
        return [recovery.timer, cursor.hides].compactMap(\.self).min()
    }

    private func receive() { stream?.receive { take($0) } }

    private func take(_ buffer: ReceivedBuffer) {
        switch buffer.content {
        case .none: break
        case .impossible:
            pending.isContinuous = false
            if !hasReportedNonsense {
                hasReportedNonsense = true
                report("frames of the compositor that are too small or contradict themselves are left out")
            }
        case .picture(let new): take(new, buffer)
        }
        guard cursor.mode != .hidden || input != nil, let news = buffer.cursor else { return }
        let origin = (x: layout?.area.x ?? 0, y: layout?.area.y ?? 0)
        // Those of a picture that is turned are not where the pointer is.
        if news.isVisible, layout?.transform ?? 0 == 0 {
            input?.showPointer(x: news.x - origin.x, y: news.y - origin.y)
        }
        guard cursor.mode != .hidden else { return }
        if cursor.take(news, origin: origin, at: MonotonicClock.now) { pending.isCursorNew = true }
    }

    private func take(_ new: FrameLayout, _ buffer: ReceivedBuffer) {
        if new.size != size || !hasPicture { adopt(new.size) }
        if new.area != layout?.area || new.transform != layout?.transform { pending.isContinuous = false }
        layout = new
        input?.showFrame(of: new.size)
        let isTold = buffer.forEachDamage { rect in
            var rect = rect
            rect.x -= new.area.x
            rect.y -= new.area.y
            pending.blocks.insert(rect)
        }
        if !isTold || !pending.isContinuous || new.transform != 0 { pending.blocks.fill() }
        pending.isContinuous = true
        pending.isPictureNew = true
    }

    private func adopt(_ size: PixelSize) {
        hasPicture = true
        guard size != self.size else { return }
        picture = CapturedPicture(size, picture.converter)
        pending = PendingFrame(size, isPictureNew: pending.isPictureNew, isCursorNew: pending.isCursorNew)
        cursor.layer.forget()
        pending.isResized = true
    }
}
