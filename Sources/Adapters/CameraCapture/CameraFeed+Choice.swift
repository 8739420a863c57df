internal import LinuxRuntime
package import MediaCore

extension CameraFeed.Choice {
    /// The camera that is meant.
    /// - Parameters:
    ///   - known: the identifiers of those that were open before; they stay chosen.
    ///   - cameras: those that are there.
    func device(
        at position: CameraFeed.Position, known: [CameraFeed.Position: String], of cameras: [CameraDevice]
    ) throws(SourceFailure) -> CameraDevice {
        let first =
            known[.front].map { id in cameras.first { $0.id == id } } ?? CameraDevice.first(front, of: cameras)
        switch position {
        case .front:
            guard let first else { throw Self.missing(front) }
            return first
        case .back:
            if let id = known[.back] {
                guard let camera = cameras.first(where: { $0.id == id }) else {
                    throw SourceFailure(.noSuchDevice, "the second camera is not there")
                }
                return camera
            }
            if let back {
                guard let camera = CameraDevice.first(back, of: cameras) else { throw Self.missing(back) }
                return camera
            }
            guard let other = cameras.first(where: { $0.id != first?.id }) else {
                throw SourceFailure(
                    .noSuchDevice, "there is no second camera", remedy: "share sources lists cameras.")
            }
            return other
        }
    }

    private static func missing(_ choice: CaptureSource.Camera) -> SourceFailure {
        SourceFailure(
            .noSuchDevice, "there is no camera \(UntrustedText.clean(choice.text, fallback: "of that name"))",
            remedy: "share sources lists cameras.")
    }
}

extension CameraFeed {
    /// Why the camera that is chosen delivers nothing, also before it is opened; nil if nothing is known to be in the
    /// way.
    package var obstacle: SourceFailure? {
        let (settings, choice, search, failure, name) = state.with {
            ($0.settings, $0.choice, $0.search, $0.failure, $0.name)
        }
        guard settings.isEnabled, name == nil else { return failure }
        if let failure { return failure }
        do throws(SourceFailure) {
            _ = try choice.device(at: settings.position, known: [:], of: search.find())
            return nil
        } catch {
            return error
        }
    }
}
