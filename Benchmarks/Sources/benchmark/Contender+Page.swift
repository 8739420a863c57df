import Foundation

/// `share host` on one display and its page in Chromium on another.
func measurePage(_ chromium: String, _ scene: Scene, binary: String, seconds: Int) throws -> Measurement {
    try withDisplays(start: { try scene.start(on: $0, seconds: seconds + 60) }) { from, to in
        let host = try ShareHost(binary: binary, display: from)
        defer { host.stop() }
        let folder = try TemporaryDirectory()
        let viewer = try PageViewer.chromium.start(
            chromium, binary: binary, link: host.link, display: to, folder: folder.path)
        defer { viewer.terminate() }
        // Until the rate has settled, and the page has hidden its bar.
        Thread.sleep(forTimeInterval: 8)
        var probe: Probe?
        let figures = try host.measure { probe = try Probe.run(to, seconds: seconds) }
        var row = Measurement("share's page", scene, probe)
        row.hostCPU = figures.cpu
        row.kilobits = figures.kilobits
        return row
    }
}
