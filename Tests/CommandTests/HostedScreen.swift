import Foundation
import ImageFile
import MediaCore
import TestSupport
import Testing

/// A running host with its link, and viewers of it.
struct HostedScreen {
    let process: ShareProcess
    let link: String
    let folder: TemporaryFolder

    init(_ arguments: [String], environment: [String: String] = [:], launcher: [String] = []) throws {
        folder = try TemporaryFolder()
        process = try ShareProcess(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--json"] + arguments, in: folder,
            environment: environment, launcher: launcher)
        guard let event = process.event("link"), let link = event["link"] as? String else {
            throw Program.Failure("no link: \(process.lines) \(process.errorText)")
        }
        self.link = link
    }

    /// Starts a viewer without a window. The link is in the environment, where `ps` does not show it.
    func join(_ arguments: [String] = [], environment: [String: String] = [:]) throws -> ShareProcess {
        try ShareProcess(
            ["join", "--headless", "--json"] + arguments, in: folder,
            environment: ["SHARE_LINK": link].merging(environment) { $1 })
    }
}

/// A PNG file that a viewer saved.
struct Snapshot {
    private let image: RGBAImage

    init(_ file: String) throws { image = try ImageFile.read(file) }

    var width: Int { image.size.width }
    var height: Int { image.size.height }

    /// Returns whether the pixel has that colour, within VP8's loss.
    func isColor(_ rgb: Int, x: Int, y: Int, within tolerance: Int = 24) -> Bool {
        let pixel = image[x, y]
        return abs(Int(pixel.red) - rgb >> 16) <= tolerance && abs(Int(pixel.green) - (rgb >> 8 & 255)) <= tolerance
            && abs(Int(pixel.blue) - (rgb & 255)) <= tolerance
    }
}
