import Foundation

/// What end-to-end encryption costs a broadcast over a relay: latency and CPU, encrypted and with `--relay-may-watch`
/// in turns, for `share join` and the page in browsers.
struct Encryption {
    let binary: String
    let rounds: Int
    let seconds: Int

    private struct Result {
        var probe: Probe
        /// In ms each second.
        var hostCPU: Double
        var viewerCPU: Double
    }

    func measure() throws {
        Table.header([
            "viewer", "", "p50, ms", "p95, ms", "stamps a second", "host's CPU, ms/s", "viewer's CPU, ms/s",
        ])
        for viewer in PageViewer.allCases {
            guard let program = viewer.program else { continue }
            var results: [Bool: [Result]] = [:]
            for round in 0..<rounds {
                // Neither is always the first.
                for isEncrypted in round % 2 == 0 ? [true, false] : [false, true] {
                    results[isEncrypted, default: []].append(try measure(viewer, program, isEncrypted))
                }
            }
            for isEncrypted in [true, false] {
                let own = results[isEncrypted] ?? []
                func middle(_ value: (Result) -> Double?) -> Double? { median(own.compactMap(value)) }
                Table.row([
                    viewer.rawValue, isEncrypted ? "encrypted" : "in clear", cell(middle(\.probe.p50), 1),
                    cell(middle(\.probe.p95), 1), cell(middle(\.probe.stampsPerSecond), 1),
                    cell(middle(\.hostCPU)), cell(middle(\.viewerCPU)),
                ])
            }
        }
    }

    private func measure(_ viewer: PageViewer, _ program: String, _ isEncrypted: Bool) throws -> Result {
        let folder = try TemporaryDirectory()
        let relay = try Subprocess(
            binary, ["relay", "--listen", "127.0.0.1:0", "--accept", "any", "--json"],
            environment: ["XDG_DATA_HOME": folder.path])
        defer { relay.interrupt() }
        let place = try relay.wait(for: "link").link()
        return try withDisplays(start: { try Scene.scrolling.start(on: $0, seconds: seconds + 60) }) { from, to in
            let host = try Subprocess(
                binary,
                [
                    "host", "--accept", "any", "--relay", place, "--route", "relay", "--display", from, "--audio",
                    "none", "--json",
                ]
                    + (isEncrypted ? [] : ["--relay-may-watch"]),
                environment: ["XDG_DATA_HOME": folder.path + "/host"])
            defer { host.interrupt() }
            let link = try host.wait(for: isEncrypted ? "link" : "broadcast-url").link()
            let watching = try viewer.start(program, binary: binary, link: link, display: to, folder: folder.path)
            defer { watching.terminate() }
            // Until the rate has settled, and the page has hidden its bar.
            Thread.sleep(forTimeInterval: 8)
            let spent = (host: host.figures.cpuMilliseconds, viewer: watching.figures.familyCPUMilliseconds)
            let begin = monotonicSeconds()
            let probe = try Probe.run(to, seconds: seconds)
            let elapsed = monotonicSeconds() - begin
            return Result(
                probe: probe, hostCPU: (host.figures.cpuMilliseconds - spent.host) / elapsed,
                viewerCPU: (watching.figures.familyCPUMilliseconds - spent.viewer) / elapsed)
        }
    }
}
