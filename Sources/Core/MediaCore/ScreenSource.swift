/// What wakes the video thread.
public enum ScreenEvent: Equatable, Sendable {
    /// Something changed; `read` will find it.
    case damaged
    /// The picture has another size now. Everything is damaged; the next `read` needs a canvas of that size.
    case resized(PixelSize)
    /// The deadline passed, or `wake` was called.
    case woken
}

/// Why there are no pictures. `message` is a sentence for a person; `remedy` says what to do about it.
public struct SourceFailure: Error, Equatable, Sendable {
    public enum Code: Equatable, Sendable {
        case noDisplay, displayGone, notPermitted, unsupported, noSoundServer, noSuchDevice, deviceGone
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

/// Something that shows pictures: a screen, a window, a test pattern.
///
/// Confined to one thread (the video thread), which may differ from the one that made it; only `wake` may be called from
/// any thread. Nothing polls: a picture that rests costs nothing.
public protocol ScreenSource: AnyObject {
    /// The picture's size in pixels, even on both sides.
    var size: PixelSize { get }

    /// What is captured, in words: "display :0, 1920 x 1080".
    var summary: String { get }

    /// What is slower or missing here, each as a sentence for the person; empty if all is well.
    var limitations: [String] { get }

    /// Sleeps until something is damaged, the size changes, the deadline passes or `wake` is called.
    /// - Parameter deadline: nil sleeps as long as it takes.
    func wait(until deadline: MediaInstant?) throws(SourceFailure) -> ScreenEvent

    /// Brings the canvas up to date.
    /// - Parameters:
    ///   - canvas: the same one at each call until the size changes; what it holds is the picture as read before.
    ///   - changed: gets the blocks whose pixels are different now; blocks already in it stay.
    /// - Returns: the moment that the pixels belong to.
    func read(into canvas: I420Buffer, changed: inout BlockMap) throws(SourceFailure) -> MediaInstant

    /// Makes the next `read` read everything, as after the canvas was replaced.
    func damageEverything()

    /// Ends a `wait` at once; if there is none, the next. From any thread.
    func wake()

    /// Nobody watches: stop listening for damage, so that nothing wakes or queues up. `wait` and `read` are not called until
    /// `resume`.
    func suspend()

    /// Listen again; everything counts as damaged.
    func resume()

    func close()
}

extension ScreenSource {
    public func suspend() {}
    public func resume() {}
}
