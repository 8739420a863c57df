package import Foundation
import Glibc
package import NetworkBed
import TestSupport

/// A headless browser with its own profile and one tab, controlled over its debugging port.
///
/// It accepts any certificate, gathers loopback candidates and plays audio without a click.
package final class Browser: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case chromium, firefox
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
        package init(description: String) { self.description = description }
    }

    package let kind: Kind
    private let process: Program
    private let socket: DebugSocket
    /// Chromium: the attached session; Firefox: the browsing context.
    private let tab: String
    private let profile: TemporaryFolder

    /// Starts the browser and waits until it listens.
    /// - Parameter node: a node of an emulated network; nil for this machine's own network.
    package init(_ kind: Kind, in node: NetworkNode? = nil, environment: [String: String] = [:]) async throws {
        self.kind = kind
        profile = try TemporaryFolder()
        let address: String
        switch kind {
        case .chromium: (process, address) = try await Self.startChromium(profile, node, environment)
        case .firefox: (process, address) = try await Self.startFirefox(profile, node, environment)
        }
        socket = try await DebugSocket.connect(address, in: node)
        switch kind {
        case .chromium: tab = try await Self.openChromiumTab(socket)
        case .firefox: tab = try await Self.openFirefoxTab(socket)
        }
    }

    /// Loads a page and waits until it is loaded.
    package func open(_ url: String) async throws {
        switch kind {
        case .chromium:
            let result = try await socket.call("Page.navigate", ["url": .string(url)], session: tab)
            if let error = result["errorText"].string { throw Failure(description: "\(url): \(error)") }
            _ = try await evaluate(
                "document.readyState === 'complete' || new Promise(done => addEventListener('load', () => done(true)))")
        case .firefox:
            _ = try await socket.call(
                "browsingContext.navigate", ["context": .string(tab), "url": .string(url), "wait": "complete"])
        }
    }

    /// Reloads the page as a user would, and waits until it is loaded.
    package func reload() async throws {
        switch kind {
        case .chromium:
            _ = try await evaluate("window.isFormer = true")
            _ = try await socket.call("Page.reload", session: tab)
            let deadline = ContinuousClock.now + .seconds(15)
            while (try? await evaluate("!window.isFormer && document.readyState === 'complete'")) != true {
                guard ContinuousClock.now < deadline else { throw Failure(description: "the page does not load again") }
                try await Task.sleep(for: .milliseconds(20))
            }
        case .firefox:
            _ = try await socket.call("browsingContext.reload", ["context": .string(tab), "wait": "complete"])
        }
    }

    /// Evaluates an expression in the page and awaits a promise. The value is passed as JSON.
    package func evaluate(_ expression: String, within limit: Duration = .seconds(30)) async throws -> JSON {
        let code = "(async () => JSON.stringify((await (\(expression))) ?? null))()"
        let text: String?
        switch kind {
        case .chromium:
            let answer = try await socket.call(
                "Runtime.evaluate",
                ["expression": .string(code), "awaitPromise": true, "returnByValue": true, "userGesture": true],
                session: tab, within: limit)
            if answer["exceptionDetails"] != .null { throw Failure(description: answer["exceptionDetails"].text) }
            text = answer["result"]["value"].string
        case .firefox:
            let answer = try await socket.call(
                "script.evaluate",
                ["expression": .string(code), "awaitPromise": true, "target": ["context": .string(tab)]], within: limit)
            if answer["exceptionDetails"] != .null { throw Failure(description: answer["exceptionDetails"].text) }
            text = answer["result"]["value"].string
        }
        guard let text else { throw Failure(description: "no value from: \(expression)") }
        return try JSON(parsing: text)
    }

    /// Runs a script in every page that is opened from now on, before the page's own scripts.
    package func preload(_ script: String) async throws {
        switch kind {
        case .chromium:
            _ = try await socket.call(
                "Page.addScriptToEvaluateOnNewDocument", ["source": .string(script)], session: tab)
        case .firefox:
            _ = try await socket.call(
                "script.addPreloadScript", ["functionDeclaration": .string("() => { \(script) }")])
        }
    }

    /// Sets the size of the page, in its own pixels.
    package func setViewport(width: Int, height: Int) async throws {
        let size: [String: JSON] = ["width": .number(Double(width)), "height": .number(Double(height))]
        switch kind {
        case .chromium:
            _ = try await socket.call(
                "Emulation.setDeviceMetricsOverride",
                .object(size.merging(["deviceScaleFactor": 1, "mobile": true]) { $1 }), session: tab)
        case .firefox:
            _ = try await socket.call(
                "browsingContext.setViewport", ["context": .string(tab), "viewport": .object(size)])
        }
    }

    /// Returns the window's content as PNG.
    package func screenshot() async throws -> Data {
        let answer =
            switch kind {
            case .chromium: try await socket.call("Page.captureScreenshot", ["format": "png"], session: tab)
            case .firefox: try await socket.call("browsingContext.captureScreenshot", ["context": .string(tab)])
            }
        guard let data = answer["data"].string.flatMap({ Data(base64Encoded: $0) }) else {
            throw Failure(description: "no picture")
        }
        return data
    }

    /// Ends the browser; its profile is removed with the value.
    package func close() async {
        socket.close()
        process.kill()
        _ = await process.exitCode()
    }

    /// Runs `body` with a browser, which is closed in any case.
    package static func with<Value: Sendable>(
        _ kind: Kind, in node: NetworkNode? = nil, environment: [String: String] = [:],
        _ body: (Browser) async throws -> Value
    ) async throws -> Value {
        let browser = try await Browser(kind, in: node, environment: environment)
        do {
            let value = try await body(browser)
            await browser.close()
            return value
        } catch {
            await browser.close()
            throw error
        }
    }

    /// Returns the first of these programs that is installed.
    static func program(_ names: [String]) throws -> String {
        for name in names {
            for directory in ["/usr/bin", "/usr/local/bin"] where access("\(directory)/\(name)", X_OK) == 0 {
                return "\(directory)/\(name)"
            }
        }
        throw Failure(description: "\(names.joined(separator: ", ")): none is installed; run Scripts/setup test")
    }
}
