import CommandSupport
import Identifiers

/// The files of a package with the programs of an extension.
struct ExtensionTemplate {
    let id: ServiceID
    let name: String
    /// The folder of the package with ShareKit.
    let package: String

    /// Each path with its text.
    var files: [(path: String, text: String)] {
        [
            ("Package.swift", manifest), ("manifest.json", description), ("Sources/Setup/Setup.swift", Self.setup),
            ("Sources/Upload/Upload.swift", Self.upload), (".gitignore", ".build\n"),
        ]
    }

    private var manifest: String {
        """
        // swift-tools-version: 6.2
        import PackageDescription

        let package = Package(
            name: "\(name)",
            dependencies: [.package(name: "share", path: "\(package)")],
            targets: [
                .executableTarget(name: "Setup", dependencies: [.product(name: "ShareKit", package: "share")]),
                .executableTarget(name: "Upload", dependencies: [.product(name: "ShareKit", package: "share")]),
            ]
        )

        """
    }

    private var description: String {
        """
        {
          "id": "\(id)",
          "name": "\(name)",
          "setup": ".build/debug/Setup",
          "upload": ".build/debug/Upload"
        }

        """
    }

    /// Not written out below, as `Scripts/layers` would take it for an import of this file.
    private static let library = "ShareKit"

    private static let setup = """
        import Foundation
        import \(library)

        /// Asks the user, before each broadcast, what the upload program has to know.
        @main final class Setup: BroadcastSetup {
            override func setUp(for application: SampleHandler.Application) -> [String: String]? {
                FileHandle.standardError.write(Data("  Title of the broadcast (empty: do not broadcast): ".utf8))
                guard let title = readLine(), !title.isEmpty else { return nil }
                return ["title": title]
            }
        }

        """

    private static let upload = #"""
        import Foundation
        import \#(library)

        /// Takes the samples of one broadcast. This one saves the luma of the newest frame as an image, once a second.
        @main final class Upload: SampleHandler, @unchecked Sendable {
            private var title = ""
            private var frames = 0
            private var saved = Duration.zero
            /// A folder that nobody else may look into: the temporary folder is for all users.
            private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
            private var file: URL { folder.appendingPathComponent("broadcast.pgm") }

            override func broadcastStarted(
                withSetupInfo setupInfo: [String: String], application: SampleHandler.Application
            ) {
                title = setupInfo["title"] ?? application.name
                do {
                    try FileManager.default.createDirectory(
                        at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
                } catch {
                    return finishBroadcast(withError: "There is no folder for the image.", nextStep: "Set TMPDIR.")
                }
                note("\(title) has started; its newest frame is in \(file.path)")
            }

            override func processSampleBuffer(_ buffer: SampleBuffer) {
                guard case .video(let planes) = buffer.content else { return }
                frames += 1
                guard buffer.time - saved >= .seconds(1) else { return }
                saved = buffer.time
                var image = Data("P5 \(planes.width) \(planes.height) 255\n".utf8)
                for row in 0..<planes.height {
                    image.append(planes.y + row * planes.strideY, count: planes.width)
                }
                do {
                    try image.write(to: file)
                } catch {
                    finishBroadcast(withError: "The image cannot be saved.", nextStep: "Make room on the disk.")
                }
            }

            override func broadcastFinished() { note("\(title) has ended after \(frames) frames") }

            private func note(_ line: String) { FileHandle.standardError.write(Data("upload: \(line)\n".utf8)) }
        }

        """#
}
