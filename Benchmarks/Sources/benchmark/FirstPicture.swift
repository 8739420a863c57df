import Foundation

/// The first picture of `share join` at a host that has had no viewer yet, and of the next viewer there; in a window
/// and without one. The host's screen is full of antialiased text.
struct FirstPicture {
    /// In turns.
    let binaries: [String]
    let rounds: Int

    private struct Case: Hashable {
        let binary: String
        let hasWindow: Bool
        let isFirst: Bool
    }

    private struct Sample {
        /// In ms from the start of the viewer's process.
        let connected: Double
        let accepted: Double
        let picture: Double
        /// Resident memory of the host in MB, before the viewer and with it.
        let idle: Double
        let busy: Double
    }

    func measure() throws {
        let samples = try withDisplays(start: { [try page(on: $0)] }) { from, to in
            // The first round reads the programs from the disk.
            _ = try round(from, to)
            return try (0..<rounds).map { _ in try round(from, to) }
        }
        Table.title("The first picture of share join, with a page of text; ms from its start")
        Table.header([
            "build", "viewer", "accepted", "connected", "first picture", "lowest", "highest",
            "host's memory before and with it, MB",
        ])
        for binary in binaries {
            for hasWindow in [false, true] {
                for isFirst in [true, false] {
                    let wanted = Case(binary: binary, hasWindow: hasWindow, isFirst: isFirst)
                    row(wanted, samples.compactMap { $0[wanted] })
                }
            }
        }
    }

    private func row(_ wanted: Case, _ samples: [Sample]) {
        let pictures = samples.map(\.picture)
        let viewer = (wanted.isFirst ? "the first" : "the second") + (wanted.hasWindow ? ", window" : ", headless")
        Table.row([
            wanted.binary == binaries[0] ? "share" : "the other build", viewer,
            cell(median(samples.map(\.accepted))), cell(median(samples.map(\.connected))), cell(median(pictures)),
            cell(pictures.min()), cell(pictures.max()),
            cell(median(samples.map(\.idle))) + "; " + cell(median(samples.map(\.busy))),
        ])
    }

    private func page(on display: String) throws -> Subprocess {
        let text = """
            fmt -w 300 /usr/share/common-licenses/GPL-3 | head -n 78; printf shown > "$0"; exec sleep 100000
            """
        let directory = try TemporaryDirectory()
        let terminal = try Subprocess(
            "xterm",
            [
                "+sb", "-geometry", "310x80+0+0", "-fa", "Monospace", "-fs", "9", "-e", "sh", "-c", text,
                directory.path + "/shown",
            ],
            environment: ["DISPLAY": display])
        let deadline = monotonicSeconds() + 20
        while !FileManager.default.fileExists(atPath: directory.path + "/shown") {
            guard monotonicSeconds() < deadline else { throw BenchmarkFailure("xterm shows no text") }
            Thread.sleep(forTimeInterval: 0.05)
        }
        // What has been written is drawn.
        Thread.sleep(forTimeInterval: 1)
        return terminal
    }

    /// A new host for each build, with and without a window.
    private func round(_ from: String, _ to: String) throws -> [Case: Sample] {
        var samples: [Case: Sample] = [:]
        for hasWindow in [false, true] {
            for binary in binaries {
                let host = try ShareHost(binary: binary, display: from)
                defer { host.stop() }
                // What the host does at its start is over.
                Thread.sleep(forTimeInterval: 1)
                for isFirst in [true, false] {
                    samples[Case(binary: binary, hasWindow: hasWindow, isFirst: isFirst)] = try join(
                        host, on: hasWindow ? to : nil)
                }
            }
        }
        return samples
    }

    private func join(_ host: ShareHost, on display: String?) throws -> Sample {
        let idle = host.process.figures.memory.resident
        let seen = host.process.events.count
        let viewer = try host.join(display: display)
        let busy = host.process.figures.memory.resident
        let events = viewer.process.events
        let shown = try events.wait(for: "first-picture").time
        let begin = shown - viewer.firstPicture / 1e3
        let sample = Sample(
            connected: (try events.wait(for: "connected").time - begin) * 1e3,
            accepted: (try events.wait(for: "accepted").time - begin) * 1e3, picture: viewer.firstPicture, idle: idle,
            busy: busy)
        viewer.stop()
        _ = try host.process.wait(for: "viewer-left", after: seen)
        return sample
    }
}
