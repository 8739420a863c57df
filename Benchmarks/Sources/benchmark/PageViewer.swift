import Foundation
import NetworkBed

/// What shows a broadcast on a display: `share join`, or the page in a browser.
enum PageViewer: String, CaseIterable {
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

    /// Returns when it shows a picture.
    func start(
        _ program: String, binary: String, link: String, display: String, folder: String, in node: NetworkNode? = nil
    ) throws -> Subprocess {
        let profile = folder + "/profile"
        try FileManager.default.createDirectory(atPath: profile, withIntermediateDirectories: true)
        switch self {
        case .share:
            let viewer = try Subprocess(
                binary, ["join", "--mute", "--json"],
                environment: ["XDG_DATA_HOME": profile, "SHARE_LINK": link, "DISPLAY": display], in: node)
            _ = try viewer.wait(for: "first-picture")
            return viewer
        case .chromium:
            let browser = try Chromium.start(
                program, profile: profile, display: display,
                extra: [
                    "--kiosk", "--window-size=1920,1080", "--window-position=0,0", "--ignore-certificate-errors",
                    "--app=\(link)",
                ], in: node)
            try askToWatch(display)
            return browser
        case .firefox:
            try acceptCertificate(of: link, profile)
            let browser = try Subprocess(
                program, ["--no-remote", "--kiosk", "--profile", profile, link],
                environment: ["DISPLAY": display, "HOME": profile, "MOZ_CRASHREPORTER_DISABLE": "1"], in: node)
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
