import Foundation

/// The ages of the stamps when they were first seen, in ms.
struct Probe: Decodable {
    var stamps: Int
    var stampsPerSecond: Double?
    var p50: Double?
    var p95: Double?
    /// The longest time without a new stamp, in ms.
    var longestGap: Double?
    var error: String?

    private enum CodingKeys: String, CodingKey {
        case stamps, error
        case stampsPerSecond = "per_s"
        case p50 = "p50_ms"
        case p95 = "p95_ms"
        case longestGap = "longest_gap_ms"
    }

    /// Watches the display for so many seconds.
    /// - Parameter meanwhile: called while it watches.
    static func run(_ display: String, seconds: Int, meanwhile: () throws -> Void = {}) throws -> Probe {
        let process = try Subprocess(tool("probe"), ["-d", display, "-s", "\(seconds)"])
        try meanwhile()
        let text = try process.wait(for: "line", seconds: Double(seconds) + 30).text
        guard let probe = try? JSONDecoder().decode(Probe.self, from: Data(text.utf8)) else {
            throw BenchmarkFailure("probe said: \(text) \(process.errorText)")
        }
        return probe
    }
}
