internal import Glibc
internal import LinuxRuntime
package import MediaCore
import Synchronization

/// The pictures of one camera out of two, in the size and the form in which they are shown. A camera is open only while
/// somebody wants pictures. What is lost is looked for until it is back.
///
/// Safe from any thread; a thread of its own, `camera`, reads the camera.
package final class CameraFeed: Sendable {
    struct State {
        var settings: Settings
        var frame: PixelSize?
        var watchers: [Int: Watcher] = [:]
        var nextWatcher = 0
        var isClosed = false
        var picture: I420Buffer?
        var serial: UInt64 = 1
        var captured = MediaInstant(nanoseconds: 0)
        var name: String?
        var size: PixelSize?
        var failure: SourceFailure?
        var choice: Choice
        var search: CameraSearch

        /// Whether the camera is to be open.
        var isWanted: Bool { settings.isEnabled && !isClosed && watchers.values.contains { $0.isActive } }
    }

    struct Watcher {
        var isActive = true
        var wake: @Sendable () -> Void
    }

    let converter: any CameraConverter
    let report: Report
    let wakeup: Wakeup
    /// The picture is as large as the camera's, instead of a part of a frame.
    package let isWhole: Bool
    let state: Monitor<State>
    private let thread = Mutex<NamedThread?>(nil)

    /// Opens nothing yet.
    /// - Parameter isWhole: the camera's own size is kept, and `Settings.size` does not count.
    package init(
        _ choice: Choice, settings: Settings = Settings(), isWhole: Bool = false, search: CameraSearch = CameraSearch(),
        converter: any CameraConverter, report: @escaping Report
    ) throws(SourceFailure) {
        wakeup = try Wakeup.forSource()
        self.converter = converter
        self.report = report
        self.isWhole = isWhole
        state = Monitor(State(settings: settings, choice: choice, search: search))
    }

    /// Closes the camera, for good. Blocks until it is closed.
    package func close() {
        state.change { $0.isClosed = true }
        wakeup.signal()
        let ending = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        ending?.join()
    }

    // MARK: What is wanted

    /// Names the cameras anew. A camera that is open stays until the position changes.
    /// - Parameter search: nil: as before.
    package func choose(_ choice: Choice, in search: CameraSearch? = nil) {
        state.change { state in
            state.choice = choice
            if let search { state.search = search }
        }
        wakeup.signal()
    }

    /// The cameras that could be shown now.
    package func available() throws(SourceFailure) -> [CameraDevice] { try state.with { $0.search }.find() }

    package var settings: Settings { state.with { $0.settings } }

    package var status: Status {
        state.with { Status(settings: $0.settings, name: $0.name, size: $0.size, failure: $0.failure) }
    }

    /// Changes what is shown and where; at once, except for another camera, which replaces the picture when it
    /// delivers.
    /// - Returns: whether anything differs.
    @discardableResult
    package func change(_ body: (inout Settings) -> Void) -> Bool {
        let isNew = state.change { state in
            let old = state.settings
            body(&state.settings)
            guard state.settings != old else { return false }
            if !state.settings.isEnabled { state.picture = nil }
            state.serial += 1
            return true
        }
        if isNew {
            startIfWanted()
            wakeup.signal()
            wakeWatchers()
        }
        return isNew
    }

    /// The size of the frame that the picture becomes a part of.
    func setFrame(_ size: PixelSize) {
        let isNew = state.change { state in
            defer { state.frame = size }
            return state.frame != size
        }
        if isNew { wakeup.signal() }
    }

    /// Adds somebody who wants pictures.
    /// - Parameter wake: called on any thread when `serial` has grown.
    /// - Returns: a number for the other calls.
    func add(wake: @escaping @Sendable () -> Void) -> Int {
        let id = state.change { state in
            defer { state.nextWatcher += 1 }
            state.watchers[state.nextWatcher] = Watcher(wake: wake)
            return state.nextWatcher
        }
        startIfWanted()
        wakeup.signal()
        return id
    }

    func setActive(_ isActive: Bool, _ watcher: Int) {
        state.change { $0.watchers[watcher]?.isActive = isActive }
        startIfWanted()
        wakeup.signal()
    }

    func remove(_ watcher: Int) {
        state.change { $0.watchers[watcher] = nil }
        wakeup.signal()
    }

    /// A feed that nobody has wanted yet has no thread.
    private func startIfWanted() {
        let failed = thread.withLock { thread in
            guard thread == nil, state.with({ $0.isWanted }) else { return false }
            thread = try? NamedThread.start("camera") { [self] in CameraReader(self).run() }
            return thread == nil
        }
        if failed { fail(SourceFailure(.unsupported, "no thread is left for the camera")) }
    }
}
