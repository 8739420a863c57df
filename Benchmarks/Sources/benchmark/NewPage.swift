import Foundation

/// The time until the other display shows a new page, and its quality.
struct NewPage: Decodable {
    /// From the change of the page until the luma's PSNR was 30 dB and 38 dB, in ms.
    var readable: Double?
    var sharp: Double?
    /// At the end, in dB.
    var psnr: Double

    private enum CodingKeys: String, CodingKey {
        case psnr
        case readable = "readable_ms"
        case sharp = "sharp_ms"
    }

    /// - Parameters:
    ///   - still: the time before the change of the page, in seconds.
    ///   - limit: the time limit for the page to become sharp, in seconds.
    ///   - turned: called when the page changes.
    static func watch(from: String, to: String, still: Int, limit: Int, turned: () throws -> Void) throws -> NewPage {
        let process = try Subprocess(tool("newpage"), [from, to, "\(still)", "\(limit)"])
        defer { process.terminate() }
        _ = try process.wait(for: "turned", seconds: Double(still) + 20)
        try turned()
        let text = try process.wait(for: "seen", seconds: Double(limit) + 20).text
        guard let page = try? JSONDecoder().decode(NewPage.self, from: Data(text.utf8)) else {
            throw BenchmarkFailure("newpage said: \(text)")
        }
        return page
    }
}
