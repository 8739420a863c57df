import Foundation
import NetworkBed

/// The times from a key at the viewer's display to the picture there that it has changed, in ms.
struct KeyToPicture: Decodable {
    var keys: Int
    /// Keys that have changed nothing within 5 s.
    var lost: Int?
    var p50: Double?
    var p95: Double?
    var longest: Double?
    var error: String?

    private enum CodingKeys: String, CodingKey {
        case keys, lost, error
        case p50 = "p50_ms"
        case p95 = "p95_ms"
        case longest = "max_ms"
    }

    /// Presses the keys.
    static func run(host: String, viewer: String, keys: Int, isBrowser: Bool) throws -> KeyToPicture {
        let process = try Subprocess(
            tool("keypress"), ["-n", "\(keys)"] + (isBrowser ? ["-b"] : []) + [host, viewer])
        defer { process.terminate() }
        let text = try process.wait(for: "line", seconds: Double(keys) + 120).text
        guard let result = try? JSONDecoder().decode(KeyToPicture.self, from: Data(text.utf8)) else {
            throw BenchmarkFailure("keypress said: \(text) \(process.errorText)")
        }
        return result
    }
}

/// Click to picture: a viewer's key, a program on the host's display that changes it altogether, and the viewer's
/// display.
func measureControl(binary: String, chromium: String?, keys: Int) throws {
    Table.title("Click to picture, \(keys) keys each")
    Table.header(["viewer", "link", "p50 ms", "p95 ms", "longest ms", "note"])
    let links: [(name: String, conditions: LinkConditions?)] = [
        ("loopback", nil), ("50 ms round trip", LinkConditions(delayMilliseconds: 25)),
    ]
    for link in links {
        for isBrowser in chromium == nil ? [false] : [false, true] {
            let path = try link.conditions.map { try EmulatedPath($0) }
            let result = try withDisplays(start: { _ in [] }) { from, to in
                let host = try ShareHost(
                    binary: binary, display: from, arguments: ["--audio", "none", "--control", "yes"], over: path)
                defer { host.stop() }
                guard isBrowser, let chromium else {
                    let viewer = try host.join(display: to, arguments: ["--fullscreen", "--mute"])
                    defer { viewer.stop() }
                    return try KeyToPicture.run(host: from, viewer: to, keys: keys, isBrowser: false)
                }
                let folder = try TemporaryDirectory()
                let viewer = try Chromium.start(
                    chromium, profile: folder.path, display: to,
                    extra: [
                        "--kiosk", "--window-size=1920,1080", "--window-position=0,0", "--ignore-certificate-errors",
                        "--app=\(host.link)",
                    ], in: path?.viewer)
                defer { viewer.terminate() }
                Thread.sleep(forTimeInterval: 5)
                return try KeyToPicture.run(host: from, viewer: to, keys: keys, isBrowser: true)
            }
            let note = result.error ?? (result.lost.map { $0 > 0 ? "\($0) changed nothing" : "" } ?? "")
            Table.row([
                isBrowser ? "Chromium" : "share join", link.name, cell(result.p50, 1), cell(result.p95, 1),
                cell(result.longest, 1), note,
            ])
        }
    }
}
