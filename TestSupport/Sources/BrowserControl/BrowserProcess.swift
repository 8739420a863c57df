import Glibc
import NetworkBed
import Synchronization
import TestSupport

/// A running browser with a profile of its own. Its start takes seconds of CPU, so an idle one waits for the next test
/// of this process that needs one of its kind.
final class BrowserProcess: Sendable {
    let kind: Browser.Kind
    let socket: DebugSocket
    private let process: Program
    private let profile: TemporaryFolder

    /// At most one of each kind.
    private static let idle = Mutex<[Browser.Kind: BrowserProcess]>([:])
    /// Programs and folders are removed with their values, which those of static properties are not.
    private static let removesIdleAtExit: Void = {
        atexit { BrowserProcess.idle.withLock { $0 = [:] } }
    }()

    /// Starts the browser and waits until it listens.
    /// - Parameter node: a node of an emulated network; nil for this machine's own network.
    init(
        _ kind: Browser.Kind, in node: NetworkNode?, environment: [String: String], preferences: [String: String] = [:]
    ) async throws {
        self.kind = kind
        profile = try TemporaryFolder()
        let address: String
        switch kind {
        case .chromium: (process, address) = try await Browser.startChromium(profile, node, environment)
        case .firefox: (process, address) = try await Browser.startFirefox(profile, node, environment, preferences)
        }
        socket = try await DebugSocket.connect(address, in: node)
        if kind == .firefox {
            _ = try await socket.call("session.new", ["capabilities": ["alwaysMatch": ["acceptInsecureCerts": true]]])
        }
    }

    /// Returns the idle process of this kind; nil if there is none.
    static func takeIdle(_ kind: Browser.Kind) -> BrowserProcess? {
        idle.withLock { $0.removeValue(forKey: kind) }.flatMap { $0.socket.isOpen ? $0 : nil }
    }

    /// - Returns: false if another one is idle.
    static func giveBack(_ process: BrowserProcess) -> Bool {
        _ = removesIdleAtExit
        return idle.withLock { idle in
            guard idle[process.kind] == nil else { return false }
            idle[process.kind] = process
            return true
        }
    }

    func end() async {
        socket.close()
        process.kill()
        _ = await process.exitCode()
    }
}
