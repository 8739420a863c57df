internal import MediaCore

/// A camera that is open. One thread at a time.
protocol CameraStream: AnyObject {
    /// Readable when `receive` has something to do.
    var descriptor: Int32 { get }
    /// Whether a format was agreed on.
    var hasFormat: Bool { get }
    /// Why it delivers nothing any more, as the end of a sentence; nil while it may.
    var failure: String? { get }

    /// Takes what has come, and calls `body` with the newest image, if there is one. The image is valid during the
    /// call.
    func receive(_ body: (CameraImage) -> Void)

    /// A second call does nothing.
    func close()
}
