internal import LinuxRuntime
package import MediaCore

/// A screen with the picture of a camera in it.
///
/// While a picture is shown, the screen is read into a canvas of its own, so that what the picture covers is there when
/// it moves or goes. Without a picture the screen is read as if the camera did not exist. Only blocks that really
/// differ are reported as changed.
///
/// - Isolation: one thread at a time; `wake` from any thread. The feed is used by any.
// SAFETY: `wake` passes to the screen, where it may be called from any thread; all else belongs to the capturing
// thread.
package final class CameraOverlay: ScreenSource, @unchecked Sendable {
    private let screen: any ScreenSource
    private let feed: CameraFeed
    private let ownsFeed: Bool
    private var watcher: Int?
    /// The screen without the picture; nil while none is shown, as it is the canvas then.
    private var below: I420Buffer?
    private var fresh = BlockMap(PixelSize(width: 0, height: 0))
    /// Where the picture is in the canvas.
    private var shown: PixelRect?
    /// Of the picture in the canvas.
    private var serial: UInt64 = 0
    private var isClosed = false

    /// - Parameter ownsFeed: the feed is closed with the screen.
    package init(_ screen: any ScreenSource, _ feed: CameraFeed, ownsFeed: Bool = true) {
        self.screen = screen
        self.feed = feed
        self.ownsFeed = ownsFeed
        // SAFETY: `wake` may be called from any thread.
        nonisolated(unsafe) let waking = screen
        feed.setFrame(screen.size)
        watcher = feed.add { waking.wake() }
    }

    deinit { close() }

    package var size: PixelSize { screen.size }

    package var summary: String { screen.summary }

    package var limitations: [String] { screen.limitations }

    package func wait(until deadline: MediaInstant?) throws(SourceFailure) -> ScreenEvent {
        if hasNews { return .damaged }
        switch try screen.wait(until: deadline) {
        case .damaged: return .damaged
        case .resized(let size):
            feed.setFrame(size)
            return .resized(size)
        case .woken: return hasNews ? .damaged : .woken
        }
    }

    /// Whether the canvas has to show something else of the camera.
    private var hasNews: Bool {
        let now = feed.now
        return now.serial != serial && (now.hasPicture || shown != nil)
    }

    package func read(into canvas: I420Buffer, changed: inout BlockMap) throws(SourceFailure) -> MediaInstant {
        if below?.size != canvas.size { (below, shown) = (nil, nil) }
        let instant: MediaInstant
        if let below {
            if fresh.size != canvas.size { fresh = BlockMap(canvas.size) }
            fresh.clear()
            instant = try screen.read(into: below, changed: &fresh)
        } else {
            instant = try screen.read(into: canvas, changed: &changed)
        }
        // A screen that has another size now is read again into a canvas of that size.
        guard screen.size == canvas.size else { return instant }
        feed.setFrame(canvas.size)
        let captured = feed.withPicture { picture, settings, serial, captured in
            let isNew = serial != self.serial
            self.serial = serial
            show(picture, settings.place, on: canvas, &changed, isNew: isNew)
            return isNew && picture != nil ? captured : nil
        }
        return max(instant, captured ?? instant)
    }

    package func damageEverything() {
        screen.damageEverything()
        // What is read next fills all of the canvas.
        (below, shown) = (nil, nil)
        serial = 0
    }

    package func wake() { screen.wake() }

    package func suspend() {
        if let watcher { feed.setActive(false, watcher) }
        screen.suspend()
    }

    package func waitSuspended() throws(SourceFailure) -> Bool { try screen.waitSuspended() }

    package func resume() {
        screen.resume()
        if let watcher { feed.setActive(true, watcher) }
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        if let watcher { feed.remove(watcher) }
        if ownsFeed { feed.close() }
        screen.close()
    }

    // MARK: Composition

    private func show(
        _ picture: I420Buffer?, _ place: OverlayPlace, on canvas: I420Buffer, _ changed: inout BlockMap, isNew: Bool
    ) {
        let rect = picture.flatMap { place.rect(of: $0.size, in: canvas.size) }
        if let below {
            // The screen's own changes, around the picture.
            copyFresh(from: below, to: canvas, &changed)
            if let shown, shown != rect { BlockCopy.copy(below, from: shown, to: canvas, at: shown, &changed) }
        }
        guard let rect, let picture else {
            (below, shown) = (nil, nil)
            return
        }
        if below == nil {
            let copy = I420Buffer(canvas.size)
            canvas.copyAll(to: copy)
            below = copy
        }
        guard isNew || shown != rect else { return }
        BlockCopy.copy(
            picture, from: PixelRect(picture.size), to: canvas, at: rect, isTolerant: shown == rect, &changed)
        shown = rect
    }

    /// Copies the changed blocks of the screen, except for what the picture covers.
    private func copyFresh(from below: I420Buffer, to canvas: I420Buffer, _ changed: inout BlockMap) {
        let side = BlockMap.side
        for row in 0..<fresh.rows {
            var column = 0
            while column < fresh.columns {
                let first = column
                while column < fresh.columns, fresh.blocks[row * fresh.columns + column] != 0 { column += 1 }
                guard column > first else {
                    column += 1
                    continue
                }
                let run = PixelRect(x: first * side, y: row * side, width: (column - first) * side, height: side)
                    .clipped(to: canvas.size)
                for part in run.parts(outside: shown) {
                    BlockCopy.copyRows(below, part, to: canvas, at: part)
                    changed.insert(part)
                }
            }
        }
    }
}

extension PixelRect {
    /// The area of this rectangle that the other one does not cover, in up to four parts.
    func parts(outside covered: PixelRect?) -> [PixelRect] {
        guard let covered, covered.x < maxX, covered.maxX > x, covered.y < maxY, covered.maxY > y else { return [self] }
        let (top, bottom) = (max(covered.y, y), min(covered.maxY, maxY))
        let parts = [
            PixelRect(x: x, y: y, width: width, height: top - y),
            PixelRect(x: x, y: bottom, width: width, height: maxY - bottom),
            PixelRect(x: x, y: top, width: covered.x - x, height: bottom - top),
            PixelRect(x: covered.maxX, y: top, width: maxX - covered.maxX, height: bottom - top),
        ]
        return parts.filter { !$0.isEmpty }
    }
}

extension I420Buffer {
    /// Copies every pixel to a buffer of the same size.
    fileprivate func copyAll(to other: I420Buffer) {
        other.y.update(from: y, count: strideY * size.height)
        other.u.update(from: u, count: strideC * (size.height / 2))
        other.v.update(from: v, count: strideC * (size.height / 2))
    }
}
