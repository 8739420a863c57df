/// Why `ScreenSource.wait` returned.
public enum ScreenEvent: Equatable, Sendable {
    /// Pixels changed; `read` gets them.
    case damaged
    /// The size changed. Everything is damaged, and the next `read` needs a canvas of the new size.
    case resized(PixelSize)
    /// The deadline passed, or `wake` was called.
    case woken
}

/// Why a source delivers nothing. `message` is a sentence for people; `remedy` says what to do about it.
public struct SourceFailure: Error, Equatable, Sendable {
    public enum Code: Equatable, Sendable {
        case noDisplay, displayGone, notPermitted, unsupported, noAudioServer, noSuchDevice, deviceGone
    }
    public var code: Code
    public var message: String
    public var remedy: String

    public init(_ code: Code, _ message: String, remedy: String = "") {
        self.code = code
        self.message = message
        self.remedy = remedy
    }
}

/// A source of captured frames: a screen, a window, a test pattern.
///
/// Confined to one thread (the video thread), which may differ from the one that made it; only `wake` may be called
/// from any thread. Sources do not poll, so a still screen causes no wake-ups.
public protocol ScreenSource: AnyObject {
    /// The frame size in pixels, even on both sides.
    var size: PixelSize { get }

    /// A description for people: "display :0, 1920 x 1080".
    var summary: String { get }

    /// The limitations of this system, each as a sentence for people; empty if there are none.
    var limitations: [String] { get }

    /// Blocks until something is damaged, the size changes, the deadline passes or `wake` is called.
    /// - Parameter deadline: nil for none.
    func wait(until deadline: MediaInstant?) throws(SourceFailure) -> ScreenEvent

    /// Brings the canvas up to date.
    /// - Parameters:
    ///   - canvas: the same one at each call until the size changes; it holds the frame as last read.
    ///   - changed: gets the blocks whose pixels changed; blocks already in it stay.
    /// - Returns: the instant at which the pixels were captured.
    func read(into canvas: I420Buffer, changed: inout BlockMap) throws(SourceFailure) -> MediaInstant

    /// Marks everything as damaged, so that the next `read` reads all pixels, as after the canvas was replaced.
    func damageEverything()

    /// Ends a `wait` at once; if there is none, the next one. May be called from any thread.
    func wake()

    /// Stops listening for damage while there are no viewers, so that nothing wakes or queues up. `wait` and `read` are
    /// not called until `resume`.
    func suspend()

    /// Waits between `suspend` and `resume`, until `wake` is called. Signals before it are kept.
    /// - Returns: false at once if the source has no connection that could break; the caller waits for itself then.
    /// - Throws: the connection to the screen is lost.
    func waitSuspended() throws(SourceFailure) -> Bool

    /// Listens for damage again; everything counts as damaged.
    func resume()

    func close()
}

extension ScreenSource {
    public func suspend() {}
    public func waitSuspended() throws(SourceFailure) -> Bool { false }
    public func resume() {}
}
