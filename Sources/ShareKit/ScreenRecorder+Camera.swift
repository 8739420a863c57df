internal import CameraCapture
internal import LinuxRuntime
internal import MediaCore

/// Which of two cameras is shown.
public enum CameraPosition: String, Sendable {
    /// The camera that faces the user: the first one, unless the recorder was given names.
    case front
    /// The second one.
    case back
}

/// The picture of the camera in the frames, which may be moved at any time. The counterpart of ReplayKit's
/// `cameraPreviewView`, but part of what is captured.
public final class CameraPreview: Sendable {
    /// Where the picture lies. In a corner it is at least 16 pixels away from the edges of the frame, if there is room.
    public enum Place: Sendable, Hashable {
        /// In the upper left corner of the frame.
        case topLeft
        /// In the upper right corner of the frame.
        case topRight
        /// In the lower left corner of the frame.
        case bottomLeft
        /// In the lower right corner of the frame.
        case bottomRight
        /// The upper left corner of the picture, in pixels of the frame; the picture never leaves the frame.
        case point(x: Int, y: Int)
    }

    private let camera: SourceCamera

    init(_ camera: SourceCamera) { self.camera = camera }

    /// Where the picture is; `.bottomRight` at first.
    public var place: Place {
        get {
            switch camera.feed.settings.place {
            case .topLeft: .topLeft
            case .topRight: .topRight
            case .bottomLeft: .bottomLeft
            case .bottomRight: .bottomRight
            case .point(let x, let y): .point(x: x, y: y)
            }
        }
        set {
            let place: OverlayPlace =
                switch newValue {
                case .topLeft: .topLeft
                case .topRight: .topRight
                case .bottomLeft: .bottomLeft
                case .bottomRight: .bottomRight
                case .point(let x, let y): .point(x: x, y: y)
                }
            camera.feed.change { $0.place = place }
        }
    }

    /// The picture's width in percent of the frame's, 5...100; 20 at first. The height follows from the camera.
    public var widthPercent: Int {
        get { if case .percent(let percent) = camera.feed.settings.size { percent } else { 20 } }
        set { camera.feed.change { $0.size = .percent(min(max(newValue, 5), 100)) } }
    }

    /// Whether left and right are exchanged, as in a mirror; false at first, so that writing can be read.
    public var isMirrored: Bool {
        get { camera.feed.settings.isMirrored }
        set { camera.feed.change { $0.isMirrored = newValue } }
    }
}

extension ScreenRecorder {
    /// Whether the frames show the camera.
    public var isCameraEnabled: Bool { state.current.isCameraEnabled }

    /// Shows the camera in the frames or removes it, at any time; while something is captured, at once. Everything that
    /// is captured of the source shows it: recordings, clips and broadcasts. The camera is open only while that is the
    /// case.
    ///
    /// The app's user is asked before the camera is shown for the first time. A camera that goes is taken out of the
    /// frames, and comes back by itself; `changes` has the reason meanwhile.
    /// - Throws: `.noCamera`, `.declined`; the camera is then off.
    public func setCameraEnabled(_ isEnabled: Bool) async throws(ShareKitError) {
        do throws(ShareKitError) {
            if isEnabled {
                try await checkCamera()
                try await askForConsent(withMicrophone: isMicrophoneEnabled, withCamera: true)
            }
        } catch {
            show(false)
            throw error
        }
        show(isEnabled)
    }

    /// Which camera is shown. The picture of the other one stays until the new one delivers.
    public var cameraPosition: CameraPosition {
        get { source.camera.feed.settings.position == .front ? .front : .back }
        set { source.camera.feed.change { $0.position = newValue == .front ? .front : .back } }
    }

    /// The picture of the camera in the frames.
    public var cameraPreview: CameraPreview { CameraPreview(source.camera) }

    private func show(_ isEnabled: Bool) {
        state.update { $0.isCameraEnabled = isEnabled }
        source.camera.listen { [weak state] news in
            state?.update { $0.failure = news.isLoss ? ShareKitError(.noCamera, news.sentence) : nil }
        }
        source.camera.feed.change { $0.isEnabled = isEnabled }
    }

    private func checkCamera() async throws(ShareKitError) {
        let camera = source.camera
        let result = await onThread("camera-list") { () -> Result<[CameraDevice], SourceFailure> in
            Result { () throws(SourceFailure) in try camera.feed.available() }
        }
        guard let result else { throw ShareKitError(.failed, "no thread is left to look for cameras") }
        if case .failure(let failure) = result {
            throw ShareKitError(.noCamera, failure.message, remedy: failure.remedy)
        }
    }
}
