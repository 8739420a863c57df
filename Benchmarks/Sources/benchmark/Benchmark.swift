import Foundation

/// Measures share beside the floor on two virtual displays and prints a table.
@main
struct Benchmark {
    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        func option(_ name: String) -> String? {
            guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
            defer { arguments.removeSubrange(index...(index + 1)) }
            return arguments[index + 1]
        }
        let seconds = option("--seconds").flatMap { Int($0) } ?? 10
        let scenes = option("--scene").flatMap { Scene(rawValue: $0) }.map { [$0] } ?? Scene.allCases
        guard let binary = arguments.first else {
            FileHandle.standardError.write(Data("usage: benchmark SHARE [--seconds N] [--scene NAME]\n".utf8))
            exit(64)
        }
        say("| scene | program | p50 ms | p95 ms | stamps/s | host CPU ms/s | host MB | kbit/s | first picture ms | note |")
        say("|---|---|---|---|---|---|---|---|---|---|")
        do {
            for scene in scenes {
                say(row(try measureShare(scene, binary: binary, seconds: seconds)))
                if scene.hasStamp { say(row(try measureFloor(scene, seconds: seconds))) }
            }
        } catch {
            FileHandle.standardError.write(Data("benchmark: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    private static func row(_ row: Measurement) -> String {
        func cell(_ value: Double?, _ digits: Int = 0) -> String {
            value.map { String(format: "%.\(digits)f", $0) } ?? "-"
        }
        return "| \(row.scene.rawValue) | \(row.contender) | \(cell(row.p50, 1)) | \(cell(row.p95, 1)) | "
            + "\(cell(row.stampsPerSecond, 1)) | \(cell(row.hostCPU)) | \(cell(row.hostMegabytes)) | "
            + "\(cell(row.kilobits)) | \(cell(row.firstPicture)) | \(row.note) |"
    }
}
