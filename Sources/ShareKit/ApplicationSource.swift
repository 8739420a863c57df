internal import Admission
internal import Host
internal import InAppCapture
internal import LinuxRuntime
internal import MediaCore
internal import PixelConversion
import Synchronization

/// What an app shows of itself: the frames and the audio that it hands in, and nothing else on the display.
///
/// One source feeds any number of outputs at once: a ``ScreenRecorder``, a ``PeerBroadcast``, a
/// ``BroadcastController``. Each reads what has changed since it last read, at its own speed. Frames may be handed in
/// at any time; without an output they cost a copy.
public final class ApplicationSource: Sendable {
    /// A part of a frame, in pixels from the upper left corner.
    public struct Rectangle: Hashable, Sendable {
        /// The left edge, in pixels from the left of the frame.
        public var x: Int
        /// The upper edge, in pixels from the top of the frame.
        public var y: Int
        /// In pixels. A negative value counts as 0.
        public var width: Int
        /// In pixels. A negative value counts as 0.
        public var height: Int

        /// Makes a rectangle from its upper left corner and its size. What lies outside of the frame is ignored.
        public init(x: Int, y: Int, width: Int, height: Int) {
            self.x = x
            self.y = y
            self.width = width
            self.height = height
        }
    }

    /// The app's name, which viewers see.
    public let name: String
    let icon: PNGIcon?
    let surface: InAppSurface
    let audio: InAppAudio?
    let camera: SourceCamera
    /// Whether a recorder captures. One does at a time.
    private let isClaimed = Mutex(false)
    private let captured = StateChanges(false)
    let hidden = StateChanges(false)

    /// Makes a source. It has no frame until the app hands in the first one.
    /// - Parameters:
    ///   - name: the app's name, which viewers and services see.
    ///   - width: of the first frame in pixels, 2...8,192, as `height`; later frames may have another size.
    ///   - height: of the first frame in pixels.
    ///   - hasAudio: whether `submitAudio` will be called.
    ///   - icon: the app's icon for services: a PNG file, at most 256 x 256 pixels and 16 KiB.
    /// - Throws: `.badFrame` for the size, `.badSetup` for an icon that is no such file, `.failed` if no descriptor is
    ///   left.
    public init(
        name: String, width: Int, height: Int, hasAudio: Bool = false, icon: [UInt8]? = nil
    ) throws(ShareKitError) {
        self.name = name
        do throws(ServiceDescriptionError) {
            self.icon = if let icon { try PNGIcon(icon) } else { nil }
        } catch {
            throw ShareKitError(.badSetup, error.description)
        }
        do throws(InAppFrameFailure) {
            surface = try InAppSurface(
                name: name, size: PixelSize(width: width, height: height), converter: YUVConverter())
        } catch {
            throw ShareKitError(error)
        }
        do throws(SourceFailure) {
            camera = try SourceCamera()
        } catch {
            throw ShareKitError(.failed, error.message, remedy: error.remedy)
        }
        audio = hasAudio ? InAppAudio(name: name) : nil
        surface.onCapture { [weak surface, captured] in
            guard let surface else { return }
            captured.update { surface.isCaptured }
        }
    }

    /// Takes audio: 48 kHz, two channels, interleaved; any number of samples up to 5 s. Does nothing without
    /// `hasAudio`.
    public func submitAudio(_ samples: UnsafeBufferPointer<Int16>) { audio?.submit(samples) }

    /// Whether somebody receives the frames now. An app hides what only its own user may see while this is true.
    public var isCaptured: Bool { surface.isCaptured }

    /// The changes of ``isCaptured``, from the current value on. The newest value replaces one that was not read yet.
    /// Each call makes a sequence for one reader.
    public var captureChanges: AsyncStream<Bool> { captured.stream }

    /// Tells whether the app is in the background: its window is hidden or minimised. A ``BroadcastController`` pauses
    /// its broadcast then. On an X11 display it knows without this when all windows of the process are minimised or not
    /// mapped (_NET_WM_PID).
    public func setHidden(_ isHidden: Bool) { hidden.update { isHidden } }

    // MARK: Outputs

    /// Reserves the source for one capture.
    /// - Returns: false if there is one already.
    func claim() -> Bool {
        isClaimed.withLock { $0.setOnce() }
    }

    func unclaim() { isClaimed.withLock { $0 = false } }
}
