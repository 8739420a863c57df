internal import LinuxRuntime
package import MediaCore

/// A camera as the whole picture. When it is lost, its last picture stays until it is back.
///
/// - Isolation: one thread at a time; `wake` from any thread.
package final class CameraScreen: ScreenSource {
    private struct Signals {
        var isWoken = false
    }

    private let feed: CameraFeed
    private let signals = Monitor(Signals())
    private var watcher: Int?
    /// Of the picture that `read` has taken.
    private var serial: UInt64 = 0
    private var isForced = true
    private var isClosed = false
    package private(set) var size: PixelSize
    private let name: String

    /// How long a camera may take to start, with the search for it.
    private static let patience = MediaDuration.seconds(12)

    /// Opens the camera, and waits for its first picture.
    /// - Parameter feed: a whole one; it is closed with the value, also if this throws.
    /// - Throws: `.noSuchDevice`, `.unsupported`, `.notPermitted`.
    package init(_ feed: CameraFeed) throws(SourceFailure) {
        precondition(feed.isWhole, "a camera as the whole picture keeps its own size")
        self.feed = feed
        let signals = signals
        watcher = feed.add { signals.change { _ in } }
        do throws(SourceFailure) {
            size = try feed.waitForPicture(within: Self.patience)
            name = feed.status.name ?? "camera"
        } catch {
            feed.close()
            throw error
        }
    }

    deinit { close() }

    package var summary: String { "the camera \(name), \(size.width) x \(size.height)" }

    package var limitations: [String] { [] }

    package func wait(until deadline: MediaInstant?) -> ScreenEvent {
        let event = signals.wait(until: deadline ?? .distantFuture) { signals -> ScreenEvent? in
            if signals.isWoken {
                signals.isWoken = false
                return .woken
            }
            let (new, size) = feed.withPicture { picture, _, serial, _ in (serial, picture?.size) }
            guard let size, isForced || new != serial else { return nil }
            return size == self.size ? .damaged : .resized(size)
        }
        if case .resized(let new) = event {
            size = new
            isForced = true
        }
        return event ?? .woken
    }

    package func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        feed.withPicture { picture, _, serial, captured in
            // Another size is reported by the next `wait`.
            guard let picture, picture.size == canvas.size else { return MonotonicClock.now }
            self.serial = serial
            BlockCopy.copy(
                picture, from: PixelRect(picture.size), to: canvas, at: PixelRect(canvas.size), isTolerant: !isForced,
                &changed)
            if isForced { changed.fill() }
            isForced = false
            return captured
        }
    }

    package func damageEverything() { isForced = true }

    package func wake() { signals.change { $0.isWoken = true } }

    package func suspend() { if let watcher { feed.setActive(false, watcher) } }

    package func resume() {
        if let watcher { feed.setActive(true, watcher) }
        isForced = true
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        feed.close()
    }
}
