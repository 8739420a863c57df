import Foundation
import Testing

/// A host that runs, with its link, and viewers of it.
struct HostedScreen {
    let process: ShareProcess
    let link: String
    let folder: TemporaryFolder

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        folder = try TemporaryFolder()
        process = try ShareProcess(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--json"] + arguments,
            environment: folder.environment.merging(environment) { $1 })
        guard let event = process.event("link"), let link = event["link"] as? String else {
            throw StageFailure("no link: \(process.lines) \(process.errorText)")
        }
        self.link = link
    }

    /// Watches without a window; the link goes by the environment, where `ps` does not show it.
    func join(_ arguments: [String] = [], environment: [String: String] = [:]) throws -> ShareProcess {
        try ShareProcess(
            ["join", "--headless", "--json"] + arguments,
            environment: folder.environment.merging(["SHARE_LINK": link]) { $1 }.merging(environment) { $1 })
    }
}

/// A picture that a viewer saved.
struct Snapshot {
    let width: Int
    let height: Int
    private let pixels: [UInt8]

    init(_ file: String) throws {
        // The pixels as text would be slow: PAM is a header and raw bytes.
        let text = try Helper("pngtopam", ["-alphapam", file]).finishData()
        guard let end = text.range(of: Data("ENDHDR\n".utf8)) else { throw StageFailure("\(file) is no picture") }
        let header = String(decoding: text[..<end.lowerBound], as: UTF8.self)
        func number(_ name: String) -> Int {
            header.split(separator: "\n").first { $0.hasPrefix(name + " ") }
                .flatMap { Int($0.split(separator: " ")[1]) } ?? 0
        }
        width = number("WIDTH")
        height = number("HEIGHT")
        pixels = [UInt8](text[end.upperBound...])
        guard pixels.count == width * height * 4 else { throw StageFailure("\(file) is cut off") }
    }

    subscript(x: Int, y: Int) -> (red: Int, green: Int, blue: Int) {
        let at = (y * width + x) * 4
        return (Int(pixels[at]), Int(pixels[at + 1]), Int(pixels[at + 2]))
    }

    /// Whether the pixel is that colour, as well as VP8 keeps it.
    func isColor(_ rgb: Int, x: Int, y: Int, within tolerance: Int = 24) -> Bool {
        let pixel = self[x, y]
        return abs(pixel.red - rgb >> 16) <= tolerance && abs(pixel.green - (rgb >> 8 & 255)) <= tolerance
            && abs(pixel.blue - (rgb & 255)) <= tolerance
    }
}
