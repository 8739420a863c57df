import Foundation

/// How old each stamp was when it was first seen, in ms.
struct Probe: Decodable {
    var stamps: Int
    var per_s: Double?
    var p50_ms: Double?
    var p95_ms: Double?
    var error: String?

    /// Watches the display for that long.
    static func run(_ display: String, seconds: Int) throws -> Probe {
        let process = try Subprocess(tool("probe"), ["-d", display, "-s", "\(seconds)"])
        let text = try process.wait(for: "line", seconds: Double(seconds) + 30).text
        guard let probe = try? JSONDecoder().decode(Probe.self, from: Data(text.utf8)) else {
            throw BenchmarkFailure("probe said: \(text) \(process.errorText)")
        }
        return probe
    }
}
