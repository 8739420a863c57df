import Foundation

/// What end-to-end encryption costs a broadcast over a relay: latency and CPU, encrypted and with `--relay-may-watch`
/// in turns, for `share join` and the page in browsers.
struct Encryption {
    let binary: String
    let rounds: Int
    let seconds: Int

    private enum Viewer: String, CaseIterable {
        case share = "share join"
        case chromium = "Chromium"
        case firefox = "Firefox"

        var program: String? {
            switch self {
            case .share: ""
            case .chromium: Chromium.find()
            case .firefox:
                ["/usr/bin/firefox-esr", "/usr/bin/firefox"].first { FileManager.default.isExecutableFile(atPath: $0) }
            }
        }
    }

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
        for viewer in Viewer.allCases {
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

    private func measure(_ viewer: Viewer, _ program: String, _ isEncrypted: Bool) throws -> Result {
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
            let watching = try start(viewer, program, link, to, folder.path)
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

    /// Returns when it shows a picture.
    private func start(
        _ viewer: Viewer, _ program: String, _ link: String, _ display: String, _ folder: String
    ) throws -> Subprocess {
        let profile = folder + "/profile"
        try FileManager.default.createDirectory(atPath: profile, withIntermediateDirectories: true)
        switch viewer {
        case .share:
            let viewer = try Subprocess(
                binary, ["join", "--mute", "--json"],
                environment: ["XDG_DATA_HOME": profile, "SHARE_LINK": link, "DISPLAY": display])
            _ = try viewer.wait(for: "first-picture")
            return viewer
        case .chromium:
            let browser = try Chromium.start(
                program, profile: profile, display: display,
                extra: [
                    "--kiosk", "--window-size=1920,1080", "--window-position=0,0", "--ignore-certificate-errors",
                    "--app=\(link)",
                ], in: nil)
            try askToWatch(display)
            return browser
        case .firefox:
            try acceptCertificate(of: link, profile)
            let browser = try Subprocess(
                program, ["--no-remote", "--kiosk", "--profile", profile, link],
                environment: ["DISPLAY": display, "HOME": profile, "MOZ_CRASHREPORTER_DISABLE": "1"])
            try askToWatch(display)
            return browser
        }
    }

    /// Types a name into the page and asks, as a user does.
    private func askToWatch(_ display: String) throws {
        Thread.sleep(forTimeInterval: 6)
        for words in [["type", "Ann"], ["key", "Return"], ["mousemove", "1900", "1000"]] {
            _ = try Subprocess("xdotool", words, environment: ["DISPLAY": display]).exitStatus
        }
    }

    /// Firefox asks about a certificate that it does not know, unless its profile has an exception.
    private func acceptCertificate(of link: String, _ profile: String) throws {
        guard let url = URL(string: link), let host = url.host, let port = url.port else {
            throw BenchmarkFailure("no link: \(link)")
        }
        let command =
            "openssl s_client -connect \(host):\(port) </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256"
        let output = try Subprocess("/bin/sh", ["-c", command]).wait(for: "line").text
        let fingerprint = output.split(separator: "=").last.map(String.init) ?? ""
        try "\(host):\(port):\tOID.2.16.840.1.101.3.4.2.1\t\(fingerprint)\t\n".write(
            toFile: profile + "/cert_override.txt", atomically: true, encoding: .utf8)
        let preferences = [
            "media.autoplay.default": "0", "media.peerconnection.ice.loopback": "true",
            "media.peerconnection.ice.obfuscate_host_addresses": "false", "browser.shell.checkDefaultBrowser": "false",
            "datareporting.policy.dataSubmissionEnabled": "false", "toolkit.telemetry.enabled": "false",
            "browser.aboutwelcome.enabled": "false", "app.update.enabled": "false",
            "datareporting.policy.dataSubmissionPolicyBypassNotification": "true",
        ]
        try preferences.map { "user_pref(\"\($0)\", \($1));\n" }.joined().write(
            toFile: profile + "/user.js", atomically: true, encoding: .utf8)
    }
}
