import BrowserControl
import NetworkBed
import TestSupport

/// `share host` as a user would start it, with the moving test pattern and its audio.
final class ShareHost: Sendable {
    let link: String
    private let process: Program
    private let home: TemporaryFolder

    /// Starts the host and waits for the link, the first line of its output. A host that its test leaves behind ends
    /// after 10 minutes.
    /// - Parameters:
    ///   - listen: address and port; by default a free port of 127.0.0.1.
    ///   - node: a node of an emulated network; nil for this machine's own.
    init(
        _ more: [String] = [], listen: String = "127.0.0.1:0", in node: NetworkNode? = nil,
        environment: [String: String] = [:]
    ) async throws {
        home = try TemporaryFolder()
        process = try Program.start(
            Program.share(),
            ["host", "--source", "test", "--accept", "any", "--listen", listen, "--json", "--for", "600"] + more,
            environment: environment.merging(["XDG_DATA_HOME": home.path, "TMPDIR": home.path]) { $1 }, in: node)
        let first = try await process.line(.standard, within: .seconds(30)) { _ in true }
        let event = try JSON(parsing: first)
        guard event["event"] == "link", let link = event["link"].string else {
            throw Program.Failure("the first line is no link: \(first)")
        }
        self.link = link
    }

    /// Runs `body` with a host, which is ended in any case.
    static func with(
        _ more: [String] = [], listen: String = "127.0.0.1:0", in node: NetworkNode? = nil,
        environment: [String: String] = [:], _ body: (ShareHost) async throws -> Void
    ) async throws {
        let host = try await ShareHost(more, listen: listen, in: node, environment: environment)
        do {
            try await body(host)
        } catch {
            await host.close()
            throw Program.Failure("\(error)\nThe host's last words:\n\(host.lastWords)")
        }
        await host.close()
    }

    /// The last events, the last statistics, and stderr.
    var lastWords: String {
        let lines = process.lines(.standard).filter { !$0.contains(link) }
        let isStatistics: (String) -> Bool = { $0.hasPrefix("{\"event\":\"statistics\"") }
        let events = lines.filter { !isStatistics($0) }.suffix(10) + lines.filter(isStatistics).suffix(1)
        return (events + process.lines(.error).suffix(10)).joined(separator: "\n")
    }

    /// Returns the first event of that name, past or future.
    func event(_ name: String, within limit: Duration = .seconds(30)) async throws -> JSON {
        try JSON(
            parsing: try await process.line(.standard, within: limit) {
                (try? JSON(parsing: $0))?["event"] == .string(name)
            })
    }

    /// Runs a control verb for this host, and returns its exit code.
    func control(_ arguments: String...) async throws -> Int32 {
        let id = link.split(separator: "/").last?.prefix { $0 != "#" } ?? ""
        return try await Program.start(
            Program.share(), arguments + ["--broadcast", String(id)], environment: ["TMPDIR": home.path], in: nil
        ).exitCode()
    }

    /// Sends SIGINT, as Ctrl-C does.
    func interrupt() { process.interrupt() }

    /// Kills the host, which can send nothing more.
    func kill() { process.kill() }

    /// Stops the host with its sockets open until ``resume()``.
    func suspend() { process.suspend() }
    func resume() { process.resume() }

    /// Returns the number of events of that name.
    func count(_ name: String) -> Int {
        process.lines(.standard).count { (try? JSON(parsing: $0))?["event"] == .string(name) }
    }

    func exitCode() async -> Int32 { await process.exitCode() }

    func close() async {
        process.kill()
        _ = await process.exitCode()
    }
}
