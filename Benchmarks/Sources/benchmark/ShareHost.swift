import Foundation
import NetworkBed

/// A `share host` that admits every viewer.
final class ShareHost {
    let process: Subprocess
    let link: String
    private let binary: String
    /// The directory of identities and known viewers, instead of the user's home.
    private let directory: TemporaryDirectory
    private let path: EmulatedPath?

    /// - Parameters:
    ///   - isReporting: whether the host prints statistics each second, which has a small cost.
    ///   - path: the emulated path to the viewers; nil for this machine's loopback.
    init(
        binary: String, display: String?, arguments: [String] = ["--audio", "none"], isReporting: Bool = true,
        environment: [String: String] = [:], over path: EmulatedPath? = nil
    ) throws {
        self.binary = binary
        self.path = path
        directory = try TemporaryDirectory()
        let address = path == nil ? "127.0.0.1" : EmulatedPath.hostAddress
        process = try Subprocess(
            binary,
            ["host", "--accept", "any", "--listen", "\(address):0"] + arguments
                + (display.map { ["--display", $0] } ?? []) + (isReporting ? ["--json"] : []),
            environment: environment.merging(["XDG_DATA_HOME": directory.path]) { $1 }, in: path?.host)
        link = try process.wait(for: isReporting ? "link" : "line").link()
    }

    /// Starts a viewer and waits for its first frame.
    /// - Parameter display: nil for a headless viewer.
    func join(
        display: String?, isReporting: Bool = true, arguments: [String] = ["--mute"],
        environment: [String: String] = [:]
    ) throws -> ShareViewer {
        var variables = environment
        variables["XDG_DATA_HOME"] = directory.path
        variables["SHARE_LINK"] = link
        variables["DISPLAY"] = display
        return try ShareViewer(
            binary, arguments, hasWindow: display != nil, isReporting: isReporting, variables, in: path?.viewer)
    }

    struct Figures {
        var cpu = 0.0
        /// The part on the network thread.
        var networkCPU = 0.0
        var kilobits = 0.0
        var packetsPerSecond = 0.0
        var framesPerSecond = 0.0
        /// The times for one frame, in ms: reading and converting the screen; encoding.
        var readMilliseconds = 0.0
        var encodeMilliseconds = 0.0
        var refinements = 0.0
    }

    /// Measures the host while `body` runs.
    func measure(_ body: () throws -> Void) throws -> Figures {
        var figures = Figures()
        let first = try process.wait(for: "statistics", after: process.events.count)
        let cpu = process.figures.cpuMilliseconds
        let network = process.figures.cpuMilliseconds(ofThread: "net-0")
        let begin = monotonicSeconds()
        try body()
        let elapsed = monotonicSeconds() - begin
        figures.cpu = (process.figures.cpuMilliseconds - cpu) / elapsed
        figures.networkCPU = (process.figures.cpuMilliseconds(ofThread: "net-0") - network) / elapsed
        guard let last = process.events.last("statistics"), last.time > first.time else { return figures }
        let seconds = last.time - first.time
        func change(_ field: String) -> Double { last[field] - first[field] }
        figures.kilobits = change("sentBytes") * 8 / 1_000 / seconds
        figures.packetsPerSecond = change("sentPackets") / seconds
        figures.framesPerSecond = change("frames") / seconds
        figures.readMilliseconds = change("readMs") / max(change("frames"), 1)
        figures.encodeMilliseconds = change("encodeMs") / max(change("frames"), 1)
        figures.refinements = change("refinements")
        return figures
    }

    /// Waits until no frame is made for two seconds, so that refinement is complete.
    /// - Returns: false if that took more than `limit` seconds.
    func waitForRest(limit: Double = 20) throws -> Bool {
        let deadline = monotonicSeconds() + limit
        var quiet = 0
        var frames = -1.0
        while monotonicSeconds() < deadline {
            let event = try process.wait(for: "statistics", after: process.events.count)
            quiet = event["frames"] == frames && event["connected"] > 0 ? quiet + 1 : 0
            frames = event["frames"]
            if quiet == 2 { return true }
        }
        return false
    }

    func stop() { process.interrupt() }
}

/// A `share join`.
final class ShareViewer {
    let process: Subprocess
    /// The time from the start to the first frame, in ms.
    let firstPicture: Double

    fileprivate init(
        _ binary: String, _ arguments: [String], hasWindow: Bool, isReporting: Bool, _ environment: [String: String],
        in node: NetworkNode?
    ) throws {
        let begin = monotonicSeconds()
        // The first frame is reported by an event only.
        process = try Subprocess(
            binary, ["join"] + arguments + (hasWindow ? [] : ["--headless"]) + (isReporting ? ["--json"] : []),
            environment: environment, in: node)
        guard isReporting else {
            firstPicture = 0
            return
        }
        firstPicture = (try process.wait(for: "first-picture").time - begin) * 1e3
    }

    func stop() { process.interrupt() }
}
