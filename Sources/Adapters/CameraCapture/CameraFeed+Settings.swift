package import MediaCore

/// How the camera is shown, and what is told of it.
extension CameraFeed {
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

    /// The present state of the camera.
    package struct Status: Equatable, Sendable {
        package var settings: Settings
        /// The camera that delivers, for people; nil if none does.
        package var name: String?
        /// Its size in pixels.
        package var size: PixelSize?
        /// Why none delivers, in a sentence; nil if nothing is wrong.
        package var failure: SourceFailure?
    }

    /// A loss or a return of the camera.
    package struct News: Sendable {
        /// For the user.
        package var sentence: String
        /// The camera is missing, has gone or cannot be used; false when it is in the picture again.
        package var isLoss: Bool
    }

    /// Called on the camera's thread.
    package typealias Report = @Sendable (News) -> Void
}
