internal import Glibc
internal import LinuxRuntime
package import MediaCore

/// The pictures of one camera out of two, in the size and the form in which they are shown. A camera is open only while
/// somebody wants pictures. What is lost is looked for until it is back.
///
/// Safe from any thread; a thread of its own, `camera`, reads the camera.
package final class CameraFeed: Sendable {
    package enum Position: String, Codable, Sendable, CaseIterable {
        case front
        case back
    }

    package struct Settings: Equatable, Sendable {
        package var isEnabled = true
        package var position = Position.front
        /// Left and right exchanged, as in a mirror. Who watches reads writing only without.
        package var isMirrored = false
        package var place = OverlayPlace.bottomRight
        package var size = OverlaySize.standard

        package init() {}
    }

    /// Which cameras are meant.
    package struct Choice: Sendable {
        package var front: CaptureSource.Camera
        /// nil: the first one that is not the front one.
        package var back: CaptureSource.Camera?

        package init(front: CaptureSource.Camera = .number(0), back: CaptureSource.Camera? = nil) {
            self.front = front
            self.back = back
        }
    }

    /// What the camera does now.
    package struct Status: Equatable, Sendable {
        package var settings: Settings
        /// The camera that delivers, for people; nil if none does.
        package var name: String?
        /// Its size in pixels.
        package var size: PixelSize?
        /// Why none delivers, in a sentence; nil if nothing is wrong.
        package var failure: SourceFailure?
    }

    /// What happens to a camera.
    package struct News: Sendable {
        /// For the user.
        package var sentence: String
        /// The camera is missing, has gone or cannot be used; false when it is in the picture again.
        package var isLoss: Bool
    }

    /// Called on the camera's thread.
    package typealias Report = @Sendable (News) -> Void

    private struct State {
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

    private struct Watcher {
        var isActive = true
        var wake: @Sendable () -> Void
    }

    /// What the camera's thread is to do.
    struct Wish {
        var isClosed: Bool
        var isWanted: Bool
        var settings: Settings
        var frame: PixelSize?
        var choice: Choice
        var search: CameraSearch
    }

    let converter: any CameraConverter
    let report: Report
    let wakeup: Wakeup
    /// The picture is as large as the camera's, instead of a part of a frame.
    package let isWhole: Bool
    private let state: Monitor<State>
    private let thread = Monitor<NamedThread?>(nil)

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
        let ending = thread.with { thread in
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

    /// Changes what is shown and where; at once, except for another camera, which replaces the picture when it delivers.
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
        let failed = thread.with { thread in
            guard thread == nil, state.with({ $0.isWanted }) else { return false }
            thread = try? NamedThread.start("camera") { [self] in CameraReader(self).run() }
            return thread == nil
        }
        if failed { fail(SourceFailure(.unsupported, "no thread is left for the camera")) }
    }

    // MARK: The picture

    /// Grows with every change of the picture or the settings; `hasPicture`: there is one to show.
    var now: (serial: UInt64, hasPicture: Bool) { state.with { ($0.serial, $0.picture != nil) } }

    /// Calls `body` with the picture, or nil if there is none to show; the picture is lent for the call.
    func withPicture<R>(_ body: (I420Buffer?, Settings, _ serial: UInt64, _ captured: MediaInstant) -> R) -> R {
        state.with { body($0.picture, $0.settings, $0.serial, $0.captured) }
    }

    /// Waits for the first picture.
    /// - Throws: why there is none.
    func waitForPicture(within patience: MediaDuration) throws(SourceFailure) -> PixelSize {
        let result = state.wait(until: MonotonicClock.now + patience) { state -> Result<PixelSize, SourceFailure>? in
            if let picture = state.picture { return .success(picture.size) }
            return state.failure.map { .failure($0) }
        }
        guard let result else { throw SourceFailure(.noSuchDevice, "the camera delivers no picture") }
        return try result.get()
    }

    // MARK: The camera's thread

    var wish: Wish {
        state.with { state in
            Wish(
                isClosed: state.isClosed, isWanted: state.isWanted, settings: state.settings, frame: state.frame,
                choice: state.choice, search: state.search)
        }
    }

    /// Exchanges the picture for the next one.
    /// - Parameter buffer: gets the old one, to be used again.
    func publish(_ buffer: inout I420Buffer?, of camera: CameraDevice, _ size: PixelSize, _ captured: MediaInstant) {
        state.change { state in
            guard state.settings.isEnabled else { return }
            swap(&state.picture, &buffer)
            state.serial += 1
            state.captured = captured
            state.name = camera.name
            state.size = size
            state.failure = nil
        }
        wakeWatchers()
    }

    /// Takes the picture away.
    /// - Parameter failure: why; nil if nobody wants it.
    func clear(_ failure: SourceFailure?) {
        let isNew = state.change { state in
            (state.name, state.size) = (nil, nil)
            state.failure = failure
            // A whole picture stays as it was.
            guard state.picture != nil, !isWhole else { return false }
            state.picture = nil
            state.serial += 1
            return true
        }
        if isNew { wakeWatchers() }
    }

    func fail(_ failure: SourceFailure) { state.change { $0.failure = failure } }

    private func wakeWatchers() {
        for watcher in state.with({ $0.watchers.values.filter(\.isActive) }) { watcher.wake() }
    }
}
