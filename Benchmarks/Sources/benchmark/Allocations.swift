import AllocationCounts
import Foundation

/// The counters of a program that runs with the counting library.
final class AllocationFile {
    private let directory: TemporaryDirectory
    private let path: String
    /// The environment for the counted program.
    let environment: [String: String]

    /// - Parameter tracing: what is traced from the first allocation on.
    init(tracing: Tracing = .off) throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/counts"
        environment = ["LD_PRELOAD": tool("libAllocationCounter.so"), "SHARE_ALLOCATIONS": path]
        let mode = withUnsafeBytes(of: tracing.rawValue) { Data($0) }
        guard FileManager.default.createFile(atPath: path, contents: mode) else {
            throw BenchmarkFailure("\(path) cannot be written")
        }
    }

    /// Reads the counters while they go on counting.
    private func read<R>(_ body: (UnsafeMutablePointer<allocation_counts>) -> R) throws -> R {
        let file = open(path, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { throw BenchmarkFailure("the program does not count its allocations") }
        defer { close(file) }
        let size = MemoryLayout<allocation_counts>.size
        guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), memory != MAP_FAILED else {
            throw BenchmarkFailure("\(path) cannot be mapped")
        }
        defer { munmap(memory, size) }
        return body(memory.assumingMemoryBound(to: allocation_counts.self))
    }

    struct Count {
        var allocations: UInt64 = 0
        var bytes: UInt64 = 0
    }

    func counts() throws -> [Int32: Count] {
        try read { memory in
            withUnsafeBytes(of: &memory.pointee.thread) { bytes in
                let threads = bytes.bindMemory(to: allocation_thread.self).prefix(Int(memory.pointee.threads))
                return Dictionary(
                    threads.map { ($0.tid, Count(allocations: $0.allocations, bytes: $0.bytes)) },
                    uniquingKeysWith: { $1 })
            }
        }
    }

    enum Tracing: UInt32 {
        case off, every, live
    }

    func setTracing(_ mode: Tracing) throws { try read { $0.pointee.tracing = mode.rawValue } }

    struct Trace {
        var thread: Int32
        var size: UInt64
        var frames: [UInt64]
    }

    /// - Parameter live: only allocations that are not freed; else all recorded ones.
    func traces(live: Bool = false) throws -> [Trace] {
        try read { memory in
            let all = UnsafeBufferPointer(start: allocation_traces(memory), count: Int(ALLOCATION_TRACES))
            return all.prefix(live ? all.count : Int(memory.pointee.traces)).filter { !live || $0.address != 0 }.map {
                trace in
                Trace(
                    thread: trace.tid, size: trace.size,
                    frames: withUnsafeBytes(of: trace.frames) {
                        Array($0.bindMemory(to: UInt64.self).prefix(Int(trace.depth)))
                    })
            }
        }
    }
}

/// Counts the allocations of host and viewer for each packet while only media is exchanged.
///
/// Neither of the two prints statistics. A second, unmeasured viewer counts the packets.
func measureAllocations(binary: String, seconds: Int) throws {
    Table.title("Allocations a packet in steady state")
    Table.header(["what", "thread", "packets/s", "allocations/s", "a packet", "bytes a packet"])
    var culprits: [String] = []
    for isTestSource in [false, true] {
        let from = try VirtualDisplay()
        defer { from.close() }
        let actors = isTestSource ? [] : try Scene.video.start(on: from.name, seconds: seconds + 40)
        defer { actors.forEach { $0.terminate() } }
        let hostFile = try AllocationFile()
        let viewerFile = try AllocationFile()
        let host = try ShareHost(
            binary: binary, display: isTestSource ? nil : from.name,
            arguments: isTestSource ? ["--source", "test", "--fps", "30"] : ["--audio", "none"], isReporting: false,
            environment: hostFile.environment)
        defer { host.stop() }
        let counter = try host.join(display: nil)
        defer { counter.stop() }
        let viewer = try host.join(display: nil, isReporting: false, environment: viewerFile.environment)
        defer { viewer.stop() }
        // By then buffers have grown to their size, and the initial probes are over.
        Thread.sleep(forTimeInterval: 8)

        let sides = [("host", host.process, hostFile, 2.0), ("viewer", viewer.process, viewerFile, 1.0)]
        let before = try sides.map { try $0.2.counts() }
        let first = try counter.process.wait(for: "statistics", after: counter.process.events.count)
        Thread.sleep(forTimeInterval: Double(seconds))
        let last = try counter.process.wait(for: "statistics", after: counter.process.events.count)
        let after = try sides.map { try $0.2.counts() }
        let span = last.time - first.time
        let received = (last["receivedPackets"] - first["receivedPackets"]) / span
        for (index, (name, process, file, viewers)) in sides.enumerated() {
            let names = process.figures.threadNames
            let packets = received * viewers
            for (thread, count) in after[index].sorted(by: { $0.key < $1.key }) {
                let old = before[index][thread] ?? .init()
                let allocations = Double(count.allocations - old.allocations) / span
                let bytes = Double(count.bytes - old.bytes) / span
                let title = names[thread] ?? "\(thread)"
                let isMedia = ["net", "video", "decode", "audio"].contains { title.hasPrefix($0) }
                guard isMedia || allocations >= 1 else { continue }
                Table.row([
                    "\(name), \(isTestSource ? "test picture and tone" : "video scene")", title, cell(packets),
                    cell(allocations, 1), cell(allocations / packets, 3), cell(bytes / packets, 1),
                ])
            }
            try file.setTracing(.every)
            Thread.sleep(forTimeInterval: 3)
            try file.setTracing(.off)
            culprits += Culprits.text(
                of: try file.traces(), in: process, title: "\(name), \(isTestSource ? "test source" : "video"), 3 s")
        }
    }
    for line in culprits { FileHandle.standardError.write(Data((line + "\n").utf8)) }
}
