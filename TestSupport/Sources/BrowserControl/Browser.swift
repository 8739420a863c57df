package import Foundation
import Glibc
package import NetworkBed

/// A tab of a headless browser with cookies and storage of its own, controlled over the browser's debugging port.
///
/// The browser accepts any certificate, gathers loopback candidates and plays audio without a click. Values that do not
/// exist at the same time share one process (``BrowserProcess``).
package final class Browser: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case chromium, firefox
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
        package init(description: String) { self.description = description }
    }

    package let kind: Kind
    private let process: BrowserProcess
    /// Chromium: the attached session; Firefox: the browsing context.
    private let tab: String
    /// What separates its storage. Chromium: the browser context; Firefox: the user context.
    private let container: String
    private var socket: DebugSocket { process.socket }

    private init(_ process: BrowserProcess) async throws {
        self.process = process
        kind = process.kind
        (tab, container) =
            switch kind {
            case .chromium: try await Self.openChromiumTab(process.socket)
            case .firefox: try await Self.openFirefoxTab(process.socket)
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
                "script.addPreloadScript",
                ["functionDeclaration": .string("() => { \(script) }"), "contexts": [.string(tab)]])
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

    /// Emulates a telephone with a touch screen, or shows colors for a light or a dark room. Chromium alone.
    package func emulate(touch: Bool? = nil, colorScheme: String? = nil) async throws {
        if let touch {
            _ = try await call(
                "Emulation.setTouchEmulationEnabled", ["enabled": .bool(touch), "maxTouchPoints": touch ? 2 : 1])
        }
        if let colorScheme {
            _ = try await call(
                "Emulation.setEmulatedMedia",
                ["features": [["name": "prefers-color-scheme", "value": .string(colorScheme)]]])
        }
    }

    /// A call of the browser's protocol for this tab.
    package func call(_ method: String, _ parameters: [String: JSON] = [:]) async throws -> JSON {
        switch kind {
        case .chromium: try await socket.call(method, .object(parameters), session: tab)
        case .firefox: try await socket.call(method, .object(parameters.merging(["context": .string(tab)]) { $1 }))
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

    /// Calls a command of the protocol for this tab.
    func callPage(_ method: String, _ parameters: JSON) async throws {
        switch kind {
        case .chromium: _ = try await socket.call(method, parameters, session: tab)
        case .firefox:
            guard case .object(var fields) = parameters else { return }
            fields["context"] = .string(tab)
            _ = try await socket.call(method, .object(fields))
        }
    }

    /// Closes the tab, and removes its storage.
    private func close() async throws {
        switch kind {
        case .chromium:
            _ = try await socket.call("Target.disposeBrowserContext", ["browserContextId": .string(container)])
        case .firefox:
            _ = try await socket.call("browsingContext.close", ["context": .string(tab)])
            _ = try await socket.call("browser.removeUserContext", ["userContext": .string(container)])
        }
    }

    /// Runs `body` with a browser, which is closed in any case. After an error, no other one gets its process.
    /// - Parameters:
    ///   - node: a node of an emulated network; nil for this machine's own network.
    ///   - environment: of a process for `body` alone, like `node`. With `DISPLAY`, it shows its windows there.
    ///   - preferences: of Firefox, for `body` alone.
    package static func with<Value: Sendable>(
        _ kind: Kind, in node: NetworkNode? = nil, environment: [String: String] = [:],
        preferences: [String: String] = [:], _ body: (Browser) async throws -> Value
    ) async throws -> Value {
        let isShared = node == nil && environment.isEmpty && preferences.isEmpty
        let process =
            if isShared, let idle = BrowserProcess.takeIdle(kind) {
                idle
            } else {
                try await BrowserProcess(kind, in: node, environment: environment, preferences: preferences)
            }
        do {
            let browser = try await Browser(process)
            let value = try await body(browser)
            if isShared, (try? await browser.close()) != nil, BrowserProcess.giveBack(process) { return value }
            await process.end()
            return value
        } catch {
            await process.end()
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
