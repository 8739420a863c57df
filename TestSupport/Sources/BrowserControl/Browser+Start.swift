import Foundation
package import NetworkBed
package import TestSupport

extension Browser {
    /// - Returns: the process and the address of its DevTools socket, which it prints on standard error.
    static func startChromium(
        _ profile: TemporaryFolder, _ node: NetworkNode?, _ environment: [String: String]
    ) async throws -> (Program, String) {
        let process = try Program.start(
            program(["chromium", "chromium-browser", "google-chrome"]),
            headless("--headless=new", environment) + [
                "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                "--window-size=1280,720", "--ignore-certificate-errors",
                "--autoplay-policy=no-user-gesture-required", "--allow-loopback-in-peer-connection",
                "--disable-features=WebRtcHideLocalIpsWithMdns", "--user-data-dir=\(profile.path)",
                "--remote-debugging-port=0", "about:blank",
            ], environment: environment, in: node)
        return (process, try await address(process, after: "DevTools listening on "))
    }

    /// - Returns: the attached session and the browser context.
    static func openChromiumTab(_ socket: DebugSocket) async throws -> (tab: String, container: String) {
        let container = try await socket.call("Target.createBrowserContext")["browserContextId"]
        let target = try await socket.call(
            "Target.createTarget", ["url": "about:blank", "browserContextId": container])
        let attached = try await socket.call(
            "Target.attachToTarget", ["targetId": target["targetId"], "flatten": true])
        guard let session = attached["sessionId"].string, let container = container.string else {
            throw Failure(description: "Chromium gave no tab")
        }
        _ = try await socket.call("Page.enable", session: session)
        return (session, container)
    }

    /// - Returns: the process and the address of its BiDi socket, which it prints on standard error.
    static func startFirefox(
        _ profile: TemporaryFolder, _ node: NetworkNode?, _ environment: [String: String],
        _ more: [String: String]
    ) async throws -> (Program, String) {
        let preferences = more.merging([
            "media.autoplay.default": "0", "media.peerconnection.ice.loopback": "true",
            "media.peerconnection.ice.obfuscate_host_addresses": "false", "browser.shell.checkDefaultBrowser": "false",
            "datareporting.policy.dataSubmissionEnabled": "false", "toolkit.telemetry.enabled": "false",
            "browser.aboutwelcome.enabled": "false", "app.update.enabled": "false",
            "network.captive-portal-service.enabled": "false", "network.connectivity-service.enabled": "false",
        ]) { own, _ in own }
        let lines = preferences.map { "user_pref(\"\($0)\", \($1));\n" }.sorted().joined()
        try lines.write(to: profile.url.appendingPathComponent("user.js"), atomically: true, encoding: .utf8)
        let process = try Program.start(
            program(["firefox-esr", "firefox"]),
            headless("--headless", environment) + [
                "--no-remote", "--profile", profile.path, "--remote-debugging-port", "0", "about:blank",
            ],
            environment: environment.merging([
                "MOZ_HEADLESS_WIDTH": "1280", "MOZ_HEADLESS_HEIGHT": "720", "MOZ_CRASHREPORTER_DISABLE": "1",
            ]) { $1 },
            in: node)
        return (process, try await address(process, after: "WebDriver BiDi listening on ") + "/session")
    }

    /// - Returns: the browsing context and the user context.
    static func openFirefoxTab(_ socket: DebugSocket) async throws -> (tab: String, container: String) {
        let container = try await socket.call("browser.createUserContext")["userContext"]
        let created = try await socket.call("browsingContext.create", ["type": "tab", "userContext": container])
        guard let tab = created["context"].string, let container = container.string else {
            throw Failure(description: "Firefox gave no tab")
        }
        return (tab, container)
    }

    /// A browser that is given a display shows its windows there.
    private static func headless(_ option: String, _ environment: [String: String]) -> [String] {
        environment["DISPLAY"] == nil ? [option] : []
    }

    private static func address(_ process: Program, after words: String) async throws -> String {
        let line = try await process.line(.error, within: .seconds(45)) { $0.contains(words) }
        guard let range = line.range(of: words) else { throw Failure(description: line) }
        return line[range.upperBound...].trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

extension Program {
    /// - Parameter node: a node of an emulated network; nil for this machine's own network.
    package static func start(
        _ name: String, _ arguments: [String], environment: [String: String?] = [:], in node: NetworkNode?
    ) throws -> Program {
        let command = node?.command(name, arguments) ?? (name, arguments)
        return try Program(command.0, command.1, environment: environment)
    }
}
